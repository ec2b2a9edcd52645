"""`bylaw policies new`, `migrate` and `explain`: write, convert and explain policy files."""

from __future__ import annotations

import re
import sys
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.policies import (
    print_diagnostics,
    print_note,
    read_writable_settings,
    repository_root,
)
from bylaw.cli.terminal import (
    confirm,
    emit,
    progress,
    read_source,
    root_option,
    screen_columns,
    text_or_json,
    uses_color,
    write,
)
from bylaw.hosts.starter import TargetState, target_state, write_new_file
from bylaw.languages.file_policies.key_readers import FILES
from bylaw.languages.file_policies.reader import MIN_SET
from bylaw.languages.file_policies.syntax import (
    CommandAction,
    CompareTo,
    Mode,
    PolicySyntax,
    RunFor,
)
from bylaw.model.diagnostic import has_errors
from bylaw.model.display import fact_path, number_of, visible
from bylaw.model.errors import BylawError, LoadError
from bylaw.report.policies import PolicyExplainer
from bylaw.report.policy_files import (
    BODIES,
    kebab,
    policy_text,
    read_checked,
    read_legacy,
    starter_text,
)
from bylaw.report.printers import formats
from bylaw.report.printers import policies as printer
from bylaw.runtime.policy_settings import LEGACY
from bylaw.store.files import absolute, read_inside
from bylaw.store.paths import folder_of, real_path, relative_name
from bylaw.worktree.changes import WorkTree
from bylaw.worktree.queue import Queue
from bylaw.worktree.run import load_policies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from enum import StrEnum

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.facts import Changes, Entry

_NAME = re.compile(r"\w[\w-]*")


class _PolicyOptions(Struct, frozen=True, kw_only=True):
    """Values of the options."""

    mode: str
    trigger: tuple[str, ...]
    safety: tuple[str, ...]
    expects: tuple[str, ...]
    title: str
    compare_to: str
    command: str
    run_for: str | None
    body: str


def _check_name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        better = kebab(value.removesuffix(".md"))
        hint = f", such as `{better}`" if better else ""
        words = f"use letters, digits, - and _{hint}"
        raise click.BadParameter(words, ctx, param)
    return value


def _choice(enum: type[StrEnum]) -> click.Choice[str]:
    return click.Choice([one.value for one in enum])


@click.command(context_settings=HELP_OPTIONS)
@click.argument("name", callback=_check_name)
@root_option
@click.option(
    "--mode",
    type=_choice(Mode),
    default=Mode.TRIGGER.value,
    show_default=True,
    help="What makes it fire: changed files, files that belong together, new files.",
)
@click.option(
    "--trigger",
    metavar="PATTERN",
    multiple=True,
    help="Files that it checks; may be repeated. For a set, give all of its patterns.",
)
@click.option(
    "--safety",
    metavar="PATTERN",
    multiple=True,
    help="With --mode trigger: do not fire if one of these files also changed.",
)
@click.option(
    "--expects",
    metavar="PATTERN",
    multiple=True,
    help="With --mode pair: files that must change with the trigger; may be repeated.",
)
@click.option("--title", metavar="TEXT", default="", help="Title for people. Default: NAME.")
@click.option(
    "--compare-to",
    type=_choice(CompareTo),
    default=CompareTo.BASE.value,
    show_default=True,
    help="State to compare the work tree with.",
)
@click.option(
    "--command",
    metavar="COMMAND",
    default="",
    help="Run this on the files: with {file} once for each, with {files} once for all.",
)
@click.option(
    "--run-for", type=_choice(RunFor), help="Run --command for each match, or once for all matches."
)
@click.option("--body", metavar="TEXT", default="", help="Text for the agent.")
@click.option("--dry-run", is_flag=True, help="Print the file without writing it.")
@text_or_json
def new(*, name: str, root: str, dry_run: bool, form: str, **wanted: Any) -> int:
    """Write a new policy NAME.md into the policy folder.

    Without --trigger, the file is a template whose comments explain what a policy can contain.
    The policy is validated before it is written, so that it is never refused later. Existing
    files are never changed. Prints the path of the new file or, with --dry-run, its content.

    \b
    Examples:
      bylaw policies new readme-accuracy
      bylaw policies new readme --trigger "src/**/*.py" --safety README.md
      bylaw policies new tests --mode set --trigger "src/{path}.py" \\
        --trigger "tests/{path}_test.py"
      bylaw policies new docs --mode pair --trigger "api/{path}.py" \\
        --expects "docs/api/{path}.md"
      bylaw policies new format --trigger "**/*.py" --command "ruff format {file}"
    """
    folder = repository_root(root)
    path = f"{read_writable_settings(folder).policies_dir}/{name}.md"
    text = _text(name, _PolicyOptions(**wanted))
    _, warnings = read_checked(path, text)
    print_diagnostics(warnings)
    _refuse_existing_file(folder, path)
    if not dry_run:
        write_new_file(folder, path, text.encode())
    if form == "json":
        emit({"policy": name, "path": path, "written": not dry_run, "text": text})
    else:
        write(text if dry_run else f"{path}\n")
    return 0


