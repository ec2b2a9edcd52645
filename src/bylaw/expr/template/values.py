"""What templates can do with plain values: look into them, calculate, print.

Every growth is bounded, every step is charged to the budget of the rendering. What conditions do
the same way is done by their operators; a `Fault` of theirs ends the rendering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import StrictUndefined, Undefined
from jinja2.utils import missing

from bylaw.expr import condition_operators
from bylaw.expr.faults import describe
from bylaw.expr.limits import COMPARISONS_A_STEP, SLOW_PLACES
from bylaw.expr.rendering import Rendering
from bylaw.expr.weight import grown, weigh
from bylaw.model.codes import templates as codes
from bylaw.model.errors import RenderError
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.expr.limits import Budget
    from bylaw.model.codes import Code

MAX_LOOP_ITEMS = 1_000
CHARS_A_STEP = 200
NO_SITE = 0  # the traceback of a rendering tells the place
_MAX_NAMES_SHOWN = 20

_SCALARS = (str, int, float, bool, type(None))
SIZED = (str, list, tuple, dict)
ORDERED = (str, list, tuple)
_PLAIN = (*_SCALARS, *SIZED)


class Missing(StrictUndefined):
    """A value that is not there: every use fails, also as a part of a list that is printed."""

    __slots__ = ()
    __repr__ = StrictUndefined.__str__

    @property
    def _undefined_message(self) -> str:
        # Only now: whoever just asks whether something is there needs no suggestions.
        if self._undefined_obj is missing:
            return super()._undefined_message
        return _why_missing(self._undefined_obj, self._undefined_name)


def fail(code: Code, reason: str) -> NoReturn:
    """End the rendering."""
    raise RenderError(code.name, reason)


def require_plain(value: object) -> None:
    """Fail on what is missing and on whatever is no plain value."""
    if isinstance(value, Undefined):
        str(value)  # fails, and says what is missing
    if not isinstance(value, _PLAIN):
        fail(codes.RENDER_TYPE, "this is no plain value")


class Printed(Rendering):
    """Values as templates print them: as Python does, but what is missing fails."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget, NO_SITE)

    def value(self, value: Any) -> None:
        """A value that was weighed."""
        require_plain(value)
        super().value(value)

    def show(self, value: Any) -> None:
        """A text as it is, anything else as it is printed."""
        if isinstance(value, str):
            self.put(value)
        else:
            self.add(value)


def text_of(budget: Budget, value: object) -> str:
    """A plain value as text; anything else fails."""
    if isinstance(value, str):
        return value
    printed = Printed(budget)
    printed.add(value)
    return printed.text


def item(obj: object, key: object) -> object:
    """A key of a mapping, a place in a list or text; never an attribute."""
    require_plain(obj)
    require_plain(key)
    if isinstance(obj, dict) and isinstance(key, _SCALARS) and key in obj:
        return obj[key]
    if isinstance(obj, ORDERED) and isinstance(key, int) and -len(obj) <= key < len(obj):
        return obj[key]
    return Missing(obj=obj, name=key)  # type: ignore[arg-type]  # kept for `_undefined_message`


def item_or_null(obj: object, key: object) -> object:
    """As `item`, but what is missing is null."""
    found = item(obj, key)
    return None if isinstance(found, Missing) else found


def _why_missing(obj: object, key: object) -> str:
    shown = brief(str(key)) if isinstance(key, _SCALARS) else describe(key)
    if isinstance(obj, dict):
        names = [brief(key) for key in obj if isinstance(key, str)][:_MAX_NAMES_SHOWN]
        return f"`{shown}` is not there; {did_you_mean(shown, names) or 'nothing is'}"
    kind = (
        "a text" if isinstance(obj, str) else "a list" if isinstance(obj, SIZED) else "no mapping"
    )
    return f"`{shown}` is not there: the value before it is {kind}"


def sliced(
    budget: Budget, value: Any, start: int | None, stop: int | None, step: int | None
) -> object:
    """A piece of a list or text."""
    if not isinstance(value, ORDERED):
        fail(codes.RENDER_TYPE, "only lists and texts have pieces")
    grown(value, len(range(*slice(start, stop, step).indices(len(value)))), budget, NO_SITE)
    return value[start:stop:step]


def charge(budget: Budget, value: object) -> None:
    """Spend a step, and more for a large value."""
    budget.charge(1 + (len(value) if isinstance(value, SIZED) else 0) // CHARS_A_STEP)


def charge_sought(budget: Budget, value: object) -> None:
    """Spend what it may take to look for a text in another of any length."""
    if isinstance(value, str):
        budget.charge(len(value) * SLOW_PLACES // COMPARISONS_A_STEP)


def charge_compared(budget: Budget, value: object) -> None:
    """Spend what it takes to compare a value with all that is in it."""
    if isinstance(value, str):
        charge(budget, value)
    else:
        weigh(value, budget, NO_SITE)


_OPERATIONS: dict[str, Callable[[Any, Any, Budget, int], Any]] = {
    "+": condition_operators.add,
    "-": condition_operators.subtract,
    "*": condition_operators.multiply,
    "/": condition_operators.divide,
    "//": condition_operators.floor_divide,
    "**": condition_operators.power,
    "%": condition_operators.remainder,
}


def operate(budget: Budget, sign: str, left: Any, right: Any) -> Any:
    """One binary operation on plain values."""
    budget.charge(1)
    require_plain(left)
    require_plain(right)
    return _OPERATIONS[sign](left, right, budget, NO_SITE)


def loop_items(budget: Budget, value: object, cost: int) -> list[object] | tuple[object, ...]:
    """The elements that a loop runs over; `cost` is that of one round."""
    if not isinstance(value, list | tuple):
        require_plain(value)
        fail(codes.RENDER_TYPE, "a loop runs over a list, and this is none")
    if len(value) > MAX_LOOP_ITEMS:
        reason = f"the loop would have more than {MAX_LOOP_ITEMS:,} rounds"
        fail(codes.RENDER_TOO_LARGE, f"{reason}; take a slice such as `[-20:]`")
    budget.charge(len(value) * cost)
    return value
