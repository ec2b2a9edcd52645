"""Read a byte stream line by line, with a limit for the length of a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Enough for the longest tool result that a rule should check.
MAX_LINE_BYTES = 16 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_SKIPPED_AT_ONCE = 64 * 1024


class Line(NamedTuple):
    """A line that is not blank, without line break, numbered from 1. None: it is too long."""

    number: int
    data: bytes | None


def event_lines(stream: BinaryIO) -> Iterator[Line]:
    """Yield each line as soon as it is read. Only one line is in memory at a time."""
    number = 0
    while data := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(data) > MAX_LINE_BYTES and not data.endswith(b"\n"):
            _skip_line(stream)
            yield Line(number, None)
            continue
        if number == 1:
            data = data.removeprefix(_BOM)
        if data.strip():
            yield Line(number, data.rstrip(b"\r\n"))


def _skip_line(stream: BinaryIO) -> None:
    while (piece := stream.readline(_SKIPPED_AT_ONCE)) and not piece.endswith(b"\n"):
        pass
