"""`bylaw policies run`: check changed files against policies and run their commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.policies_shared import note, tell
from bylaw.cli.progress import progress
from bylaw.cli.reading import read_source
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.worktree.demands import policy_texts
from bylaw.hosts.worktree.running import PolicyRun, run_policies
from bylaw.model.codes.policy_files import POLICIES_NOT_CHECKED
from bylaw.model.diagnostic import error
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.policy_settings import CONFIG, read_policy_settings
from bylaw.tools.printers import json as json_printer
from bylaw.tools.printers.policies import how_to_answer, in_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.effects import PromptShow

NOTHING = "no policy needs attention"
NO_POLICIES = "no policies found; create one with `bylaw policies new NAME`"
SWITCHED_OFF = f"policies are disabled: `{CONFIG}` sets `policy.enabled` to false"
_WHERE = "run this in a git repository that `git status` can read, or pass --root"


@click.command(context_settings=HELP_OPTIONS)
@root_option
@click.option(
    "--assistant-text",
    metavar="FILE",
    default="",
    help="Last message of the agent, searched for promises; - for standard input.",
)
@click.option("--trust", is_flag=True, help="Trust all commands for this run only. For CI.")
@text_or_json
def run(*, root: str, assistant_text: str, trust: bool, form: str) -> int:
    """Check changed files against the policies, as when an agent stops.

    Runs commands of policies first, then checks the other policies again. Prints what must be
    done. An agent confirms a policy that it has handled with <promise>NAME</promise>. Commands
    run only if `bylaw trust` or --trust allows them; otherwise Bylaw reports them. Exit code 0
    on success, 1 if a policy needs attention, does not load or could not run its command.

    \b
    Examples:
      bylaw policies run
      bylaw policies run --assistant-text last-message.txt --format json
    """
    folder = chosen_root(root)
    try:
        said = read_source(assistant_text).text if assistant_text else None
        result = _run(folder, said, trust=trust)
    except BylawError as problem:
        if form == "json":
            _as_json(PolicyRun(folder, diagnostics=tuple(not_checked(problem))), [])
        raise
    messages = _messages(result)
    if form == "json":
        _as_json(result, messages)
    else:
        _as_text(result, messages)
    return MISTAKE if result.needs_attention else 0


def _run(folder: str, said: str | None, *, trust: bool) -> PolicyRun:
    with progress() as show:
        show("reading changed files")
        return run_policies(folder, said, partial(_note_beside, show), show, trust=trust)


def not_checked(problem: BylawError) -> list[Diagnostic]:
    """Return as diagnostics why the policies could not be checked."""
    if isinstance(problem, LoadError):
        return problem.diagnostics
    here = SourceFile(".", "")
    return [error(POLICIES_NOT_CHECKED, str(problem), here, Span(0, 0), help=_WHERE)]


def _note_beside(show: Callable[[str], None], words: str) -> None:
    show("")  # clear the progress line before the note
    note(words)


def _messages(result: PolicyRun) -> list[str]:
    mode = read_policy_settings(result.root).output_mode
    return [text for text, _ in policy_texts(result.shown, mode)]


def _as_json(result: PolicyRun, messages: list[str]) -> None:
    emit(
        {
            "entries": to_builtins(result.entries),
            "output": "\n".join(messages),
            "messages": messages,
            "shown": [_without_op(one) for one in in_order(result.shown)],
            "refused": list(result.refused),
            "diagnostics": json_printer.as_data(result.diagnostics),
        }
    )


def _without_op(one: PromptShow) -> dict[str, Any]:
    shown: dict[str, Any] = to_builtins(one)
    return {key: value for key, value in shown.items() if key != "op"}


def _as_text(result: PolicyRun, messages: list[str]) -> None:
    tell(result.diagnostics)
    if messages or not result.needs_attention:
        write("\n".join(messages) or f"{NOTHING}\n")
    if not result.policies and not result.needs_attention:
        note(NO_POLICIES if read_policy_settings(result.root).enabled else SWITCHED_OFF)
    if result.shown:
        note(how_to_answer(one.policy for one in in_order(result.shown)))
