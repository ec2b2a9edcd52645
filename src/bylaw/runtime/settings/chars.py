"""The set of characters that one character of a regular expression can match."""

from __future__ import annotations

from re import _constants as codes  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Larger sets are not compared character by character.
FEW = 300

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
        sides = [(self.few(), other), (other.few(), self)]
        known = [(few, side) for few, side in sides if few is not None]
        return bool(known) and not any(side.has(char) for few, side in known for char in few)

    def few(self) -> list[str] | None:
        """Return all characters of a small set; None for other sets."""
        if self.negated or any(op is codes.CATEGORY for op, _ in self.items):
            return None
        ranges = [_range(op, value) for op, value in self.items]
        if sum(len(one) for one in ranges) > FEW:
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
