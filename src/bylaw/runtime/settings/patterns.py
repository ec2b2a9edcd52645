"""Regular expressions whose time grows only with the text, checked before they are used.

Python's matcher goes back and tries again, and a text can be written so that it never ends. So
the work that one place of a text can cause is counted beforehand:

* an open repeat (`*`, `+`, `{3,}`) may only be the last part, of a single character or class: what
  it runs over is then matched, and not looked at again;
* every other repeat has a bound, and multiplies the work of all that follows, unless what follows
  cannot begin with what is repeated;
* alternatives add up; references to groups do not belong to what can be counted.

The sum has a limit, so the whole takes at most that many steps for each character of the text.
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
MAX_STEPS = 2000  # for one place of a text

_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT}
_LOOKS = {codes.ASSERT, codes.ASSERT_NOT}


class UnboundedError(ValueError):
    """A pattern that a text can keep busy."""


def bounded(text: str) -> re.Pattern[str]:
    """The compiled pattern; ValueError, in particular UnboundedError, if it cannot be used."""
    if len(text) > MAX_CHARS:
        raise ValueError(f"it is longer than {MAX_CHARS} characters")
    if text.count("(") > MAX_GROUPS:
        raise ValueError(f"it has more than {MAX_GROUPS} groups")
    parsed, compiled = _compiled(text)
    if parsed.getwidth()[0] == 0:
        raise ValueError("it matches the empty text, so there is a match everywhere")
    if compiled.flags & (re.ASCII | re.LOCALE):
        raise ValueError("the flags `a` and `L` cannot be used here")
    _Counting(any_case=bool(compiled.flags & re.IGNORECASE)).sequence(parsed, _END)
    return compiled


def _compiled(text: str) -> tuple[Any, re.Pattern[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what Python warns of will mean something else one day
        try:
            return _parser.parse(text), re.compile(text)
        except (re.error, Warning, OverflowError, RecursionError) as wrong:
            raise ValueError(f"it is no regular expression: {wrong}") from None


class _Rest(Struct, frozen=True):
    """What follows: its work, the characters that it can begin with (None: not known)."""

    steps: int
    firsts: tuple[Chars, ...] | None
    is_end: bool = False

    def is_apart_from(self, chars: Chars) -> bool:
        """Whether it cannot begin with these characters, and one look tells."""
        return self.firsts is not None and all(chars.is_disjoint(one) for one in self.firsts)


_END = _Rest(0, None, is_end=True)


class _Counting:
    """Goes through the parts of a pattern from its end, and adds up."""

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
        raise UnboundedError("refers to a group, or settles one for good, which is not counted")

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
            raise UnboundedError("repeats without an end something that is not its last part")
        if single is None:
            if most is codes.MAXREPEAT:
                raise UnboundedError("repeats a group without an end")
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
    if rest.is_end:  # what comes up to here is enough, and the rest of it is matched
        return _Rest(least + 1, firsts)
    ends = most - least + 1
    if rest.firsts is not None and rest.is_apart_from(chars):
        return _Rest(most + ends * len(rest.firsts) + rest.steps, firsts)
    return _Rest(most + ends * max(rest.steps, 1), firsts)
