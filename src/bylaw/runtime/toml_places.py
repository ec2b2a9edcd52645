"""TOML text → where its keys stand: the reader of the standard library gives no places.

Keys of tables are found line by line. What is written otherwise (inline tables, dotted keys,
a key on the lines of a text) is not found here, and the diagnostic points at its table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bylaw.model.source import BOM, SourceFile, Span

_BARE = r"[A-Za-z0-9_-]+|\"[^\"\\\n]*\"|'[^'\n]*'"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*((?:{_BARE})(?:[ \t]*\.[ \t]*(?:{_BARE}))*)[ \t]*\]")
_KEY = re.compile(rf"[ \t]*({_BARE})[ \t]*=[ \t]*")
_PART = re.compile(_BARE)
_LONG_QUOTES = re.compile("\"\"\"|'''")
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass
class Table:
    """One table header with its keys and the spans of key and value."""

    name: tuple[str, ...]
    span: Span
    keys: dict[str, tuple[Span, Span]] = field(default_factory=dict)


@dataclass(frozen=True)
class Places:
    """The tables in source order; the first is the top of the file, without a name."""

    source: SourceFile
    tables: list[Table]

    def table(self, name: tuple[str, ...], number: int = 0) -> Table | None:
        """The table of that name, or the one of that number where it stands several times."""
        same = [table for table in self.tables if table.name == name]
        return same[number] if number < len(same) else None

    def below(self, name: tuple[str, ...]) -> Span | None:
        """The first header of a table below that name."""
        below = (table.span for table in self.tables if table.name[: len(name)] == name)
        return next(below, None)


def find_places(source: SourceFile) -> Places:
    """Every table and key that stands at the begin of a line."""
    tables = [Table((), Span(0, 0))]
    at = len(BOM) if source.text.startswith(BOM) else 0
    quotes = ""
    for line in source.text[at:].split("\n"):
        if not quotes:
            _take(line.removesuffix("\r"), at, tables)
        quotes = _open_quotes(line, quotes)
        at += len(line) + 1
    return Places(source, tables)


def _take(line: str, at: int, tables: list[Table]) -> None:
    if header := _HEADER.match(line):
        tables.append(Table(_parts(header[1]), Span(*header.span(1)).shift(at)))
    elif key := _KEY.match(line):
        (name,) = _parts(key[1])
        value = Span(at + key.end(), at + len(line.rstrip()))
        tables[-1].keys.setdefault(name, (Span(*key.span(1)).shift(at), value))


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(name))


def _open_quotes(line: str, quotes: str) -> str:
    """The long quotes that are still open at the end of the line."""
    for found in _LONG_QUOTES.findall(line):
        if not quotes:
            quotes = found
        elif found == quotes:
            quotes = ""
    return quotes


def error_place(source: SourceFile, message: str) -> tuple[str, Span]:
    """What a TOML error says, in our words' form, and the character that it is about."""
    found = _ERROR_PLACE.search(message)
    said = message[: found.start()] if found else message
    said = said[:1].lower() + said[1:]
    if found is None or found[1] is None:
        return said, Span(len(source.text), len(source.text))
    column = int(found[2]) - 1
    at = source.offset_of_utf16(int(found[1]), 0) + column
    end = min(at + 1, len(source.text))
    return said, Span(min(at, end), end)
