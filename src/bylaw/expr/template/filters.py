"""The filters and tests of templates, and their operations on plain values, all with limits.

Every step is charged to the budget of the rendering. Operations that conditions also have use their
operators; a `Fault` of these ends the rendering.
"""

from __future__ import annotations

import json
from functools import cache
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import StrictUndefined, Undefined
from jinja2 import filters as jinja_filters
from jinja2.tests import TESTS as JINJA_TESTS
from jinja2.utils import missing
from msgspec import Struct

from bylaw.expr import condition_operators
from bylaw.expr.builtins import BoundedText
from bylaw.expr.limits import (
    COMPARISONS_A_STEP,
    MAX_TEXT_CHARS,
    SLOW_PLACES,
    charge_growth,
    charge_value,
    describe,
)
from bylaw.model.codes import templates as codes
from bylaw.model.display import brief
from bylaw.model.errors import RenderError
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


class MissingValue(StrictUndefined):
    """A missing value: every use fails, even as a part of a list that is printed."""

    __slots__ = ()
    __repr__ = StrictUndefined.__str__

    @property
    def _undefined_message(self) -> str:
        # Computed late: a test for a missing value needs no suggestions.
        if self._undefined_obj is missing:
            return super()._undefined_message
        return _missing_text(self._undefined_obj, self._undefined_name)


def fail(code: Code, reason: str) -> NoReturn:
    """End the rendering with an error."""
    raise RenderError(code.name, reason)


def require_plain(value: object) -> None:
    """Fail on a missing value, and on anything that is not a plain value."""
    if isinstance(value, Undefined):
        str(value)  # fails with the name of the missing value
    if not isinstance(value, _PLAIN):
        fail(codes.RENDER_TYPE, "this is not a plain value")


class ValuePrinter(BoundedText):
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
    printed = ValuePrinter(budget)
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
    return MissingValue(obj=obj, name=key)  # type: ignore[arg-type]  # kept for `_undefined_message`


def item_or_null(obj: object, key: object) -> object:
    """As `item`, but return None for a missing value."""
    found = item(obj, key)
    return None if isinstance(found, MissingValue) else found


def _missing_text(obj: object, key: object) -> str:
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


def slice_value(
    budget: Budget, value: Any, start: int | None, stop: int | None, step: int | None
) -> object:
    """Return a slice of a list or text."""
    if not isinstance(value, ORDERED):
        fail(codes.RENDER_TYPE, "only lists and texts can be sliced")
    charge_growth(value, len(range(*slice(start, stop, step).indices(len(value)))), budget, NO_SITE)
    return value[start:stop:step]


