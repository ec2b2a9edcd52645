"""`bylaw chat`: a ChatMD file → a conversation with a model, under its rules."""

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
    help="openai:NAME, anthropic:NAME or script:TURNS.jsonl, instead of what the file says.",
)
@click.option(
    "--tools",
    metavar="script:RESULTS.jsonl",
    default="",
    help="Take the results of all tools from a file instead of running them.",
)
@click.option("--once", is_flag=True, help="Answer what is in the file, then end; ask nothing.")
@click.option("--trust", is_flag=True, help="Trust what is started for this run; for CI.")
@text_or_json
def command(*, file: str, model: str, tools: str, once: bool, trust: bool, form: str) -> int:
    """Run the conversation of a ChatMD file under its rules.

    Every message, call, response and consequence of a rule is appended to FILE as it happens:
    what the model sees is what is in the file. Rules and policies of FILE apply, and so do the
    other books of the repository. A chat that ended, or was killed, goes on where it was.

    On a terminal it asks for the next message; a file that ends with a <user> message is
    answered first. In a pipe, standard input is one message (not
    with a script, which goes on by itself). Command tools run only if
    `bylaw trust` or --trust allows it; else they are refused, and the model is told.

    \b
    Examples:
      bylaw chat prompts/main.chatmd --model openai:gpt-5
      bylaw chat main.chatmd --model script:turns.jsonl \\
        --tools script:results.jsonl
      echo "What changed?" | bylaw chat main.chatmd --format json

    A line of TURNS.jsonl is one turn of the assistant, {"text", "tool_calls": [{"name",
    "args"}]}; a line of RESULTS.jsonl the next result of a tool, {"tool", "result"} or
    {"tool", "error"}. The chat ends when the script does. With --format json each block is a
    line, and the last line says how it ended.
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
    """What a person types; an empty line is asked again, the end of input ends."""
    while True:
        try:
            said = input(PROMPT).rstrip()  # a command begins at column 0, or is none (AC-090)
        except EOFError:
            return None
        if said:
            return said


class _Piped:
    """All of standard input is one message."""

    def __init__(self) -> None:
        self._read = False

    def next(self) -> str | None:
        """The message, once."""
        if self._read or sys.stdin is None:
            return None
        self._read = True
        return sys.stdin.read().lstrip("\n").rstrip() or None
