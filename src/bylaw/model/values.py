"""Plain JSON values, and a strict reader for them.

The reader also rejects what JSON readers treat differently: duplicate keys, `NaN`, numbers without
bound, lone surrogates, deep nesting. Python's own decoder reads a valid text. A text is walked
through only to find the position of a problem.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, Annotated, NoReturn

import msgspec

from bylaw.model.display import brief
from bylaw.model.errors import BylawError
from bylaw.model.source import Span

if TYPE_CHECKING:
    from typing import TypeAlias

    JSON: TypeAlias = dict[str, "JSON"] | list["JSON"] | str | int | float | bool | None
else:
    # msgspec cannot resolve a recursive alias. What it decodes for Any is exactly JSON.
    from typing import Any as JSON  # noqa: N814 - it replaces the alias `JSON`

# Every reader of JSON keeps whole numbers up to this one exactly.
MAX_COUNT = 2**53 - 1

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]


def as_text(value: JSON) -> str:
    """Return a text for people: a string as it is, nothing for null, otherwise compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def is_finite(value: JSON) -> bool:
    """Whether every number in a value is finite, as JSON requires."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list):
        return all(map(is_finite, value))
    return not isinstance(value, dict) or all(map(is_finite, value.values()))


def size_of(value: JSON) -> int:
    """Return the size of a value: characters of a string, otherwise bytes as JSON."""
    return len(value) if isinstance(value, str) else len(msgspec.json.encode(value))


# Deep enough for the arguments of any tool, far below the limit of any parser.
MAX_DEPTH = 100
MAX_DIGITS = 4_300

# No two alternatives begin alike, and the part that can fail comes last, so no text causes
# backtracking. Groups are not possessive, because early releases of Python 3.11 handle those
# wrongly. The first pattern also matches a string without its closing quote.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*"?|[\[\]{}]', re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*+")
_OPEN_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORD = re.compile(r"-?\w++")
_MAYBE_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_PAIR_OR_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\ud800-\udfff])|\\.",
    re.DOTALL,
)
_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
_WORDS = frozenset({"true", "false", "null"})


class JsonErrorKind(Enum):
    """The kinds of problems."""

    SYNTAX = "syntax"
    DUPLICATE_KEY = "duplicate-key"
    TOO_DEEP = "too-deep"


class JsonError(BylawError):
    """What is wrong, for people, and where. The span is empty only in an empty text."""

    def __init__(self, flaw: JsonErrorKind, message: str, span: Span) -> None:
        super().__init__(message)
        self.flaw = flaw
        self.message = message
        self.span = span

    def sentence_about(self, subject: str) -> str:
        """Return the full sentence: `the facts are` gives `the facts are not JSON: …`."""
        return (
            f"{subject} not JSON: {self.message}"
            if self.flaw is JsonErrorKind.SYNTAX
            else self.message
        )


def read_json(text: str) -> JSON:
    """Return the value of a text. Raises JsonError."""
    check_json_depth(text)
    try:
        value: JSON = _STRICT_DECODER.decode(text)
    except ValueError:
        raise find_json_error(text) from None
    if _MAYBE_LONE_SURROGATE.search(text):
        JsonWalker(text).whole()
    return value


def replace_lone_surrogates(text: str) -> str:
    """Return JSON with U+FFFD for each lone surrogate, as programs write it that write UTF-8."""
    if not _MAYBE_LONE_SURROGATE.search(text):
        return text
    return _PAIR_OR_LONE_SURROGATE.sub(lambda one: "\ufffd" if one["half"] else one[0], text)


def decode_utf8(data: bytes) -> str:
    """Return the text of bytes. Raises JsonError."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = len(data[: error.start].decode("utf-8"))
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise JsonError(JsonErrorKind.SYNTAX, message, Span(at, at + 1)) from None


