"""Accept only regular expressions whose running time grows linearly with the text.

Python's matcher backtracks, and a text can be written so that it never finishes. So this module
counts beforehand how much work one position of a text can cause:

* an unlimited repeat (`*`, `+`, `{3,}`) may only be the last part, and only of one character or
  class: the matcher never goes back over what it has matched;
* every other repeat has a limit, and multiplies the work of all that follows, unless what follows
  cannot begin with the repeated character;
* alternatives add up; references to groups are refused, because their work cannot be counted.

The sum is limited, so a search takes at most that many steps for each character of the text.
"""

from __future__ import annotations

import re
import warnings
from functools import reduce
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.runtime.settings.chars import Chars, chars_of

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_CHARS = 500
MAX_GROUPS = 50
MAX_STEPS = 2000  # for one position of a text

_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT}
_LOOKS = {codes.ASSERT, codes.ASSERT_NOT}


class UnboundedError(ValueError):
    """A pattern whose running time has no acceptable limit."""


def bounded(text: str) -> re.Pattern[str]:
    """Return the compiled pattern; ValueError, such as UnboundedError, if it cannot be used."""
    if len(text) > MAX_CHARS:
        raise ValueError(f"it is longer than {MAX_CHARS} characters")
    if text.count("(") > MAX_GROUPS:
        raise ValueError(f"it has more than {MAX_GROUPS} groups")
    parsed, compiled = _compiled(text)
    if parsed.getwidth()[0] == 0:
        raise ValueError("it matches the empty text, so it matches everywhere")
    if compiled.flags & (re.ASCII | re.LOCALE):
        raise ValueError("the flags `a` and `L` cannot be used here")
    _Counting(any_case=bool(compiled.flags & re.IGNORECASE)).sequence(parsed, _END)
    return compiled


def _compiled(text: str) -> tuple[Any, re.Pattern[str]]:
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

    def is_apart_from(self, chars: Chars) -> bool:
        """Check whether the rest cannot begin with these characters; one character decides."""
        return self.firsts is not None and all(chars.is_disjoint(one) for one in self.firsts)


_END = _Rest(0, None, is_end=True)


class _Counting:
    """Adds up the work of the parts of a pattern, from its end."""

    def __init__(self, *, any_case: bool) -> None:
        self._any_case = any_case

    def sequence(self, parts: Iterable[tuple[Any, Any]], rest: _Rest) -> _Rest:
        return reduce(self._part, reversed(list(parts)), rest)

    def _part(self, rest: _Rest, part: tuple[Any, Any]) -> _Rest:
        op, value = part
        counted = self._counted(op, value, rest)
        if counted.steps > MAX_STEPS:
            raise UnboundedError(f"can take more than {MAX_STEPS:,} steps for one character")
        return counted

    def _counted(self, op: Any, value: Any, rest: _Rest) -> _Rest:
        chars = chars_of(op, value, any_case=self._any_case)
        if chars is not None:
            return _Rest(1 + rest.steps, (chars,))
        if op is codes.SUBPATTERN:
            return self._group(value, rest)
        if op is codes.BRANCH:
            return _either([self.sequence(one, rest) for one in value[1]])
        if op in _REPEATS:
            return self._repeat(value, rest)
        if op is codes.AT:
            return _Rest(1 + rest.steps, None)
        if op in _LOOKS:
            looked = self.sequence(value[1], _Rest(0, None))
            return _Rest(1 + looked.steps + rest.steps, None)
        raise UnboundedError("uses a group reference, an atomic group or a possessive repeat")

    def _group(self, value: tuple[Any, ...], rest: _Rest) -> _Rest:
        _, add, remove, inner = value
        if (add | remove) & (re.ASCII | re.LOCALE):
            raise ValueError("the flags `a` and `L` cannot be used here")
        any_case = bool(add & re.IGNORECASE) or (self._any_case and not remove & re.IGNORECASE)
        return _Counting(any_case=any_case).sequence(inner, rest)

    def _repeat(self, value: tuple[int, Any, Any], rest: _Rest) -> _Rest:
        least, most, inner = value
        single = chars_of(*inner[0], any_case=self._any_case) if len(inner) == 1 else None
        if most is codes.MAXREPEAT and not rest.is_end:
            raise UnboundedError("repeats a part without limit that is not its last part")
        if single is None:
            if most is codes.MAXREPEAT:
                raise UnboundedError("repeats a group without limit")
            return self._repeated_group(least, most, inner, rest)
        return _repeated_char(least, most, single, rest)

    def _repeated_group(self, least: int, most: int, inner: Any, rest: _Rest) -> _Rest:
        counted = rest
        for number in range(most, 0, -1):
            once = self.sequence(inner, counted)
            ways = [once] if number <= least else [once, rest]
            counted = _either(ways)
            if counted.steps > MAX_STEPS:
                break
        return counted


def _either(ways: list[_Rest]) -> _Rest:
    known = [way.firsts for way in ways if way.firsts is not None]
    firsts = tuple(chars for one in known for chars in one) if len(known) == len(ways) else None
    return _Rest(1 + sum(way.steps for way in ways), firsts)


def _repeated_char(least: int, most: Any, chars: Chars, rest: _Rest) -> _Rest:
    firsts: tuple[Chars, ...] | None = (chars,)
    if least == 0:
        firsts = None if rest.firsts is None else (chars, *rest.firsts)
    if rest.is_end:  # the repeat is the last part, so the matcher never goes back
        return _Rest(least + 1, firsts)
    ends = most - least + 1
    if rest.firsts is not None and rest.is_apart_from(chars):
        return _Rest(most + ends * len(rest.firsts) + rest.steps, firsts)
    return _Rest(most + ends * max(rest.steps, 1), firsts)
