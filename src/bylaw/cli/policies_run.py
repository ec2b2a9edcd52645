"""`bylaw policies run`: what changed → what policies say about it, and do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.policies_shared import note, tell
from bylaw.cli.progress import progress
from bylaw.cli.reading import read_source
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.worktree.running import run_policies
from bylaw.runtime.policy_settings import OutputMode, read_policy_settings
from bylaw.tools.printers import json as json_printer
from bylaw.tools.printers.policies import batched, how_to_answer, in_order, individual

if TYPE_CHECKING:
    from bylaw.hosts.worktree.running import PolicyRun

NOTHING = "no policy needs attention"


@click.command(context_settings=HELP_OPTIONS)
@root_option
@click.option(
    "--assistant-text",
    metavar="FILE",
    default="",
    help="What the agent said last, searched for promises; - is standard input.",
)
@click.option("--trust", is_flag=True, help="Trust what is started for this run; for CI.")
@text_or_json
def run(*, root: str, assistant_text: str, trust: bool, form: str) -> int:
    """Check what changed against the policies, as when an agent stops.

    Commands run first, then the rest is looked at again. What has to be done is printed; an agent
    answers with <promise>NAME</promise> when it has seen to a policy. Commands run only if
    `bylaw trust` or --trust allows it; else that is told. Exits 1 if a policy needs attention,
    does not load or could not run its command, else 0.

    \b
    Examples:
      bylaw policies run
      bylaw policies run --assistant-text last-message.txt --format json
    """
    said = read_source(assistant_text).text if assistant_text else None
    with progress() as show:
        show("looking at what changed")
        result = run_policies(chosen_root(root), said, note, trust=trust)
    messages = _messages(result)
    if form == "json":
        _as_json(result, messages)
    else:
        _as_text(result, messages)
    return MISTAKE if result.needs_attention else 0


def _messages(result: PolicyRun) -> list[str]:
    if read_policy_settings(result.root).output_mode is OutputMode.INDIVIDUAL:
        return individual(result.shown)
    told = batched(result.shown)
    return [told] if told else []


def _as_json(result: PolicyRun, messages: list[str]) -> None:
    emit(
        {
            "entries": to_builtins(result.entries),
            "output": "\n".join(messages),
            "messages": messages,
            "refused": list(result.refused),
            "diagnostics": json_printer.as_data(result.diagnostics),
        }
    )


def _as_text(result: PolicyRun, messages: list[str]) -> None:
    tell(result.diagnostics)
    if messages or not result.needs_attention:
        write("\n".join(messages) or f"{NOTHING}\n")
    if result.shown:
        note(how_to_answer(one.policy for one in in_order(result.shown)))
