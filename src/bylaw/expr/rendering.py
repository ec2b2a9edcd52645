"""A plain value → its text as Python prints it, built piece by piece up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bylaw.expr.faults import fail
from bylaw.expr.limits import MAX_TEXT_CHARS
from bylaw.expr.weight import SCALARS, charge_number, in_order, weigh
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.expr.limits import Budget

_BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}


def as_text(value: Any, budget: Budget, site: int) -> str:
    """`str(value)` with a limit, and with sets in order."""
    if value.__class__ in SCALARS:
        charge_number(value, budget)
        return str(value)
    rendering = Rendering(budget, site)
    rendering.add(value)
    return rendering.text


class Rendering:
    """A text that is built up to a limit; a subclass can print values in its own way."""

    def __init__(self, budget: Budget, site: int) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._budget = budget
        self._site = site

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def put(self, piece: str) -> None:
        """Append a text unchanged."""
        self.make_room(len(piece))
        self._length += len(piece)
        self._pieces.append(piece)

    def make_room(self, chars: int) -> None:
        """Fail if this many more characters would exceed the limit."""
        if self._length + chars > MAX_TEXT_CHARS:
            limit = f"the text is longer than {MAX_TEXT_CHARS:,} characters"
            fail(codes.GUARD_TOO_LARGE, self._site, limit)

    def add(self, value: Any) -> None:
        """Charge for a value of any size and depth, and append it."""
        weigh(value, self._budget, self._site)
        self.value(value)

    def value(self, value: Any) -> None:
        """Append a value that is already charged."""
        if value.__class__ in SCALARS:
            charge_number(value, self._budget)
            self.make_room(len(value) if value.__class__ is str else 0)
            self.put(self.scalar(value))
        elif value.__class__ is set and not value:
            self.put("set()")
        else:
            self.collection(value)

    def scalar(self, value: Any) -> str:
        """Return the text of a value without parts."""
        return repr(value)

    def collection(self, value: Any) -> None:
        """Append a value with parts."""
        opening, closing = self.brackets(value)
        self.put(opening)
        for place, item in enumerate(self.items(value)):
            if place:
                self.put(", ")
            self.value(item)
            if value.__class__ is dict:
                self.put(": ")
                self.value(value[item])
        self.put(closing)

    def brackets(self, value: Any) -> tuple[str, str]:
        """Return the brackets around the parts."""
        if value.__class__ is tuple and len(value) == 1:
            return "(", ",)"
        return _BRACKETS[value.__class__]

    def items(self, value: Any) -> Iterable[Any]:
        """Return the parts, in the order in which they are printed."""
        if value.__class__ is set:
            return in_order(value, self._budget, self._site)
        parts: Iterable[Any] = value
        return parts