def charge(budget: Budget, value: object) -> None:
    """Spend a step, and more for a large value."""
    budget.charge(1 + (len(value) if isinstance(value, SIZED) else 0) // CHARS_A_STEP)


def charge_needle(budget: Budget, value: object) -> None:
    """Charge for searching a text in another of any length."""
    if isinstance(value, str):
        budget.charge(len(value) * SLOW_PLACES // COMPARISONS_A_STEP)


def charge_compared(budget: Budget, value: object) -> None:
    """Charge for comparing a value and all its parts."""
    if isinstance(value, str):
        charge(budget, value)
    else:
        charge_value(value, budget, NO_SITE)


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


MAX_ROUND_DIGITS = 20
_TITLE_CHARS_A_STEP = 10  # characters; `title` makes a new text of each word
_TRUNCATE_LEEWAY = 5  # as in Jinja: a text that is only this much too long is not cut


class Filter(Struct, frozen=True):
    """The function of a filter; one that prints values receives the budget before the value."""

    function: Callable[..., Any]
    prints: bool = False
    takes_missing: bool = False

    def apply(self, budget: Budget, value: Any, *args: Any, **named: Any) -> Any:
        """Return the result for a value."""
        before = (budget,) if self.prints else ()
        return self.function(*before, value, *args, **named)

    @property
    def arguments(self) -> Signature:
        """The arguments that may be in its parentheses."""
        return _arguments(self.function, 2 if self.prints else 1)


def arguments_of_test(name: str) -> Signature:
    """Return the arguments that may be in the parentheses of a test."""
    return _arguments(TESTS[name], 1)


@cache
def _arguments(function: Callable[..., Any], given: int) -> Signature:
    parameters = list(signature(function).parameters.values())[given:]
    return Signature([each.replace(annotation=Parameter.empty) for each in parameters])


def join_values(
    budget: Budget, values: list[Any], between: str = "", attribute: str | None = None
) -> str:
    """Return the texts of values, joined with `between`."""
    if not isinstance(values, list | tuple):
        fail(codes.RENDER_TYPE, "`join` takes a list")
    if len(values) > MAX_LOOP_ITEMS:
        reason = f"the list to join has more than {MAX_LOOP_ITEMS:,} items"
        fail(codes.RENDER_TOO_LARGE, reason)
    printed = ValuePrinter(budget)
    for place, value in enumerate(values):
        printed.show(between if place else "")
        printed.show(value if attribute is None else item(value, attribute))
    return printed.text


def _default(value: Any, instead: Any = "", boolean: bool = False) -> Any:
    missing = isinstance(value, Undefined) or (boolean and not value)
    return instead if missing else value


def _end_item(value: Any, index: int) -> Any:
    if not isinstance(value, ORDERED):
        fail(codes.RENDER_TYPE, "`first` and `last` take a list or a text")
    return item(value, index)


def _replace(budget: Budget, value: Any, old: str, new: str, count: int = -1) -> str:
    text = text_of(budget, value)
    if not (isinstance(old, str) and isinstance(new, str) and isinstance(count, int)):
        fail(codes.RENDER_TYPE, "`replace` takes two texts and a whole number")
    _check_size(len(text) + text.count(old) * max(0, len(new) - len(old)))
    # There are never more matches than that, and Python limits the number.
    return text.replace(old, new, max(-1, min(count, MAX_TEXT_CHARS + 1)))


def _trim(budget: Budget, value: Any, chars: str | None = None) -> str:
    text = text_of(budget, value)
    if chars is not None and not isinstance(chars, str):
        fail(codes.RENDER_TYPE, "`trim` takes a text of characters")
    # Each character of the text may be compared with all of these.
    budget.charge(len(text) * len(chars or "") // COMPARISONS_A_STEP)
    return text.strip(chars)


def _title(budget: Budget, value: Any) -> str:
    text = _text(budget, value)
    budget.charge(len(text) // _TITLE_CHARS_A_STEP)
    return jinja_filters.do_title(text)


def _check_size(size: int) -> None:
    if size > MAX_TEXT_CHARS:
        reason = f"the result would have more than {MAX_TEXT_CHARS:,} characters"
        fail(codes.RENDER_TOO_LARGE, reason)


def _round(value: float, digits: int = 0, method: str = "common") -> float:
    if not isinstance(value, int | float) or not isinstance(digits, int):
        fail(codes.RENDER_TYPE, "`round` takes a number")
    if abs(digits) > MAX_ROUND_DIGITS:
        reason = f"the rounded number would have more than {MAX_ROUND_DIGITS:,} digits"
        fail(codes.RENDER_TOO_LARGE, reason)
    return jinja_filters.do_round(value, digits, method)  # type: ignore[arg-type] # checked there


def _length(value: Any) -> int:
    if not isinstance(value, SIZED):
        fail(codes.RENDER_TYPE, "`length` takes a text, a list or a mapping")
    return len(value)


def _text(budget: Budget, value: Any) -> str:
    text = text_of(budget, value)
    _check_size(len(text))
    return text


class _Json(ValuePrinter):
    def scalar(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    def brackets(self, value: Any) -> tuple[str, str]:
        return ("{", "}") if isinstance(value, dict) else ("[", "]")

    def items(self, value: Any) -> Iterable[Any]:
        return sorted(value) if isinstance(value, dict) else super().items(value)


def _json(budget: Budget, value: Any) -> str:
    written = _Json(budget)
    written.add(value)
    return written.text


def _truncate(text: Any, length: int = 255, killwords: bool = False, end: str = "...") -> str:
    if not isinstance(text, str):
        fail(codes.RENDER_TYPE, "`truncate` takes a text; write `| string` before it")
    if length < len(end):
        fail(codes.RENDER_TYPE, "the length of `truncate` is shorter than its ending")
    if len(text) <= length + _TRUNCATE_LEEWAY:
        return text
    head = text[: length - len(end)]
    return (head if killwords else head.rsplit(" ", 1)[0]) + end


def _printing_filter(function: Callable[..., Any]) -> Filter:
    return Filter(function, prints=True)


_DEFAULT = Filter(_default, takes_missing=True)
FILTERS: dict[str, Filter] = {
    "abs": Filter(abs),
    "count": Filter(_length),
    "d": _DEFAULT,
    "default": _DEFAULT,
    "first": Filter(lambda value: _end_item(value, 0)),
    "float": Filter(jinja_filters.do_float),
    "int": Filter(lambda value, default=0: jinja_filters.do_int(value, default)),
    "join": _printing_filter(join_values),
    "last": Filter(lambda value: _end_item(value, -1)),
    "length": Filter(_length),
    "lower": _printing_filter(lambda budget, value: text_of(budget, value).lower()),
    "replace": _printing_filter(_replace),
    "round": Filter(_round),
    "string": _printing_filter(_text),
    "title": _printing_filter(_title),
    "tojson": _printing_filter(_json),
    "trim": _printing_filter(_trim),
    "truncate": Filter(_truncate),
    "upper": _printing_filter(lambda budget, value: text_of(budget, value).upper()),
}


def _is_divisible(value: Any, by: int) -> bool:
    # `%` on a text would format it, to any length.
    if not isinstance(value, int | float) or not isinstance(by, int | float):
        fail(codes.RENDER_TYPE, "only numbers are even, odd or divisible")
    return value % by == 0


_NAMES_OF_JINJA = (
    *("defined", "undefined", "none", "boolean", "true", "false", "number", "string"),
    *("mapping", "sequence", "eq", "equalto", "ne", "lt", "lessthan", "le"),
    *("gt", "greaterthan", "ge"),
)
_TESTS_OF_JINJA: dict[str, Any] = dict(JINJA_TESTS)
TESTS: dict[str, Callable[..., Any]] = {
    **{name: _TESTS_OF_JINJA[name] for name in _NAMES_OF_JINJA},
    "even": lambda value: _is_divisible(value, 2),
    "odd": lambda value: not _is_divisible(value, 2),
    "divisibleby": _is_divisible,
}
