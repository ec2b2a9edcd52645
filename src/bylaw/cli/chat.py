"""`bylaw chat`: run the conversation of a ChatMD file with a model, under its rules.

The chat is streamed to a terminal, or printed as one line of JSON for each block.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import emit, text_or_json, uses_color, write
from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.setup import ChatOptions, open_chat
from bylaw.model.display import clip_text, visible
from bylaw.model.paint import Paint, Style

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.blocks import Block
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Level

MAX_SHOWN = 200  # characters shown of a call or a response; the file has all of it


class ChatScreen:
    """For people: stream text of the model; show everything else in one line each."""

    def __init__(self) -> None:
        self._paint = Paint(uses_color(sys.stdout))
        self._in_line = False
        self._held: list[str] | None = None

    def hold(self) -> None:
        """Buffer all output until `release` or `drop`."""
        if self._held is None:
            self._end_line()
            self._held = []

    def release(self) -> None:
        """Show the buffered output."""
        held, self._held = self._held, None
        self._write("".join(held or ()))

    def drop(self) -> None:
        """Discard the buffered output."""
        self._held, self._in_line = None, False

    def text(self, piece: str) -> None:
        """Show text of the model. Control characters are escaped."""
        self._write("\n".join(visible(line) for line in piece.expandtabs(4).split("\n")))
        self._in_line = not piece.endswith("\n")

    def block(self, block: Block) -> None:
        """Show calls, responses and blocks of rules. Text of the model was streamed before."""
        self._end_line()
        words = visible(clip_text(" ".join(block.text.split()), MAX_SHOWN))
        by = f" ({visible(block.via_rule)})" if block.via_rule else ""
        match block.kind:
            case BlockKind.CALL:
                self._write_line(Style.FRAME, f"→ {visible(block.tool)} {words}{by}")
            case BlockKind.RESPONSE:
                self._write_line(Style.BAD if block.failed else Style.FAINT, f"← {words}{by}")
            case _ if block.synthetic and not block.halts:  # a halt was shown as the answer
                self._write_line(Style.FAINT, f"[{block.role}{by}] {words}")

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        self._end_line()
        _to_stderr(f"bylaw: {text}")

    def log(self, level: Level, rule: str, text: str) -> None:
        """Print a log message of a rule on standard error."""
        self._end_line()
        _to_stderr(f"{level} {rule}: {text}")

    def _write_line(self, style: Style, words: str) -> None:
        self._write(self._paint(style, words) + "\n")

    def _end_line(self) -> None:
        if self._in_line:
            self._write("\n")
            self._in_line = False

    def _write(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
            return
        write(text)
        sys.stdout.flush()


class JsonLines:
    """For programs: print each block after it is written to the file."""

    def hold(self) -> None:
        """Do nothing: blocks are printed after they are written to the file."""

    def release(self) -> None:
        """Do nothing: nothing is buffered."""

    def drop(self) -> None:
        """Do nothing: nothing is buffered."""

    def text(self, piece: str) -> None:
        """Do nothing: `block` prints the complete text."""

    def block(self, block: Block) -> None:
        """Print the block as one line of JSON."""
        said: dict[str, JSON] = {
            "block": block.kind.value,
            "role": block.role.value,
            "text": block.text,
            "call": block.call,
            "tool": block.tool,
            "status": "error" if block.failed else "",
            "via_rule": block.via_rule,
        }
        line = {key: value for key, value in said.items() if value != ""}
        emit(line | {"synthetic": True} if block.synthetic else line)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        _to_stderr(f"bylaw: {text}")

    def log(self, level: Level, rule: str, text: str) -> None:
        """Print a log message of a rule on standard error."""
        _to_stderr(f"{level} {rule}: {text}")


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write("\n".join(map(visible, text.split("\n"))) + "\n")
        sys.stderr.flush()


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
def chat_command(*, file: str, model: str, tools: str, once: bool, trust: bool, form: str) -> int:
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
    listener = JsonLines() if form == "json" else ChatScreen()
    with open_chat(file, ChatOptions(model=model, tools=tools, trust=trust), listener) as driver:
        driver.run(_message_source(once=once))
    if form == "json":
        usage = {"sent": driver.usage.sent, "received": driver.usage.received}
        emit({"ended": driver.stopped or "done", "turns": driver.turns, "tokens": usage})
    elif driver.stopped:
        listener.note(driver.stopped)
    return MISTAKE if driver.stopped else 0


def _message_source(*, once: bool) -> Callable[[], str | None]:
    if once or sys.stdin is None:
        return lambda: None
    return _read_line if sys.stdin.isatty() else _PipeInput().next


def _read_line() -> str | None:
    """Read a line from the terminal. Skip empty lines; return None at the end of input."""
    while True:
        try:
            said = input(PROMPT).rstrip()  # not strip(): commands start at column 0 (AC-090)
        except EOFError:
            return None
        if said:
            return said


class _PipeInput:
    """Standard input as one message."""

    def __init__(self) -> None:
        self._read = False

    def next(self) -> str | None:
        """Return the message once, then None."""
        if self._read or sys.stdin is None:
            return None
        self._read = True
        return sys.stdin.read().lstrip("\n").rstrip() or None
