"""The types of values in `bylaw.toml`: flags, numbers, choices, texts, lists, regular expressions.

A regular expression is accepted only if its running time grows linearly with the text. Python's
matcher backtracks, so the work that one position of a text can cause is counted beforehand. An
unlimited repeat may only be the last part, of one character or class. Other repeats need a limit.
"""

from __future__ import annotations

import re
import warnings
from functools import reduce
from posixpath import normpath
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.languages.toml import Array
from bylaw.model.codes.files import UNBOUNDED_PATTERN
from bylaw.model.display import brief, visible
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from enum import StrEnum

    from bylaw.languages.toml import Node
    from bylaw.runtime.settings import Problems

MAX_ITEMS = 100  # in a list
MAX_TEXT_CHARS = 1000  # in a text

_LIMIT_HINT = (
    "add a limit, such as `{1,100}`; only the last part of a pattern may repeat without one"
)
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = re.compile(
    r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[1-9][0-9]{0,4})?(?:/[\w./~%-]*)?", re.ASCII
)


class BoolSetting:
    """A value that is true or false."""

    words = "`true` or `false`"

    def read(self, key: str, node: Node, problems: Problems) -> bool:
        """Return the value; other types are not converted."""
        value = node.to_python()
        if not isinstance(value, bool):
            problems.wrong(key, self.words, node.span)
        return value is True


class IntSetting(Struct, frozen=True):
    """A whole number in a range."""

    least: int
    most: int

    @property
    def words(self) -> str:
        """The range in words."""
        return f"a whole number from {self.least:,} to {self.most:,}"

    def read(self, key: str, node: Node, problems: Problems) -> int:
        """Return the number."""
        value = node.to_python()
        if not isinstance(value, int) or isinstance(value, bool):
            problems.wrong(key, self.words, node.span)
            return self.least
        if not self.least <= value <= self.most:
            problems.unusable(key, "it is out of range", node.span, f"write {self.words}")
        return value


class ChoiceSetting(Struct, frozen=True):
    """One word of a closed list."""

    choices: type[StrEnum]

    @property
    def words(self) -> str:
        """The allowed words."""
        return " or ".join(f'`"{one}"`' for one in self.choices)

    def read(self, key: str, node: Node, problems: Problems) -> StrEnum:
        """Return the word."""
        value = node.to_python()
        if isinstance(value, str) and value in set(self.choices):
            return self.choices(value)
        if isinstance(value, str):
            help_ = did_you_mean(value, self.choices)
            problems.unusable(key, "unknown choice", node.span, help_)
        else:
            problems.wrong(key, self.words, node.span)
        return next(iter(self.choices))


class TextSetting(Struct, frozen=True):
    """A text of some kind; `understand` returns its normal form, or raises ValueError."""

    words: str
    check: Callable[[str], str]

    def read(self, key: str, node: Node, problems: Problems) -> str:
        """Return the text in its normal form."""
        value = node.to_python()
        if not isinstance(value, str):
            problems.wrong(key, self.words, node.span)
            return ""
        try:
            return self.check(_check_text(value))
        except ValueError as wrong:
            problems.unusable(key, str(wrong), node.span, f"write {self.words}")
            return ""


class TextListSetting(Struct, frozen=True):
    """A list of texts of one kind."""

    item: TextSetting

    @property
    def words(self) -> str:
        """The kind of the texts in words."""
        return f"a list, each {self.item.words}"

    def read(self, key: str, node: Node, problems: Problems) -> tuple[str, ...]:
        """Return the texts; each mistake is added to `problems`."""
        items = _items_of(key, node, problems, self.words)
        return tuple(self.item.read(key, one, problems) for one in items)


class Patterns:
    """A list of regular expressions with limited running time."""

    words = "a list of regular expressions"

    def read(self, key: str, node: Node, problems: Problems) -> tuple[re.Pattern[str], ...]:
        """Return the compiled patterns; each mistake is added to `problems`."""
        items = _items_of(key, node, problems, self.words)
        read = [self._item(key, one, problems) for one in items]
        return tuple(one for one in read if one is not None)

    def _item(self, key: str, node: Node, problems: Problems) -> re.Pattern[str] | None:

        text = node.to_python()
        if not isinstance(text, str):
            problems.wrong(key, "a text in quotes", node.span)
            return None
        try:
            return compile_bounded(text)
        except UnboundedError as wrong:
            problems.refuse(UNBOUNDED_PATTERN, f"this pattern {wrong}", node.span, _LIMIT_HINT)
        except ValueError as wrong:
            problems.unusable(key, str(wrong), node.span, "write another regular expression")
        return None


def _items_of(key: str, node: Node, problems: Problems, words: str) -> tuple[Node, ...]:
    """Return the items of a list, unless it is too long."""
    if not isinstance(node, Array):
        problems.wrong(key, words, node.span)
        return ()
    if len(node.items) > MAX_ITEMS:
        why = f"it has more than {MAX_ITEMS} items"
        problems.unusable(key, why, node.span, "combine some of them")
        return ()
    return node.items


