"""`bylaw policies new`: write a valid policy file from options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.policies_shared import repository_root, settings_to_write, tell
from bylaw.cli.root_option import root_option
from bylaw.dialects.file_policies.action_reader import FILES
from bylaw.dialects.file_policies.reader import MIN_SET
from bylaw.dialects.file_policies.written import (
    CommandAction,
    CompareTo,
    Mode,
    RunFor,
    WrittenPolicy,
)
from bylaw.hosts.new_file import InPlace, standing, write_new_file
from bylaw.model.errors import BylawError
from bylaw.tools.policies.policy_text import checked, kebab, policy_text
from bylaw.tools.policies.starter import BODIES, starter_text

if TYPE_CHECKING:
    from enum import StrEnum

_NAME = re.compile(r"\w[\w-]*")


class _Wish(Struct, frozen=True, kw_only=True):
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


def _name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        better = kebab(value.removesuffix(".md"))
        hint = f", such as `{better}`" if better else ""
        words = f"use letters, digits, - and _{hint}"
        raise click.BadParameter(words, ctx, param)
    return value


def _words(enum: type[StrEnum]) -> click.Choice[str]:
    return click.Choice([one.value for one in enum])


@click.command(context_settings=HELP_OPTIONS)
@click.argument("name", callback=_name)
@root_option
@click.option(
    "--mode",
    type=_words(Mode),
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
    type=_words(CompareTo),
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
    "--run-for", type=_words(RunFor), help="Run --command for each match, or once for all matches."
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
    path = f"{settings_to_write(folder).policies_dir}/{name}.md"
    text = _text(name, _Wish(**wanted))
    _, warnings = checked(path, text)
    tell(warnings)
    _refuse_taken(folder, path)
    if not dry_run:
        write_new_file(folder, path, text.encode())
    if form == "json":
        emit({"policy": name, "path": path, "written": not dry_run, "text": text})
    else:
        write(text if dry_run else f"{path}\n")
    return 0


def _refuse_taken(root: str, path: str) -> None:
    there, why = standing(root, path, b"")
    if there is InPlace.BLOCKED:
        raise BylawError(f"cannot write `{path}`: {why}")
    if there is not InPlace.NEW:
        raise BylawError(f"`{path}` already exists")


def _text(name: str, wish: _Wish) -> str:
    _check(wish)
    text = policy_text(_policy(name, wish)) if wish.trigger else starter_text(Mode(wish.mode))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.UsageError("an option is not UTF-8 text") from None
    return text


def _policy(name: str, wish: _Wish) -> WrittenPolicy:
    mode = Mode(wish.mode)
    return WrittenPolicy(
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


def _action(wish: _Wish) -> CommandAction | None:
    if not wish.command:
        return None
    by_name = RunFor.ALL_MATCHES if FILES in wish.command else RunFor.EACH_MATCH
    run_for = RunFor(wish.run_for) if wish.run_for else by_name
    return CommandAction(wish.command, (), run_for)


def _check(wish: _Wish) -> None:
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
