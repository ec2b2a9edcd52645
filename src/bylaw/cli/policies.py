"""`bylaw policies`: the group of its commands, `bylaw policies run`, and what all of them share.

Only the called command is imported, because an agent that stops waits for `run`.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins
from msgspec.structs import replace

from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS, CommandGroup
from bylaw.cli.terminal import (
    emit,
    progress,
    read_source,
    resolve_root,
    root_option,
    text_or_json,
    uses_color,
    write,
)
from bylaw.model import diagnostic_text
from bylaw.model.codes.files import NO_RULE_FILES
from bylaw.model.codes.policies import POLICIES_NOT_CHECKED
from bylaw.model.diagnostic import error, has_errors
from bylaw.model.display import display_text_once, visible
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.report.printers import formats as json_printer
from bylaw.runtime.policy_settings import CONFIG, PolicySettings, read_policy_settings
from bylaw.store.paths import is_folder
from bylaw.worktree.changes import WorkTree
from bylaw.worktree.run import PolicyRun, load_policies, run_policies
from bylaw.worktree.stop_message import answer_instruction, policy_texts, sort_policies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.effects import PromptShow
    from bylaw.worktree.entry import QueueEntry
    from bylaw.worktree.run import PolicyEntry

_COMMANDS = {
    "run": "policies",
    "status": "policies_queue",
    "explain": "policies_new",
    "new": "policies_new",
    "clear": "policies_queue",
    "baseline": "policies_queue",
    "migrate": "policies_new",
}


class _PolicyCommandGroup(CommandGroup):
    """Imports only the called command, because an agent that stops waits for `run`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in _COMMANDS:
            return None
        verb = getattr(import_module(f"bylaw.cli.{_COMMANDS[cmd_name]}"), cmd_name)
        assert isinstance(verb, click.Command)
        return verb


@click.group(
    cls=_PolicyCommandGroup,
    name="policies",
    context_settings=HELP_OPTIONS,
    subcommand_metavar="COMMAND …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw policies new readme --trigger "src/**/*.py" --safety README.md
      bylaw policies run
      bylaw policies explain src/app/main.py
    """,
)
def policies_command() -> None:
    """Check changed files against file policies.

    A file policy is a Markdown file in .deepwork/policies. It says which files must change
    together, what to tell an agent when files changed, or which command to run on them.
    """


policy_name = click.argument("name", default="", metavar="[NAME]")


def repository_root(given: str) -> str:
    """Return the top of the git repository (DW-A42), else the root as in other commands.

    BylawError if the given folder does not exist.
    """
    folder = resolve_root(given)
    if not is_folder(folder):
        raise BylawError(f"folder not found: `{visible(given)}`")
    try:
        return WorkTree(folder).root
    except BylawError:
        return folder


def read_writable_settings(root: str) -> PolicySettings:
    """Read the settings for writing a policy. LoadError if its folder is not known.

    A configured folder that does not exist yet is created with its first policy.
    """
    settings = read_policy_settings(root)
    wrong = [one for one in settings.findings if one.code != NO_RULE_FILES.name]
    if has_errors(wrong):
        raise LoadError(wrong)
    if settings.missing_dir:
        settings = replace(settings, policies_dir=settings.missing_dir)
    if not settings.enabled:
        print_note(f"policies are disabled in {CONFIG}")
    return settings


def print_diagnostics(findings: Sequence[Diagnostic]) -> None:
    """Print diagnostics on standard error."""
    click.echo(diagnostic_text.render(findings, color=uses_color(sys.stderr)), nl=False, err=True)


def print_note(words: str) -> None:
    """Print a note on standard error."""
    click.echo(f"note: {display_text_once(words)}", err=True)


def find_policy(root: str, name: str, entries: Sequence[QueueEntry]) -> PolicyEntry | None:
    """Return the policy with this name. BylawError if neither a policy nor an entry has it."""
    with progress() as show:
        known = load_policies(root, show)
    found = known.named(name)
    if found is None:
        print_diagnostics(known.diagnostics)  # perhaps its file does not load
    known.require_known(name, (one.policy_name for one in entries))
    return found


NOTHING_TO_DO = "no policy needs attention"
NO_POLICIES = "no policies found; create one with `bylaw policies new NAME`"
POLICIES_DISABLED = f"policies are disabled: `{CONFIG}` sets `policy.enabled` to false"
_NOT_CHECKED_HELP = "run this in a git repository that `git status` can read, or pass --root"


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
    folder = resolve_root(root)
    try:
        said = read_source(assistant_text).text if assistant_text else None
        result = _run(folder, said, trust=trust)
    except BylawError as problem:
        if form == "json":
            _as_json(PolicyRun(folder, diagnostics=tuple(not_checked_diagnostics(problem))), [])
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
        return run_policies(folder, said, partial(_note_after_progress, show), show, trust=trust)


def not_checked_diagnostics(problem: BylawError) -> list[Diagnostic]:
    """Return as diagnostics why the policies could not be checked."""
    if isinstance(problem, LoadError):
        return problem.diagnostics
    here = SourceFile(".", "")
    return [error(POLICIES_NOT_CHECKED, str(problem), here, Span(0, 0), help=_NOT_CHECKED_HELP)]


def _note_after_progress(show: Callable[[str], None], words: str) -> None:
    show("")  # clear the progress line before the note
    print_note(words)


def _messages(result: PolicyRun) -> list[str]:
    mode = read_policy_settings(result.root).output_mode
    return [text for text, _ in policy_texts(result.shown, mode)]


def _as_json(result: PolicyRun, messages: list[str]) -> None:
    emit(
        {
            "entries": to_builtins(result.entries),
            "output": "\n".join(messages),
            "messages": messages,
            "shown": [_without_op(one) for one in sort_policies(result.shown)],
            "refused": list(result.refused),
            "diagnostics": json_printer.diagnostics_data(result.diagnostics),
        }
    )


def _without_op(one: PromptShow) -> dict[str, Any]:
    shown: dict[str, Any] = to_builtins(one)
    return {key: value for key, value in shown.items() if key != "op"}


def _as_text(result: PolicyRun, messages: list[str]) -> None:
    print_diagnostics(result.diagnostics)
    if messages or not result.needs_attention:
        write("\n".join(messages) or f"{NOTHING_TO_DO}\n")
    if not result.policies and not result.needs_attention:
        print_note(NO_POLICIES if read_policy_settings(result.root).enabled else POLICIES_DISABLED)
    if result.shown:
        print_note(answer_instruction(one.policy for one in sort_policies(result.shown)))