def check_json_depth(text: str) -> None:
    """Raise JsonError if brackets are nested too deeply, whether or not the text is valid."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        mark = found[0]
        depth += (mark in "[{") - (mark in "]}")
        if depth > MAX_DEPTH:
            raise _too_deep(found.start())


def check_json_keys(text: str) -> None:
    """Raise JsonError if a text that another reader accepted as JSON has a duplicate key."""
    try:
        _DUPLICATE_KEY_DECODER.decode(text)
    except ValueError:
        raise find_json_error(text) from None


def find_json_error(text: str) -> JsonError:
    """Return the first problem of a text that a reader rejected."""
    try:
        JsonWalker(text).whole()
    except JsonError as flaw:
        return flaw
    return JsonError(JsonErrorKind.SYNTAX, "it cannot be read", Span(0, min(1, len(text))))


def find_json_span(text: str, path: tuple[str | int, ...]) -> Span | None:
    """Return the position of a key or element in a JSON text, or None.

    `path` leads to it. The position of an element is its first character.
    """
    walk = JsonWalker(text, path)
    with suppress(_SpanFound):
        walk.whole()
    return walk.found


def _too_deep(at: int) -> JsonError:
    message = f"lists and objects are nested more than {MAX_DEPTH} deep"
    return JsonError(JsonErrorKind.TOO_DEEP, message, Span(at, at + 1))


class _SpanFound(Exception):  # noqa: N818 - ends a walk early, never leaves this module
    """The requested position was found."""


class JsonWalker:
    """Goes through a text once. Stops at the first problem, and can find one position.

    A reader of a wider format overrides `peek` (what is blank) and `goes_on` (where a list
    continues).
    """

    def __init__(self, text: str, sought: tuple[str | int, ...] = ()) -> None:
        self.text = text
        self.at = 0
        self.path: list[str | int] = []
        self.sought = list(sought)
        self.found: Span | None = None

    def whole(self) -> None:
        self.value()
        if self.peek():
            self.fail("nothing may follow the value")

    def value(self) -> None:
        match self.peek():
            case "{":
                self.members()
            case "[":
                self.elements()
            case '"':
                self.string()
            case _:
                self.literal()

    def members(self) -> None:
        self.enter()
        seen: set[str] = set()
        more = self.peek() != "}"
        while more:
            self.member(seen)
            more = self.goes_on("}")
        self.at += 1

    def member(self, seen: set[str]) -> None:
        if self.peek() != '"':
            self.fail("a key in double quotes is needed here")
        span = self.string()
        key: str = json.loads(self.text[span.start : span.end])
        if key in seen:
            message = f"duplicate key `{brief(key)}`"
            raise JsonError(JsonErrorKind.DUPLICATE_KEY, message, span)
        seen.add(key)
        if self.peek() != ":":
            self.fail("a `:` is needed here")
        self.at += 1
        self.step(key, span)

    def elements(self) -> None:
        self.enter()
        index = 0
        more = self.peek() != "]"
        while more:
            self.peek()
            self.step(index, Span(self.at, self.at + 1))
            index += 1
            more = self.goes_on("]")
        self.at += 1

    def enter(self) -> None:
        if len(self.path) == MAX_DEPTH:
            raise _too_deep(self.at)
        self.at += 1

    def goes_on(self, closing: str) -> bool:
        after = self.peek()
        if after == ",":
            self.at += 1
        elif after != closing:
            self.fail(f"a `,` or `{closing}` is needed here")
        return after == ","

    def step(self, key: str | int, span: Span) -> None:
        self.path.append(key)
        if self.path == self.sought:
            self.found = span
            raise _SpanFound
        self.value()
        self.path.pop()

    def peek(self) -> str:
        """Skip blanks and return the next character, or nothing at the end."""
        blanks = _BLANKS.match(self.text, self.at)
        assert blanks is not None, "the pattern also matches nothing"
        self.at = blanks.end()
        return self.text[self.at : self.at + 1]

    def string(self) -> Span:
        body = _OPEN_STRING.match(self.text, self.at)
        assert body is not None, "called at a quote"
        if self.text[body.end() : body.end() + 1] != '"':
            self.broken_string(body.end())
        for found in _PAIR_OR_LONE_SURROGATE.finditer(self.text, self.at, body.end()):
            if found["half"]:
                self.fail("lone surrogate (half of a character)", Span(*found.span()))
        span = Span(self.at, body.end() + 1)
        self.at = span.end
        return span

    def broken_string(self, at: int) -> NoReturn:
        match self.text[at : at + 1]:
            case "":
                self.fail("missing closing quote", Span(self.at, self.at + 1))
            case "\\":
                self.fail("invalid escape", Span(at, at + 2))
            case _:
                self.fail("this character must be escaped", Span(at, at + 1))

    def literal(self) -> None:
        number = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if number and not _is_bounded(number[0]):
            self.fail("this number is too large", Span(*number.span()))
        if word and word[0] in _CONSTANTS:
            self.fail(f"`{word[0]}` is not a JSON value", Span(*word.span()))
        if word and word[0] in _WORDS:
            number = word
        if number is None:
            self.fail("a value is needed here", Span(*word.span()) if word else None)
        self.at = number.end()

    def fail(self, message: str, span: Span | None = None) -> NoReturn:
        size = len(self.text)
        if span is None and self.at == size:
            message = "it ends too early"
        span = span or Span(self.at, self.at + 1)
        inside = Span(min(span.start, max(size - 1, 0)), min(span.end, size))
        raise JsonError(JsonErrorKind.SYNTAX, message, inside)


def _is_bounded(number: str) -> bool:
    if number.lstrip("-").isdigit():
        return len(number.lstrip("-")) <= MAX_DIGITS
    return isfinite(float(number))


def _parse_number(written: str) -> float:
    if not _is_bounded(written):
        raise ValueError
    return float(written)


def _parse_integer(written: str) -> int:
    if not _is_bounded(written):
        raise ValueError
    return int(written)


def _reject_constant(_name: str) -> NoReturn:
    raise ValueError


def _reject_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


_DUPLICATE_KEY_DECODER = json.JSONDecoder(object_pairs_hook=_reject_duplicates)
_STRICT_DECODER = json.JSONDecoder(
    parse_float=_parse_number,
    parse_int=_parse_integer,
    parse_constant=_reject_constant,
    object_pairs_hook=_reject_duplicates,
)
