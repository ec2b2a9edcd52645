"""Text with positions: the only module that converts characters, bytes and UTF-16 columns.

Inside Bylaw a position is an offset in characters (code points). Editors count UTF-16 units.
Tree-sitter, `ast` and libyaml count bytes. People count lines and columns from 1.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from msgspec import Struct

BOM = "\ufeff"


class Span(Struct, frozen=True, order=True, gc=False):
    """A piece of a source, `start` inclusive and `end` exclusive, in characters."""

    start: int
    end: int

    def shift(self, by: int) -> Span:
        """Return the same piece in a text that begins `by` characters earlier."""
        return Span(self.start + by, self.end + by)

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of the other."""
        return Span(self.start, other.end)


class Position(Struct, frozen=True):
    """Line and column as people count them, from 1, the column in characters."""

    line: int
    column: int


class EncodingError(ValueError):
    """Bytes that are not UTF-8. `source` holds the decoded text, `span` the first bad place."""

    def __init__(self, source: SourceFile, span: Span, byte: int) -> None:
        super().__init__(f"byte 0x{byte:02x} is not UTF-8")
        self.source = source
        self.span = span
        self.byte = byte


class SourceFile(Struct, frozen=True, dict=True):
    """A text with the name under which people know it."""

    path: str
    text: str

    @classmethod
    def decode(cls, path: str, data: bytes) -> SourceFile:
        """Decode UTF-8. A byte order mark stays in the text, so that writing back loses nothing."""
        try:
            return cls(path, data.decode("utf-8"))
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8")
            shown = cls(path, before + data[error.start :].decode("utf-8", "replace"))
            at = Span(len(before), len(before) + 1)
            raise EncodingError(shown, at, data[error.start]) from None

    @cached_property
    def _line_starts(self) -> list[int]:
        # Computed when a position is needed: most texts have no findings.
        starts, find = [0], self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    @cached_property
    def line_count(self) -> int:
        """The number of lines. An empty text has one."""
        return len(self._line_starts)

    def position(self, offset: int) -> Position:
        """Return line and column of a character."""
        line = bisect_right(self._line_starts, offset)
        return Position(line, max(offset - self._first_column(line), 0) + 1)

    def _first_column(self, line: int) -> int:
        """Return where a line begins for people: editors do not show a byte order mark."""
        start = self._line_starts[line - 1]
        return start + 1 if line == 1 and self.text.startswith(BOM) else start

    def utf16_column(self, offset: int) -> int:
        """Return the column of a character in UTF-16 units, from 0, as editors count."""
        line_start = self._first_column(self.position(offset).line)
        return len(self.text[line_start:offset].encode("utf-16-le", "surrogatepass")) // 2

    def offset_of_bytes(self, line: int, byte_column: int) -> int:
        """Return the character at a line (from 1) and a column in UTF-8 bytes (from 0)."""
        start = self._line_starts[min(line, self.line_count) - 1]
        text = self._raw_line(line)
        if text.isascii():
            return start + min(byte_column, len(text))
        head = text.encode("utf-8", "surrogatepass")[:byte_column]
        return start + len(head.decode("utf-8", "ignore"))

    def offset_of_utf16(self, line: int, column: int) -> int:
        """Return the character at a line (from 1) and a column in UTF-16 units (from 0)."""
        start = self._first_column(min(line, self.line_count))
        head = self.line_text(line).encode("utf-16-le", "surrogatepass")[: 2 * column]
        return start + len(head.decode("utf-16-le", "ignore"))

    def line_text(self, line: int) -> str:
        """Return one line as people see it, without line break and byte order mark."""
        text = self._raw_line(line)
        return text.removeprefix(BOM) if line == 1 else text

    def _raw_line(self, line: int) -> str:
        starts = self._line_starts
        line = min(line, self.line_count)
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].removesuffix("\r")

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        return self.text[span.start : span.end]