def _refuse_existing_file(root: str, path: str) -> None:
    there, why = target_state(root, path, b"")
    if there is TargetState.BLOCKED:
        raise BylawError(f"cannot write `{path}`: {why}")
    if there is not TargetState.NEW:
        raise BylawError(f"`{path}` already exists")


def _text(name: str, wish: _PolicyOptions) -> str:
    _check_options(wish)
    text = policy_text(_policy(name, wish)) if wish.trigger else starter_text(Mode(wish.mode))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.UsageError("an option is not UTF-8 text") from None
    return text


def _policy(name: str, wish: _PolicyOptions) -> PolicySyntax:
    mode = Mode(wish.mode)
    return PolicySyntax(
        id=name,
        title=wish.title or name,
        mode=mode,
        trigger=wish.trigger,
        safety=wish.safety,
        expects=wish.expects,
        action=_action(wish),
        compare_to=CompareTo(wish.compare_to),
        body=wish.body.strip() or ("" if wish.command else BODIES[mode]),
    )


def _action(wish: _PolicyOptions) -> CommandAction | None:
    if not wish.command:
        return None
    by_name = RunFor.ALL_MATCHES if FILES in wish.command else RunFor.EACH_MATCH
    run_for = RunFor(wish.run_for) if wish.run_for else by_name
    return CommandAction(wish.command, (), run_for)


def _check_options(wish: _PolicyOptions) -> None:
    """Report invalid combinations in terms of the options, before the file is refused."""
    more = (wish.safety, wish.expects, wish.title, wish.command, wish.run_for, wish.body)
    other_base = wish.compare_to != CompareTo.BASE
    checks = (
        (
            not wish.trigger and (other_base or any(more)),
            "missing `--trigger PATTERN`: the files that the policy checks",
        ),
        (wish.safety and wish.mode != Mode.TRIGGER, "`--safety` needs `--mode trigger`"),
        (wish.expects and wish.mode != Mode.PAIR, "`--expects` needs `--mode pair`"),
        (wish.run_for and not wish.command, "`--run-for` needs `--command`"),
        (
            wish.mode == Mode.SET and 0 < len(wish.trigger) < MIN_SET,
            "a set needs two patterns or more: repeat `--trigger`",
        ),
        (wish.mode == Mode.PAIR and len(wish.trigger) > 1, "a pair takes only one `--trigger`"),
        (
            wish.mode == Mode.PAIR and wish.trigger and not wish.expects,
            "a pair needs `--expects PATTERN`: the files that must also change",
        ),
    )
    for wrong, words in checks:
        if wrong:
            raise click.UsageError(words)


class _NewFile(Struct, frozen=True):
    path: str
    text: str
    standing: TargetState
    why: str


@click.command(context_settings=HELP_OPTIONS)
@click.argument("file", type=click.Path(), default="", metavar="[FILE]")
@root_option
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@text_or_json
def migrate(*, file: str, root: str, yes: bool, dry_run: bool, form: str) -> int:
    """Convert the old single-file format to one file per policy.

    FILE defaults to .deepwork.policy.yml of the repository. The name of each policy becomes the
    name of its file, in lower case with hyphens. Its instructions become the text. Shows the
    new files as a diff first. Needs a terminal or --yes.

    If one policy cannot be converted, or another file is in its place, nothing is written. The
    old file stays, but Bylaw no longer reads it. Exit code 0 on success, else 1.

    \b
    Examples:
      bylaw policies migrate
      bylaw policies migrate --dry-run
      bylaw policies migrate old/.deepwork.policy.yml --yes
    """
    if dry_run and yes:
        raise click.UsageError("cannot combine `--dry-run` and `--yes`")
    folder = repository_root(root)
    files, findings = _convert(folder, file)
    new = [one for one in files if one.standing is TargetState.NEW]
    if form == "json":
        written = _write_files(folder, new) if yes else 0
        emit(
            {"files": list(map(_file_as_data, files)), "written": written}
            | _findings_as_data(findings)
        )
        return 0 if yes or dry_run or not new else MISTAKE
    print_diagnostics(findings)
    return _as_text(folder, new, yes=yes, dry_run=dry_run)


def _as_text(root: str, new: Sequence[_NewFile], *, yes: bool, dry_run: bool) -> int:
    if not new:
        write("all policies already exist; nothing to write\n")
        return 0
    write("\n".join(line for one in new for line in _diff(one)) + "\n")
    if dry_run:
        return 0
    if not yes and not confirm(f"\nWrite {number_of(len(new), 'file')}? [y/N] "):
        write("nothing was written\n")
        return MISTAKE
    written = number_of(_write_files(root, new), "file")
    write(f"\nwrote {written}; the old file is kept and is not read any more: remove it\n")
    return 0


