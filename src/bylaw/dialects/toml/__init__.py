"""TOML text → values, with the place of every key and value.

The standard library reads the values and reports syntax errors. `scan` finds the places in a text
that the standard library accepted, and this module combines both. Places are computed only when
they are needed: most documents are valid and need none.
"""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.dialects.toml.nodes import Array, Entry, Node, Table, Value
from bylaw.dialects.toml.scan import long_key, scan
from bylaw.dialects.toml.strings import character_places
from bylaw.model.codes.toml import TOML_SYNTAX, TOML_TOO_LARGE
from bylaw.model.embedded import Embedded
from bylaw.model.errors import load_error
from bylaw.model.source import BOM, SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.dialects.toml.scan import Place
    from bylaw.model.errors import LoadError

__all__ = ["Array", "Document", "Entry", "Node", "Table", "Value", "load_toml", "read_toml"]

# Far above real files. The time of the standard library grows with the square of the number of
# parts of a dotted key.
MAX_CHARS = 256 * 1024
MAX_KEY_PARTS = 100
MAX_DEPTH = 100  # same as for events, which carry values of rules
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
# Start of a message of the standard library → our headline and help, for common mistakes.
_TWICE = ("duplicate key", "delete one of the two keys")
_COMMON = {
    "Invalid value": (
        "invalid value",
        "put texts in quotes; write `true` and `false` in lower case",
    ),
    "Cannot overwrite a value": _TWICE,
    "Duplicate inline table key": _TWICE,
    "Cannot declare": ("duplicate section", "merge the two sections"),
}


class Document(Struct, frozen=True, dict=True):
    """A TOML text and its values."""

    source: SourceFile
    values: dict[str, Any]

    @cached_property
    def table(self) -> Table:
        """The values with their places, as a tree."""
        start = len(BOM) if self.source.text.startswith(BOM) else 0
        table = _joined(scan(self.source, start), self.values)
        assert isinstance(table, Table)
        return table

    def key_span(self, *path: str) -> Span:
        """Return the place where a key is first written."""
        return self._entry(path).key

    def value_span(self, *path: str) -> Span:
        """Return the place of a value; for a table, its header."""
        return self._entry(path).node.span

    def string(self, *path: str | int) -> Embedded:
        """Return the places of the characters of a string."""
        node: Node = self.table
        for step in path:
            node = _inside(node, step)
        return Embedded(self.source, character_places(self.source, node.span))

    def _entry(self, path: tuple[str, ...]) -> Entry:
        node: Node = self.table
        for key in path[:-1]:
            node = _inside(node, key)
        assert isinstance(node, Table)
        return node.entries[path[-1]]


def _inside(node: Node, step: str | int) -> Node:
    if isinstance(step, int):
        assert isinstance(node, Array)
        return node.items[step]
    assert isinstance(node, Table)
    return node.entries[step].node


def load_toml(source: SourceFile) -> Table:
    """Read a document as a table. Raises `LoadError`."""
    return read_toml(source).table


def read_toml(source: SourceFile) -> Document:
    """Read a document. Raises `LoadError`."""
    if len(source.text) > MAX_CHARS:
        headline = f"the text is longer than {MAX_CHARS:,} characters"
        raise load_error(TOML_TOO_LARGE, headline, source, Span(0, 1), help="split the file")
    _refuse_long_keys(source)
    start = len(BOM) if source.text.startswith(BOM) else 0
    try:
        values = tomllib.loads(source.text[start:])
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
        raise _syntax_error(source, str(problem)) from None
    _refuse_depth(source, values)
    return Document(source, values)


def _refuse_long_keys(source: SourceFile) -> None:
    # Counting dots is a hundred times faster than the search, and few texts have that many dots.
    many = source.text.count(".") >= MAX_KEY_PARTS
    at = long_key(source.text, MAX_KEY_PARTS) if many else None
    if at is not None:
        headline = f"a key has more than {MAX_KEY_PARTS} parts"
        raise load_error(
            TOML_TOO_LARGE, headline, source, Span(at, at + 1), help="nest less deeply"
        )


def _refuse_depth(source: SourceFile, values: dict[str, Any]) -> None:
    # Only these characters start a nested value, and few texts have that many of them.
    if sum(map(source.text.count, "[{.")) < MAX_DEPTH:
        return
    level: list[Any] = [values]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inner(outer) if _inner(inner)]
        if not level:
            return
    headline = f"values are nested more than {MAX_DEPTH} levels deep"
    raise load_error(TOML_TOO_LARGE, headline, source, Span(0, 1), help="nest less deeply")


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _syntax_error(source: SourceFile, message: str) -> LoadError:
    """Turn an error of the standard library into a finding at the right character."""
    found = _ERROR_PLACE.search(message)
    said = message[: found.start()] if found else "the text cannot be parsed"
    said = said[:1].lower() + said[1:]
    known = (ours for theirs, ours in _COMMON.items() if message.startswith(theirs))
    said, help_ = next(known, (said, ""))
    span = _error_place(source, found)
    return load_error(TOML_SYNTAX, f"invalid TOML: {said}", source, span, help=help_)


def _error_place(source: SourceFile, found: re.Match[str] | None) -> Span:
    end = len(source.text)
    if found is None or found[1] is None:
        return Span(max(end - 1, 0), end)
    at = source.offset_of_utf16(int(found[1]), 0) + int(found[2]) - 1
    return Span(min(at, max(end - 1, 0)), min(at + 1, end))


def _joined(place: Place, value: Any) -> Node:
    """Combine places and values. Both have the same structure: they come from the same text."""
    if isinstance(value, dict) and place.entries is not None:
        entries = {
            key: Entry(place.key_spans[key], _joined(inner, value[key]))
            for key, inner in place.entries.items()
        }
        return Table(entries, place.span)
    if isinstance(value, list) and place.items is not None:
        pairs = zip(place.items, value, strict=True)
        return Array(tuple(_joined(inner, item) for inner, item in pairs), place.span)
    return Value(value, place.span)