def _check_text(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    if len(text) > MAX_TEXT_CHARS:
        raise ValueError(f"it is longer than {MAX_TEXT_CHARS:,} characters")
    if visible(text) != text:
        raise ValueError("it contains an invisible character")
    return text


def _check_path(text: str) -> str:
    if text.startswith(("/", "~")):
        raise ValueError(f"`{brief(text)}` is not relative to the root")
    if ".." in text.split("/"):
        raise ValueError(f"`{brief(text)}` may lead out of the root")
    return normpath(text)


def _check_file(text: str) -> str:
    path = _check_path(text)
    if path == "." or text.endswith("/"):
        raise ValueError(f"`{brief(text)}` is a folder")
    return path


def _check_program(text: str) -> str:
    if not _PROGRAM.fullmatch(text):
        raise ValueError(f"`{brief(text)}` is not the name of a program")
    return text


def _check_variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError(f"`{brief(text)}` is not the name of a variable")
    return text


def _check_address(text: str) -> str:
    if "@" in text:  # do not quote the text: it may contain a password
        raise ValueError("this file must not contain a user name or a password")
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"`{brief(text)}` is not a valid address")
    return text


def _accept(text: str) -> str:
    return text


PATH = TextSetting("a path relative to the root, without `..`", _check_path)
FILE = TextSetting("the path of a file relative to the root, without `..`", _check_file)
PROGRAM = TextSetting("the name of a program, without a folder", _check_program)
VARIABLE = TextSetting("the name of an environment variable", _check_variable)
ADDRESS = TextSetting("an address such as `https://example.org/v1`", _check_address)
NAME = TextSetting("a text in quotes that is not empty", _accept)


# Larger sets are not compared character by character.
MAX_COMPARED_CHARS = 300

_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdecimal,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    codes.CATEGORY_NOT_DIGIT: lambda char: not char.isdecimal(),
    codes.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    codes.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


class Chars(Struct, frozen=True):
    """A set of characters; its items are those of a class in brackets."""

    items: tuple[tuple[Any, Any], ...]
    negated: bool = False
    any_case: bool = False

    def is_disjoint(self, other: Chars) -> bool:
        """Check whether the sets certainly have no character in common."""
        # Check both sides: case changes are not symmetric, as for K, k and the Kelvin sign.
        sides = [(self.small_set(), other), (other.small_set(), self)]
        known = [(few, side) for few, side in sides if few is not None]
        return bool(known) and not any(side.has(char) for few, side in known for char in few)

    def small_set(self) -> list[str] | None:
        """Return all characters of a small set; None for other sets."""
        if self.negated or any(op is codes.CATEGORY for op, _ in self.items):
            return None
        ranges = [_range(op, value) for op, value in self.items]
        if sum(len(one) for one in ranges) > MAX_COMPARED_CHARS:
            return None
        chars = [chr(code) for one in ranges for code in one]
        return [form for char in chars for form in self._forms(char)]

    def has(self, char: str) -> bool:
        """Check whether a character is in the set."""
        found = any(self._holds(op, value, char) for op, value in self.items)
        return found is not self.negated

    def _holds(self, op: Any, value: Any, char: str) -> bool:
        forms = self._forms(char)
        if op is codes.CATEGORY:
            return any(_CATEGORIES[value](form) for form in forms)
        return any(ord(form) in _range(op, value) for form in forms if len(form) == 1)

    def _forms(self, char: str) -> Sequence[str]:
        return sorted({char, char.lower(), char.upper()}) if self.any_case else (char,)


def _range(op: Any, value: Any) -> range:
    first, last = value if op is codes.RANGE else (value, value)
    return range(first, last + 1)


def chars_of(op: Any, value: Any, *, any_case: bool) -> Chars | None:
    """Return the set of a part of a parsed expression; None if it is not a single character."""
    if op is codes.LITERAL:
        return Chars(((op, value),), any_case=any_case)
    if op is codes.NOT_LITERAL:
        return Chars(((codes.LITERAL, value),), negated=True, any_case=any_case)
    if op is codes.ANY:
        return Chars((), negated=True)  # includes line breaks, which only a flag allows
    if op is codes.IN:
        negated = value[0][0] is codes.NEGATE
        return Chars(tuple(value[negated:]), negated, any_case)
    return None


MAX_PATTERN_CHARS = 500
MAX_GROUPS = 50
MAX_STEPS = 2000  # for one position of a text

_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT}
_LOOKAROUNDS = {codes.ASSERT, codes.ASSERT_NOT}


class UnboundedError(ValueError):
    """A pattern whose running time has no acceptable limit."""


