"""Valid TOML text → the places of its keys and values.

The standard library accepted the text, so nothing is checked here: the first character of a part
determines its kind.
"""

from __future__ import annotations

import re
import tomllib

from msgspec import Struct, field

from bylaw.model.source import SourceFile, Span

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_GAP = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''(?:[^']|'(?!''))*'{3,5}", re.DOTALL)
_BASIC = re.compile(r'"(?:[^"\\]|\\.)*"')
_LITERAL = re.compile(r"'[^']*'")
# A single space may separate a date from its time.
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]*|[^\s,\]}#]+")
_KEY_PIECES = (_BASIC, _LITERAL, _BARE_KEY)
_TOKEN = re.compile(
    rf"#[^\n]*|{_LONG_BASIC.pattern}|{_LONG_LITERAL.pattern}|(?P<dot>\.)"
    rf"|(?P<piece>{'|'.join(piece.pattern for piece in _KEY_PIECES)}|[ \t]+)|[^\"']",
    re.DOTALL,
)


class Place(Struct):
    """The place of a value, with the places of the keys of a table or the items of an array."""

    span: Span
    entries: dict[str, Place] | None = None
    items: list[Place] | None = None
    key_spans: dict[str, Span] = field(default_factory=dict)

    def enter(self, key: str, span: Span) -> Place:
        """Return the table of a key, or the last table of an array. Creates a missing table."""
        assert self.entries is not None
        found = self.entries.get(key)
        if found is None:
            self.key_spans[key] = span
            found = self.entries[key] = Place(span, entries={})
        return found.items[-1] if found.items else found

    def put(self, key: str, span: Span, place: Place) -> None:
        """Add a key and the place of its value."""
        assert self.entries is not None
        self.key_spans[key] = span
        self.entries[key] = place


def long_key(text: str, most: int) -> int | None:
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


def scan(source: SourceFile, start: int) -> Place:
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

    def sees(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def skip(self, word: str) -> bool:
        seen = self.sees(word)
        self.at += len(word) if seen else 0
        return seen

    def document(self) -> Place:
        root = Place(Span(self.at, self.at), entries={})
        table = root
        while self.take(_BLANK) and self.at < len(self.text):
            if self.sees("["):
                table = self.header(root)
            else:
                self.pair(table)
        return root

    def header(self, root: Place) -> Place:
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
        if self.sees('"') or self.sees("'"):
            span = self.take(_BASIC if self.sees('"') else _LITERAL)
            written = self.text[span.start : span.end]
            return str(tomllib.loads(f"key = {written}")["key"]), span
        span = self.take(_BARE_KEY)
        return self.text[span.start : span.end], span

    def pair(self, table: Place) -> None:
        keys = self.keys()
        for key, span in keys[:-1]:
            table = table.enter(key, span)
        self.take(_GAP)
        self.at += 1  # the equals sign
        self.take(_GAP)
        key, span = keys[-1]
        table.put(key, span, self.value())

    def value(self) -> Place:
        if self.sees("["):
            return self.array()
        if self.sees("{"):
            return self.inline_table()
        return Place(self.take(self.scalar()))

    def scalar(self) -> re.Pattern[str]:
        for quote, pattern in (('"""', _LONG_BASIC), ("'''", _LONG_LITERAL), ('"', _BASIC)):
            if self.sees(quote):
                return pattern
        return _LITERAL if self.sees("'") else _PLAIN

    def array(self) -> Place:
        begin, items = self.at, []
        self.at += 1
        while self.take(_BLANK) and not self.skip("]"):
            items.append(self.value())
            self.take(_BLANK)
            self.skip(",")
        return Place(Span(begin, self.at), items=items)

    def inline_table(self) -> Place:
        begin = self.at
        table = Place(Span(begin, begin), entries={})
        self.at += 1
        while self.take(_BLANK) and not self.skip("}"):
            self.pair(table)
            self.take(_BLANK)
            self.skip(",")
        table.span = Span(begin, self.at)
        return table


def _append(table: Place, key: str, key_span: Span, header: Span) -> Place:
    assert table.entries is not None
    if key not in table.entries:
        table.put(key, key_span, Place(header, items=[]))
    items = table.entries[key].items
    assert items is not None
    items.append(Place(header, entries={}))
    return items[-1]
