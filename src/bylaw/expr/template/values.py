"""The operations of templates on plain values: read parts, calculate, print.

All growth has limits, and every step is charged to the budget of the rendering. Operations that
conditions also have use their operators; a `Fault` of these ends the rendering.
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
NO_SITE = 0  # the place is in the traceback of a rendering
_MAX_NAMES_SHOWN = 20

_SCALARS = (str, int, float, bool, type(None))
SIZED = (str, list, tuple, dict)
ORDERED = (str, list, tuple)
_PLAIN = (*_SCALARS, *SIZED)


class Missing(StrictUndefined):
    """A missing value: every use fails, even as a part of a list that is printed."""

    __slots__ = ()
    __repr__ = StrictUndefined.__str__

    @property
    def _undefined_message(self) -> str:
        # Computed late: a test for a missing value needs no suggestions.
        if self._undefined_obj is missing:
            return super()._undefined_message
        return _why_missing(self._undefined_obj, self._undefined_name)


def fail(code: Code, reason: str) -> NoReturn:
    """End the rendering with an error."""
    raise RenderError(code.name, reason)


def require_plain(value: object) -> None:
    """Fail on a missing value, and on anything that is not a plain value."""
    if isinstance(value, Undefined):
        str(value)  # fails with the name of the missing value
    if not isinstance(value, _PLAIN):
        fail(codes.RENDER_TYPE, "this is not a plain value")


class Printed(Rendering):
    """Prints values as Python does, but fails on a missing value."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget, NO_SITE)

    def value(self, value: Any) -> None:
        """Append a value that is already charged."""
        require_plain(value)
        super().value(value)

    def show(self, value: Any) -> None:
        """Append a text unchanged, and anything else as it is printed."""
        if isinstance(value, str):
            self.put(value)
        else:
            self.add(value)


def text_of(budget: Budget, value: object) -> str:
    """Return a plain value as text; fail on anything else."""
    if isinstance(value, str):
        return value
    printed = Printed(budget)
    printed.add(value)
    return printed.text


def item(obj: object, key: object) -> object:
    """Return a key of a mapping or an element of a list or text; never an attribute."""
    require_plain(obj)
    require_plain(key)
    if isinstance(obj, dict) and isinstance(key, _SCALARS) and key in obj:
        return obj[key]
    if isinstance(obj, ORDERED) and isinstance(key, int) and -len(obj) <= key < len(obj):
        return obj[key]
    return Missing(obj=obj, name=key)  # type: ignore[arg-type]  # kept for `_undefined_message`


def item_or_null(obj: object, key: object) -> object:
    """As `item`, but return None for a missing value."""
    found = item(obj, key)
    return None if isinstance(found, Missing) else found


def _why_missing(obj: object, key: object) -> str:
    shown = brief(str(key)) if isinstance(key, _SCALARS) else describe(key)
    if isinstance(obj, dict):
        names = [brief(key) for key in obj if isinstance(key, str)][:_MAX_NAMES_SHOWN]
        return f"`{shown}` not found; {did_you_mean(shown, names) or 'the mapping is empty'}"
    kind = (
        "a text"
        if isinstance(obj, str)
        else "a list"
        if isinstance(obj, SIZED)
        else "not a mapping"
    )
    return f"`{shown}` not found: the value before it is {kind}"


def sliced(
    budget: Budget, value: Any, start: int | None, stop: int | None, step: int | None
) -> object:
    """Return a slice of a list or text."""
    if not isinstance(value, ORDERED):
        fail(codes.RENDER_TYPE, "only lists and texts can be sliced")
    grown(value, len(range(*slice(start, stop, step).indices(len(value)))), budget, NO_SITE)
    return value[start:stop:step]


def charge(budget: Budget, value: object) -> None:
    """Spend a step, and more for a large value."""
    budget.charge(1 + (len(value) if isinstance(value, SIZED) else 0) // CHARS_A_STEP)


def charge_sought(budget: Budget, value: object) -> None:
    """Charge for searching a text in another of any length."""
    if isinstance(value, str):
        budget.charge(len(value) * SLOW_PLACES // COMPARISONS_A_STEP)


def charge_compared(budget: Budget, value: object) -> None:
    """Charge for comparing a value and all its parts."""
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
    """Run one binary operation on plain values."""
    budget.charge(1)
    require_plain(left)
    require_plain(right)
    return _OPERATIONS[sign](left, right, budget, NO_SITE)


def loop_items(budget: Budget, value: object, cost: int) -> list[object] | tuple[object, ...]:
    """Return the elements that a loop runs over; charge `cost` for each round."""
    if not isinstance(value, list | tuple):
        require_plain(value)
        fail(codes.RENDER_TYPE, "a loop must run over a list")
    if len(value) > MAX_LOOP_ITEMS:
        reason = f"the loop would have more than {MAX_LOOP_ITEMS:,} rounds"
        fail(codes.RENDER_TOO_LARGE, f"{reason}; use a slice such as `[-20:]`")
    budget.charge(len(value) * cost)
    return value
