"""`bylaw policies new`: options → a valid policy file."""

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
    """What the options say."""

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
        words = f"a policy is named by letters, digits, - and _{hint}"
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
    help="What makes it fire: files that changed, that belong together, that are new.",
)
@click.option(
    "--trigger",
    metavar="PATTERN",
    multiple=True,
    help="Which files it is about; may be repeated. For a set, all of its patterns.",
)
@click.option(
    "--safety",
    metavar="PATTERN",
    multiple=True,
    help="With --mode trigger: it does not fire if one of these changed, too.",
)
@click.option(
    "--expects",
    metavar="PATTERN",
    multiple=True,
    help="With --mode pair: which files must change with the trigger; may be repeated.",
)
@click.option("--title", metavar="TEXT", default="", help="What people read in place of NAME.")
@click.option(
    "--compare-to",
    type=_words(CompareTo),
    default=CompareTo.BASE.value,
    show_default=True,
    help="What the work tree is compared to.",
)
@click.option(
    "--command",
    metavar="COMMAND",
    default="",
    help="Run this on the files: with {file} once for each, with {files} once for all.",
)
@click.option("--run-for", type=_words(RunFor), help="How often --command runs.")
@click.option("--body", metavar="TEXT", default="", help="What the agent is told.")
@click.option("--dry-run", is_flag=True, help="Print the file, and write nothing.")
@text_or_json
def new(*, name: str, root: str, dry_run: bool, form: str, **wanted: Any) -> int:
    """Write a new policy, NAME.md, where policies lie.

    Without --trigger it is a file to begin with, whose comments say what a policy can hold. It is
    loaded before it is written, so that it is never refused later. A file that is there is never
    touched. Prints the path of the new file, or with --dry-run what would be in it.

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
        raise BylawError(f"`{path}` is there already, and stays as it is")


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
    """What the file would be refused for, in the words of the options."""
    more = (wish.safety, wish.expects, wish.title, wish.command, wish.run_for, wish.body)
    other_base = wish.compare_to != CompareTo.BASE
    checks = (
        (
            not wish.trigger and (other_base or any(more)),
            "say which files it is about: `--trigger PATTERN`",
        ),
        (wish.safety and wish.mode != Mode.TRIGGER, "`--safety` belongs to `--mode trigger`"),
        (wish.expects and wish.mode != Mode.PAIR, "`--expects` belongs to `--mode pair`"),
        (wish.run_for and not wish.command, "`--run-for` belongs to `--command`"),
        (
            wish.mode == Mode.SET and 0 < len(wish.trigger) < MIN_SET,
            "a set has two patterns or more: repeat `--trigger`",
        ),
        (wish.mode == Mode.PAIR and len(wish.trigger) > 1, "a pair has one `--trigger`"),
        (
            wish.mode == Mode.PAIR and wish.trigger and not wish.expects,
            "a pair says what must change, too: `--expects PATTERN`",
        ),
    )
    for wrong, words in checks:
        if wrong:
            raise click.UsageError(words)
