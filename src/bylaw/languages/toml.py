"""TOML text → values, with the place of every key and value.

The standard library reads the values and reports syntax errors. A scanner finds the places in a
text that the standard library accepted, and `read_toml` combines both. The scanner checks nothing:
the first character tells what comes next. Places are computed only when they are needed: most
documents are valid and need none.
"""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field

from bylaw.model.codes.toml_rules import TOML_SYNTAX, TOML_TOO_LARGE
from bylaw.model.diagnostic import EmbeddedText
from bylaw.model.errors import load_error
from bylaw.model.source import BOM, SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.errors import LoadError


class Value(Struct, frozen=True):
    """A text, number, boolean or time."""

    value: Any
    span: Span

    def to_python(self) -> Any:
        """Return the value without places."""
        return self.value


class Array(Struct, frozen=True):
    """A list, or all tables of one `[[name]]`."""

    items: tuple[Node, ...]
    span: Span

    def to_python(self) -> list[Any]:
        """Return the values without places."""
        return [item.to_python() for item in self.items]


class Entry(Struct, frozen=True):
    """The place where a key is first written, and the node of its value."""

    key: Span
    node: Node


class Table(Struct, frozen=True):
    """Keys in the order of the text. The span is its header, or the complete inline table."""

    entries: dict[str, Entry]
    span: Span

    def get(self, key: str) -> Node | None:
        """Return the node of a value; None if the key is missing."""
        entry = self.entries.get(key)
        return None if entry is None else entry.node

    def to_python(self) -> dict[str, Any]:
        """Return the keys and values without places."""
        return {key: entry.node.to_python() for key, entry in self.entries.items()}


Node: TypeAlias = Value | Array | Table


_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_GAP = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''(?:[^']|'(?!''))*'{3,5}", re.DOTALL)
_BASIC_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LITERAL_STRING = re.compile(r"'[^']*'")
# A single space may separate a date from its time.
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]*|[^\s,\]}#]+")
_KEY_PIECES = (_BASIC_STRING, _LITERAL_STRING, _BARE_KEY)
_TOKEN = re.compile(
    rf"#[^\n]*|{_LONG_BASIC.pattern}|{_LONG_LITERAL.pattern}|(?P<dot>\.)"
    rf"|(?P<piece>{'|'.join(piece.pattern for piece in _KEY_PIECES)}|[ \t]+)|[^\"']",
    re.DOTALL,
)


class ValuePlace(Struct):
    """The place of a value, with the places of the keys of a table or the items of an array."""

    span: Span
    entries: dict[str, ValuePlace] | None = None
    items: list[ValuePlace] | None = None
    key_spans: dict[str, Span] = field(default_factory=dict)

    def enter(self, key: str, span: Span) -> ValuePlace:
        """Return the table of a key, or the last table of an array. Creates a missing table."""
        assert self.entries is not None
        found = self.entries.get(key)
        if found is None:
            self.key_spans[key] = span
            found = self.entries[key] = ValuePlace(span, entries={})
        return found.items[-1] if found.items else found

    def put(self, key: str, span: Span, place: ValuePlace) -> None:
        """Add a key and the place of its value."""
        assert self.entries is not None
        self.key_spans[key] = span
        self.entries[key] = place


def find_long_key(text: str, most: int) -> int | None:
    """Return where a key with at least `most` dots starts. The text may be invalid.

    The search ends at a string without a closing quote: the standard library stops there, too.
    """
    at = begin = dots = 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        dots += token.lastgroup == "dot"
        if dots >= most:
            return begin
        if token.lastgroup is None:
            begin, dots = at, 0
    return None


def scan_places(source: SourceFile, start: int) -> ValuePlace:
    """Return the places of a document that starts at `start`."""
    return _Scanner(source.text, start).document()


