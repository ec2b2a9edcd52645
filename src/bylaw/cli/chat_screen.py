"""Show a chat: stream it to a terminal, or print one line of JSON for each block."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bylaw.cli.output import emit, in_color, write
from bylaw.hosts.chat.blocks import BlockKind
from bylaw.model.visible import clipped, visible
from bylaw.tools.printers.paint import Paint, Style

if TYPE_CHECKING:
    from bylaw.hosts.chat.blocks import Block
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Level

MAX_SHOWN = 200  # characters shown of a call or a response; the file has all of it


class Screen:
    """For people: stream text of the model; show everything else in one line each."""

    def __init__(self) -> None:
        self._paint = Paint(in_color(sys.stdout))
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
        words = visible(clipped(" ".join(block.text.split()), MAX_SHOWN))
        by = f" ({visible(block.via_rule)})" if block.via_rule else ""
        match block.kind:
            case BlockKind.CALL:
                self._say(Style.FRAME, f"→ {visible(block.tool)} {words}{by}")
            case BlockKind.RESPONSE:
                self._say(Style.BAD if block.failed else Style.FAINT, f"← {words}{by}")
            case _ if block.synthetic and not block.halts:  # a halt was shown as the answer
                self._say(Style.FAINT, f"[{block.role}{by}] {words}")

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        self._end_line()
        _to_stderr(f"bylaw: {text}")

    def log(self, level: Level, rule: str, text: str) -> None:
        """Print a log message of a rule on standard error."""
        self._end_line()
        _to_stderr(f"{level} {rule}: {text}")

    def _say(self, style: Style, words: str) -> None:
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
