"""`bylaw chat`: run the conversation of a ChatMD file with a model, under its rules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.chat_screen import JsonLines, Screen
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json
from bylaw.hosts.chat.stage import Wanted, open_chat

if TYPE_CHECKING:
    from collections.abc import Callable


PROMPT = "> "


@click.command(context_settings=HELP_OPTIONS)
@click.argument("file", type=click.Path())
@click.option(
    "--model",
    metavar="M",
    default="",
    help="Model instead of that of FILE: openai:NAME, anthropic:NAME or script:TURNS.jsonl.",
)
@click.option(
    "--tools",
    metavar="script:RESULTS.jsonl",
    default="",
    help="Read the results of all tools from a file instead of running them.",
)
@click.option("--once", is_flag=True, help="Answer the file as it is, then exit. Never prompt.")
@click.option("--trust", is_flag=True, help="Trust all commands for this run only. For CI.")
@text_or_json
def command(*, file: str, model: str, tools: str, once: bool, trust: bool, form: str) -> int:
    """Run the conversation of a ChatMD file under its rules.

    Bylaw appends every message, call, response and rule action to FILE when it happens: the
    model sees what is in the file. The rules and policies of FILE and the other rule files of
    the repository apply. A chat that ended or was killed continues where it stopped.

    On a terminal, you type each message; if FILE ends with a <user> message, it is answered
    first. In a pipe, standard input is one message. A script model reads no input. Command
    tools run only if `bylaw trust` or --trust allows them; otherwise they are refused, and the
    model receives the reason.

    \b
    Examples:
      bylaw chat prompts/main.chatmd --model openai:gpt-5
      bylaw chat main.chatmd --model script:turns.jsonl \\
        --tools script:results.jsonl
      echo "What changed?" | bylaw chat main.chatmd --format json

    A line of TURNS.jsonl is one turn of the assistant, {"text", "tool_calls": [{"name",
    "args"}]}. A line of RESULTS.jsonl is the next result of a tool, {"tool", "result"} or
    {"tool", "error"}. The chat ends with the script. With --format json, each block is one
    line, and the last line shows how the chat ended.
    """
    listener = JsonLines() if form == "json" else Screen()
    with open_chat(file, Wanted(model=model, tools=tools, trust=trust), listener) as driver:
        driver.run(_asker(once=once))
    if form == "json":
        usage = {"sent": driver.usage.sent, "received": driver.usage.received}
        emit({"ended": driver.stopped or "done", "turns": driver.turns, "tokens": usage})
    elif driver.stopped:
        listener.note(driver.stopped)
    return MISTAKE if driver.stopped else 0


def _asker(*, once: bool) -> Callable[[], str | None]:
    if once or sys.stdin is None:
        return lambda: None
    return _typed if sys.stdin.isatty() else _Piped().next


def _typed() -> str | None:
    """Read a line from the terminal. Skip empty lines; return None at the end of input."""
    while True:
        try:
            said = input(PROMPT).rstrip()  # not strip(): commands start at column 0 (AC-090)
        except EOFError:
            return None
        if said:
            return said


class _Piped:
    """Standard input as one message."""

    def __init__(self) -> None:
        self._read = False

    def next(self) -> str | None:
        """Return the message once, then None."""
        if self._read or sys.stdin is None:
            return None
        self._read = True
        return sys.stdin.read().lstrip("\n").rstrip() or None