class _Scanner:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start

    def take(self, pattern: re.Pattern[str]) -> Span:
        match = pattern.match(self.text, self.at)
        assert match is not None, "the standard library accepted the text"
        self.at = match.end()
        return Span(*match.span())

    def is_at(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def skip(self, word: str) -> bool:
        seen = self.is_at(word)
        self.at += len(word) if seen else 0
        return seen

    def document(self) -> ValuePlace:
        root = ValuePlace(Span(self.at, self.at), entries={})
        table = root
        while self.take(_BLANK) and self.at < len(self.text):
            if self.is_at("["):
                table = self.header(root)
            else:
                self.pair(table)
        return root

    def header(self, root: ValuePlace) -> ValuePlace:
        begin = self.at
        many = self.skip("[[")
        self.at += 0 if many else 1
        keys = self.keys()
        self.take(_GAP)
        self.at += 2 if many else 1
        table = root
        for key, span in keys[:-1]:
            table = table.enter(key, span)
        key, span = keys[-1]
        if not many:
            table = table.enter(key, span)
            table.span = Span(begin, self.at)
            return table
        return _append(table, key, span, Span(begin, self.at))

    def keys(self) -> list[tuple[str, Span]]:
        keys = [self.key()]
        while self.take(_GAP) and self.skip("."):
            keys.append(self.key())
        return keys

    def key(self) -> tuple[str, Span]:
        self.take(_GAP)
        if self.is_at('"') or self.is_at("'"):
            span = self.take(_BASIC_STRING if self.is_at('"') else _LITERAL_STRING)
            written = self.text[span.start : span.end]
            return str(tomllib.loads(f"key = {written}")["key"]), span
        span = self.take(_BARE_KEY)
        return self.text[span.start : span.end], span

    def pair(self, table: ValuePlace) -> None:
        keys = self.keys()
        for key, span in keys[:-1]:
            table = table.enter(key, span)
        self.take(_GAP)
        self.at += 1  # the equals sign
        self.take(_GAP)
        key, span = keys[-1]
        table.put(key, span, self.value())

    def value(self) -> ValuePlace:
        if self.is_at("["):
            return self.array()
        if self.is_at("{"):
            return self.inline_table()
        return ValuePlace(self.take(self.scalar()))

    def scalar(self) -> re.Pattern[str]:
        for quote, pattern in (('"""', _LONG_BASIC), ("'''", _LONG_LITERAL), ('"', _BASIC_STRING)):
            if self.is_at(quote):
                return pattern
        return _LITERAL_STRING if self.is_at("'") else _PLAIN

    def array(self) -> ValuePlace:
        begin, items = self.at, []
        self.at += 1
        while self.take(_BLANK) and not self.skip("]"):
            items.append(self.value())
            self.take(_BLANK)
            self.skip(",")
        return ValuePlace(Span(begin, self.at), items=items)

    def inline_table(self) -> ValuePlace:
        begin = self.at
        table = ValuePlace(Span(begin, begin), entries={})
        self.at += 1
        while self.take(_BLANK) and not self.skip("}"):
            self.pair(table)
            self.take(_BLANK)
            self.skip(",")
        table.span = Span(begin, self.at)
        return table


def _append(table: ValuePlace, key: str, key_span: Span, header: Span) -> ValuePlace:
    assert table.entries is not None
    if key not in table.entries:
        table.put(key, key_span, ValuePlace(header, items=[]))
    items = table.entries[key].items
    assert items is not None
    items.append(ValuePlace(header, entries={}))
    return items[-1]


# A backslash at the end of a line removes all blanks up to the next text.
_BASIC_PIECES = re.compile(
    r"\\(?P<gap>[ \t]*\r?\n[ \t\r\n]*)|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\.|\r\n|.", re.DOTALL
)
_LITERAL_PIECES = re.compile(r"\r\n|.", re.DOTALL)


def character_places(source: SourceFile, span: Span) -> list[int]:
    """Return the offset of each character of the value, and then the offset of its end."""
    written = source.slice(span)
    quotes = 3 if written.startswith(('"""', "'''")) else 1
    body = written[quotes:-quotes]
    begin = span.start + quotes
    if quotes > 1:  # a line break after the opening quotes is not part of the value
        skipped = re.match(r"\r?\n", body)
        begin += skipped.end() if skipped else 0
        body = body[skipped.end() :] if skipped else body
    pattern = _BASIC_PIECES if written.startswith('"') else _LITERAL_PIECES
    return [*(begin + at for at in _character_starts(pattern, body)), begin + len(body)]


def _character_starts(pattern: re.Pattern[str], body: str) -> Iterator[int]:
    for found in pattern.finditer(body):
        if found.groupdict().get("gap") is None:
            yield found.start()


__all__ = ["Array", "Entry", "Node", "Table", "TomlDocument", "Value", "load_toml", "read_toml"]

# Far above real files. The time of the standard library grows with the square of the number of
# parts of a dotted key.
MAX_CHARS = 256 * 1024
MAX_KEY_PARTS = 100
MAX_DEPTH = 100  # same as for events, which carry values of rules
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
# Start of a message of the standard library → our headline and help, for common mistakes.
_DUPLICATE_KEY = ("duplicate key", "delete one of the two keys")
_COMMON_ERRORS = {
    "Invalid value": (
        "invalid value",
        "put texts in quotes; write `true` and `false` in lower case",
    ),
    "Cannot overwrite a value": _DUPLICATE_KEY,
    "Duplicate inline table key": _DUPLICATE_KEY,
    "Cannot declare": ("duplicate section", "merge the two sections"),
}


class TomlDocument(Struct, frozen=True, dict=True):
    """A TOML text and its values."""

    source: SourceFile
    values: dict[str, Any]

    @cached_property
    def table(self) -> Table:
        """The values with their places, as a tree."""
        start = len(BOM) if self.source.text.startswith(BOM) else 0
        table = _add_places(scan_places(self.source, start), self.values)
        assert isinstance(table, Table)
        return table

    def key_span(self, *path: str) -> Span:
        """Return the place where a key is first written."""
        return self._entry(path).key

    def value_span(self, *path: str) -> Span:
        """Return the place of a value; for a table, its header."""
        return self._entry(path).node.span

    def string(self, *path: str | int) -> EmbeddedText:
        """Return the places of the characters of a string."""
        node: Node = self.table
        for step in path:
            node = _child_node(node, step)
        return EmbeddedText(self.source, character_places(self.source, node.span))

    def _entry(self, path: tuple[str, ...]) -> Entry:
        node: Node = self.table
        for key in path[:-1]:
            node = _child_node(node, key)
        assert isinstance(node, Table)
        return node.entries[path[-1]]


def _child_node(node: Node, step: str | int) -> Node:
    if isinstance(step, int):
        assert isinstance(node, Array)
        return node.items[step]
    assert isinstance(node, Table)
    return node.entries[step].node


def load_toml(source: SourceFile) -> Table:
    """Read a document as a table. Raises `LoadError`."""
    return read_toml(source).table


def read_toml(source: SourceFile) -> TomlDocument:
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
    return TomlDocument(source, values)


def _refuse_long_keys(source: SourceFile) -> None:
    # Counting dots is a hundred times faster than the search, and few texts have that many dots.
    many = source.text.count(".") >= MAX_KEY_PARTS
    at = find_long_key(source.text, MAX_KEY_PARTS) if many else None
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
        level = [inner for outer in level for inner in _child_values(outer) if _child_values(inner)]
        if not level:
            return
    headline = f"values are nested more than {MAX_DEPTH} levels deep"
    raise load_error(TOML_TOO_LARGE, headline, source, Span(0, 1), help="nest less deeply")


def _child_values(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _syntax_error(source: SourceFile, message: str) -> LoadError:
    """Turn an error of the standard library into a finding at the right character."""
    found = _ERROR_PLACE.search(message)
    said = message[: found.start()] if found else "the text cannot be parsed"
    said = said[:1].lower() + said[1:]
    known = (ours for theirs, ours in _COMMON_ERRORS.items() if message.startswith(theirs))
    said, help_ = next(known, (said, ""))
    span = _error_span(source, found)
    return load_error(TOML_SYNTAX, f"invalid TOML: {said}", source, span, help=help_)


def _error_span(source: SourceFile, found: re.Match[str] | None) -> Span:
    end = len(source.text)
    if found is None or found[1] is None:
        return Span(max(end - 1, 0), end)
    at = source.offset_of_utf16(int(found[1]), 0) + int(found[2]) - 1
    return Span(min(at, max(end - 1, 0)), min(at + 1, end))


def _add_places(place: ValuePlace, value: Any) -> Node:
    """Combine places and values. Both have the same structure: they come from the same text."""
    if isinstance(value, dict) and place.entries is not None:
        entries = {
            key: Entry(place.key_spans[key], _add_places(inner, value[key]))
            for key, inner in place.entries.items()
        }
        return Table(entries, place.span)
    if isinstance(value, list) and place.items is not None:
        pairs = zip(place.items, value, strict=True)
        return Array(tuple(_add_places(inner, item) for inner, item in pairs), place.span)
    return Value(value, place.span)
