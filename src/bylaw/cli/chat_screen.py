"""What happens in a chat → a terminal that streams, or one line of JSON a block."""

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

MAX_SHOWN = 200  # characters of a call or a response; all of it stands in the file


class Screen:
    """For people: what the model says as it comes, everything else in a line."""

    def __init__(self) -> None:
        self._paint = Paint(in_color(sys.stdout))
        self._in_line = False
        self._held: list[str] | None = None

    def hold(self) -> None:
        """From now on, keep what would be shown."""
        if self._held is None:
            self._end_line()
            self._held = []

    def release(self) -> None:
        """Show it."""
        held, self._held = self._held, None
        self._write("".join(held or ()))

    def drop(self) -> None:
        """It is never shown."""
        self._held, self._in_line = None, False

    def text(self, piece: str) -> None:
        """Nothing that a model says controls the terminal."""
        self._write("\n".join(visible(line) for line in piece.expandtabs(4).split("\n")))
        self._in_line = not piece.endswith("\n")

    def block(self, block: Block) -> None:
        """Calls, responses and what rules wrote; the model's own words were streamed."""
        self._end_line()
        words = visible(clipped(" ".join(block.text.split()), MAX_SHOWN))
        by = f" ({visible(block.via_rule)})" if block.via_rule else ""
        match block.kind:
            case BlockKind.CALL:
                self._say(Style.FRAME, f"→ {visible(block.tool)} {words}{by}")
            case BlockKind.RESPONSE:
                self._say(Style.BAD if block.failed else Style.FAINT, f"← {words}{by}")
            case _ if block.synthetic and not block.halts:  # which was shown as the answer
                self._say(Style.FAINT, f"[{block.role}{by}] {words}")

    def note(self, text: str) -> None:
        """Beside the conversation."""
        self._end_line()
        _to_stderr(f"bylaw: {text}")

    def log(self, level: Level, rule: str, text: str) -> None:
        """A line of a rule's log."""
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
    """For programs: every block, when it stands in the file."""

    def hold(self) -> None:
        """A block is data as soon as it stands in the file."""

    def release(self) -> None:
        """Nothing is held."""

    def drop(self) -> None:
        """Nothing is held."""

    def text(self, piece: str) -> None:
        """A block tells it when it is whole."""

    def block(self, block: Block) -> None:
        """One line."""
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
        """Beside the data."""
        _to_stderr(f"bylaw: {text}")

    def log(self, level: Level, rule: str, text: str) -> None:
        """Beside the data."""
        _to_stderr(f"{level} {rule}: {text}")


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write("\n".join(map(visible, text.split("\n"))) + "\n")
        sys.stderr.flush()