def compile_bounded(text: str) -> re.Pattern[str]:
    """Return the compiled pattern; ValueError, such as UnboundedError, if it cannot be used."""
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"it is longer than {MAX_PATTERN_CHARS} characters")
    if text.count("(") > MAX_GROUPS:
        raise ValueError(f"it has more than {MAX_GROUPS} groups")
    parsed, compiled = _compile(text)
    if parsed.getwidth()[0] == 0:
        raise ValueError("it matches the empty text, so it matches everywhere")
    if compiled.flags & (re.ASCII | re.LOCALE):
        raise ValueError("the flags `a` and `L` cannot be used here")
    _PatternCost(any_case=bool(compiled.flags & re.IGNORECASE)).sequence(parsed, _END)
    return compiled


def _compile(text: str) -> tuple[Any, re.Pattern[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Python warns about syntax whose meaning will change
        try:
            return _parser.parse(text), re.compile(text)
        except (re.error, Warning, OverflowError, RecursionError) as wrong:
            raise ValueError(f"it is not a regular expression: {wrong}") from None


class _Rest(Struct, frozen=True):
    """The rest of a pattern: its work, and the characters it can begin with (None: unknown)."""

    steps: int
    firsts: tuple[Chars, ...] | None
    is_end: bool = False

    def is_disjoint_from(self, chars: Chars) -> bool:
        """Check whether the rest cannot begin with these characters; one character decides."""
        return self.firsts is not None and all(chars.is_disjoint(one) for one in self.firsts)


_END = _Rest(0, None, is_end=True)


class _PatternCost:
    """Adds up the work of the parts of a pattern, from its end."""

    def __init__(self, *, any_case: bool) -> None:
        self._any_case = any_case

    def sequence(self, parts: Iterable[tuple[Any, Any]], rest: _Rest) -> _Rest:
        return reduce(self._part, reversed(list(parts)), rest)

    def _part(self, rest: _Rest, part: tuple[Any, Any]) -> _Rest:
        op, value = part
        counted = self._part_cost(op, value, rest)
        if counted.steps > MAX_STEPS:
            raise UnboundedError(f"can take more than {MAX_STEPS:,} steps for one character")
        return counted

    def _part_cost(self, op: Any, value: Any, rest: _Rest) -> _Rest:
        chars = chars_of(op, value, any_case=self._any_case)
        if chars is not None:
            return _Rest(1 + rest.steps, (chars,))
        if op is codes.SUBPATTERN:
            return self._group(value, rest)
        if op is codes.BRANCH:
            return _alternatives([self.sequence(one, rest) for one in value[1]])
        if op in _REPEATS:
            return self._repeat(value, rest)
        if op is codes.AT:
            return _Rest(1 + rest.steps, None)
        if op in _LOOKAROUNDS:
            looked = self.sequence(value[1], _Rest(0, None))
            return _Rest(1 + looked.steps + rest.steps, None)
        raise UnboundedError("uses a group reference, an atomic group or a possessive repeat")

    def _group(self, value: tuple[Any, ...], rest: _Rest) -> _Rest:
        _, add, remove, inner = value
        if (add | remove) & (re.ASCII | re.LOCALE):
            raise ValueError("the flags `a` and `L` cannot be used here")
        any_case = bool(add & re.IGNORECASE) or (self._any_case and not remove & re.IGNORECASE)
        return _PatternCost(any_case=any_case).sequence(inner, rest)

    def _repeat(self, value: tuple[int, Any, Any], rest: _Rest) -> _Rest:
        least, most, inner = value
        single = chars_of(*inner[0], any_case=self._any_case) if len(inner) == 1 else None
        if most is codes.MAXREPEAT and not rest.is_end:
            raise UnboundedError("repeats a part without limit that is not its last part")
        if single is None:
            if most is codes.MAXREPEAT:
                raise UnboundedError("repeats a group without limit")
            return self._repeat_group(least, most, inner, rest)
        return _repeat_char(least, most, single, rest)

    def _repeat_group(self, least: int, most: int, inner: Any, rest: _Rest) -> _Rest:
        counted = rest
        for number in range(most, 0, -1):
            once = self.sequence(inner, counted)
            ways = [once] if number <= least else [once, rest]
            counted = _alternatives(ways)
            if counted.steps > MAX_STEPS:
                break
        return counted


def _alternatives(ways: list[_Rest]) -> _Rest:
    known = [way.firsts for way in ways if way.firsts is not None]
    firsts = tuple(chars for one in known for chars in one) if len(known) == len(ways) else None
    return _Rest(1 + sum(way.steps for way in ways), firsts)


def _repeat_char(least: int, most: Any, chars: Chars, rest: _Rest) -> _Rest:
    firsts: tuple[Chars, ...] | None = (chars,)
    if least == 0:
        firsts = None if rest.firsts is None else (chars, *rest.firsts)
    if rest.is_end:  # the repeat is the last part, so the matcher never goes back
        return _Rest(least + 1, firsts)
    ends = most - least + 1
    if rest.firsts is not None and rest.is_disjoint_from(chars):
        return _Rest(most + ends * len(rest.firsts) + rest.steps, firsts)
    return _Rest(most + ends * max(rest.steps, 1), firsts)