def _convert(root: str, file: str) -> tuple[list[_NewFile], Sequence[Diagnostic]]:
    """Return the new files, and warnings. LoadError or BylawError if one cannot be written."""
    folder = read_writable_settings(root).policies_dir
    source = read_source(file) if file else read_inside(root, LEGACY)
    legacy = read_legacy(source, lambda path: read_inside(root, path).text)
    if has_errors(legacy.findings):
        raise LoadError(list(legacy.findings))
    texts = {f"{folder}/{one.id}.md": policy_text(one) for one in legacy.policies}
    warnings = [one for path, text in texts.items() for one in read_checked(path, text)[1]]
    files = [
        _NewFile(path, text, *target_state(root, path, text.encode()))
        for path, text in texts.items()
    ]
    _refuse_existing(files)
    return files, [*legacy.findings, *warnings]


def _refuse_existing(files: Sequence[_NewFile]) -> None:
    kept = [f"`{visible(one.path)}`" for one in files if one.standing is TargetState.KEPT]
    words = "another file is in its place" if len(kept) == 1 else "other files are in their place"
    taken = [f"{', '.join(kept)}: {words}"] if kept else []
    blocked = (one for one in files if one.standing is TargetState.BLOCKED)
    taken += [f"`{visible(one.path)}`: {one.why}" for one in blocked]
    if taken:
        raise BylawError(f"{'; '.join(taken)}; nothing was written")


def _write_files(root: str, new: Sequence[_NewFile]) -> int:
    for one in new:
        write_new_file(root, one.path, one.text.encode())
    return len(new)


def _diff(one: _NewFile) -> Iterator[str]:
    lines = one.text.removesuffix("\n").split("\n")
    return map(visible, unified_diff([], lines, "/dev/null", one.path, lineterm=""))


def _file_as_data(one: _NewFile) -> dict[str, object]:
    return {"path": one.path, "standing": one.standing.value, "text": one.text}


def _findings_as_data(findings: Sequence[Diagnostic]) -> dict[str, object]:
    return {"diagnostics": formats.diagnostics_data(findings)}


@click.command(context_settings=HELP_OPTIONS)
@click.argument("files", type=click.Path(), metavar="FILE…", nargs=-1, required=True)
@root_option
@text_or_json
def explain(*, files: tuple[str, ...], root: str, form: str) -> int:
    """Show which policies check a FILE, and what they expect.

    For each policy that checks FILE: the pattern that matches, what it captures, the files that
    must also change, and whether FILE makes the policy fire in the current work tree. For other
    policies: why not. FILE does not have to exist. Nothing is run or changed. Exit code 0 on
    success, 1 if a policy does not load.

    \b
    Examples:
      bylaw policies explain src/auth/login.py
      bylaw policies explain README.md docs/api.md --format json
    """
    folder = repository_root(root)
    paths = [_path(folder, file) for file in files]
    with progress() as show:
        known = load_policies(folder, show)
        show("reading changed files from git")
        changes = _changes(folder, {one.policy.compare_to for one in known.policies})
    explaining = PolicyExplainer(changes, _entries(folder))
    told = {path: [explaining.about(one, path) for one in known.policies] for path in paths}
    if form == "json":
        files_told = [printer.explanations_data(path, all_) for path, all_ in told.items()]
        emit({"files": files_told, "diagnostics": formats.diagnostics_data(known.diagnostics)})
    else:
        print_diagnostics(known.diagnostics)
        color = uses_color(sys.stdout)
        each = (
            printer.render_explanations(*one, screen_columns(), color=color) for one in told.items()
        )
        write("\n".join(each))
    return int(known.has_errors)


def _path(root: str, file: str) -> str:
    """Return the path relative to the root, as in facts. BylawError if it is outside."""
    location = absolute(file)
    # The root contains no links. The file itself may be one, so only its folder is resolved.
    name = relative_name(root, f"{real_path(folder_of(location))}/{location.rpartition('/')[2]}")
    if not name:
        raise BylawError(f"`{visible(file)}` is outside of `{visible(root)}`")
    return fact_path(name)


def _changes(root: str, wanted: Iterable[CompareTo]) -> Changes | None:
    """Return what changed, or None if git fails."""
    tree = WorkTree(root)
    try:
        changes = tree.changes(frozenset(wanted))
    except BylawError as wrong:
        print_note(str(wrong))
        return None
    for one in tree.notes:
        print_note(one)
    return changes


def _entries(root: str) -> Callable[[str], Entry | None]:
    queue = Queue(root, print_note)

    def entry_of(hash_: str) -> Entry | None:
        found = queue.find(hash_)
        return found.fact if found else None

    return entry_of
