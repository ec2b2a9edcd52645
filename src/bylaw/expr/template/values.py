"""What templates can do with plain values: look into them, calculate, filter, test.

Every growth is bounded, every step is charged to the budget of the rendering.
"""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import StrictUndefined, Undefined, filters
from jinja2.tests import TESTS as JINJA_TESTS

from bylaw.expr.limits import COMPARISONS_A_STEP, MAX_INT_BITS, MAX_TEXT_CHARS, SLOW_PLACES
from bylaw.model.codes import templates as codes
from bylaw.model.errors import RenderError
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import clipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.expr.limits import Budget
    from bylaw.model.codes import Code

MAX_LOOP_ITEMS = 1_000
MAX_ROUND_DIGITS = 20
CHARS_A_STEP = 200
_TRUNCATE_LEEWAY = 5  # as in Jinja: a text is not cut to save this little
_MAX_SHOWN = 60
_MAX_NAMES_SHOWN = 20

_SCALARS = (str, int, float, bool, type(None))
_SIZED = (str, list, tuple, dict)
_PLAIN = (*_SCALARS, *_SIZED)
_ORDERED = (str, list, tuple)


class Missing(StrictUndefined):
    """A value that is not there: every use fails, also as a part of a list that is printed."""

    __slots__ = ()
    __repr__ = StrictUndefined.__str__


def fail(code: Code, reason: str) -> NoReturn:
    """End the rendering."""
    raise RenderError(code.name, reason)


def _too_large(what: str, limit: int, unit: str) -> NoReturn:
    fail(codes.RENDER_TOO_LARGE, f"{what} would have more than {limit:,} {unit}")


def _bounded(size: int) -> None:
    if size > MAX_TEXT_CHARS:
        _too_large("the result", MAX_TEXT_CHARS, "characters or items")


def _size(value: object) -> int:
    return len(value) if isinstance(value, _SIZED) else 0


def require_plain(value: object) -> None:
    """Fail on what is missing and on whatever is no plain value."""
    if isinstance(value, Undefined):
        str(value)  # fails, and says what is missing
    if not isinstance(value, _PLAIN):
        fail(codes.RENDER_TYPE, "this is no plain value")


def text_of(value: object) -> str:
    """A plain value as text; anything else fails."""
    require_plain(value)
    return str(value)


def item(obj: object, key: object) -> object:
    """A key of a mapping, a place in a list or text; never an attribute."""
    require_plain(obj)
    require_plain(key)
    if isinstance(obj, dict) and isinstance(key, _SCALARS) and key in obj:
        return obj[key]
    if isinstance(obj, _ORDERED) and isinstance(key, int) and -len(obj) <= key < len(obj):
        return obj[key]
    return Missing(_why_missing(obj, key))


def sliced(value: Any, start: int | None, stop: int | None, step: int | None) -> object:
    """A piece of a list or text."""
    if not isinstance(value, _ORDERED):
        fail(codes.RENDER_TYPE, "only lists and texts have pieces")
    return value[start:stop:step]


def _why_missing(obj: object, key: object) -> str:
    shown = clipped(" ".join(str(key).split()), _MAX_SHOWN)
    if isinstance(obj, dict):
        names = [clipped(key, _MAX_SHOWN) for key in obj if isinstance(key, str)][:_MAX_NAMES_SHOWN]
        return f"`{shown}` is not there; {did_you_mean(shown, names) or 'nothing is'}"
    kind = (
        "a text" if isinstance(obj, str) else "a list" if isinstance(obj, _SIZED) else "no mapping"
    )
    return f"`{shown}` is not there: the value before it is {kind}"


def charge(budget: Budget, *values: object) -> None:
    """Spend a step, and more for large values."""
    budget.charge(1 + sum(map(_size, values)) // CHARS_A_STEP)


def charge_sought(budget: Budget, value: object) -> None:
    """Spend what it may take to look for a text in another of any length."""
    if isinstance(value, str):
        budget.charge(len(value) * SLOW_PLACES // COMPARISONS_A_STEP)


# --- operators ----------------------------------------------------------------------------------

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "**": operator.pow,
    "%": operator.mod,
}


def operate(budget: Budget, sign: str, left: Any, right: Any) -> Any:
    """One binary operation on plain values."""
    charge(budget, left, right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _calculate(sign, left, right)
    if sign == "+" and type(left) is type(right) and isinstance(left, _ORDERED):
        _bounded(len(left) + len(right))
        return left + right
    if sign == "*" and isinstance(left, _ORDERED) and isinstance(right, int):
        _bounded(len(left) * right)
        return left * right
    require_plain(left)
    require_plain(right)
    fail(codes.RENDER_TYPE, f"`{sign}` does not go with these values")


def _calculate(sign: str, left: float, right: float) -> float:
    is_whole = isinstance(left, int) and isinstance(right, int)
    if sign == "**" and is_whole and int(left).bit_length() * right > MAX_INT_BITS:
        _too_large("the number", MAX_INT_BITS, "bits")
    result = _ARITHMETIC[sign](left, right)
    if isinstance(result, complex):
        fail(codes.RENDER_ARITHMETIC, "a negative number has no such power")
    if isinstance(result, int) and result.bit_length() > MAX_INT_BITS:
        _too_large("the number", MAX_INT_BITS, "bits")
    return float(result) if isinstance(result, float) else int(result)


# --- filters ------------------------------------------------------------------------------------


def loop_items(budget: Budget, value: object, cost: int) -> list[object] | tuple[object, ...]:
    """The elements that a loop runs over; `cost` is that of one round."""
    if not isinstance(value, list | tuple):
        require_plain(value)
        fail(codes.RENDER_TYPE, "a loop runs over a list, and this is none")
    if len(value) > MAX_LOOP_ITEMS:
        _too_large("the loop", MAX_LOOP_ITEMS, "rounds; take a slice such as `[-20:]`")
    budget.charge(len(value) * cost)
    return value


def joined(values: list[Any], between: str = "", attribute: str | None = None) -> str:
    """The texts of values, one after the other."""
    if not isinstance(values, list | tuple):
        fail(codes.RENDER_TYPE, "`join` takes a list")
    if len(values) > MAX_LOOP_ITEMS:
        _too_large("the list to join", MAX_LOOP_ITEMS, "items")
    if attribute is not None:
        values = [item(value, attribute) for value in values]
    texts = [text_of(value) for value in values]
    _bounded(sum(map(len, texts)) + len(texts) * len(between))
    return between.join(texts)


def default(value: Any, instead: Any = "", boolean: bool = False) -> Any:
    """The value, or something instead of one that is missing."""
    missing = isinstance(value, Undefined) or (boolean and not value)
    return instead if missing else value


def _end(value: Any, index: int) -> Any:
    if not isinstance(value, _ORDERED):
        fail(codes.RENDER_TYPE, "`first` and `last` take a list or a text")
    return item(value, index)


def _replaced(value: Any, old: str, new: str, count: int = -1) -> str:
    text = text_of(value)
    _bounded(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new, count)


def _rounded(value: float, digits: int = 0, method: str = "common") -> float:
    if not isinstance(value, int | float) or not isinstance(digits, int):
        fail(codes.RENDER_TYPE, "`round` takes a number")
    if abs(digits) > MAX_ROUND_DIGITS:
        _too_large("the rounded number", MAX_ROUND_DIGITS, "digits")
    return filters.do_round(value, digits, method)  # type: ignore[arg-type] # checked there


def _length(value: Any) -> int:
    if not isinstance(value, _SIZED):
        fail(codes.RENDER_TYPE, "`length` takes a text, a list or a mapping")
    return len(value)


def _text(value: Any) -> str:
    text = text_of(value)
    _bounded(len(text))
    return text


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    _bounded(len(text))
    return text


def _truncated(text: Any, length: int = 255, killwords: bool = False, end: str = "...") -> str:
    if not isinstance(text, str):
        fail(codes.RENDER_TYPE, "`truncate` takes a text; write `| string` before it")
    if length < len(end):
        fail(codes.RENDER_TYPE, "`truncate` needs room for what it puts at the end")
    if len(text) <= length + _TRUNCATE_LEEWAY:
        return text
    head = text[: length - len(end)]
    return (head if killwords else head.rsplit(" ", 1)[0]) + end


FILTERS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "count": _length,
    "d": default,
    "default": default,
    "first": lambda value: _end(value, 0),
    "float": filters.do_float,
    "int": lambda value, default=0: filters.do_int(value, default),
    "join": joined,
    "last": lambda value: _end(value, -1),
    "length": _length,
    "lower": lambda value: text_of(value).lower(),
    "replace": _replaced,
    "round": _rounded,
    "string": _text,
    "title": lambda value: filters.do_title(text_of(value)),
    "tojson": _json,
    "trim": lambda value, chars=None: text_of(value).strip(chars),
    "truncate": _truncated,
    "upper": lambda value: text_of(value).upper(),
}


# --- tests --------------------------------------------------------------------------------------


def _divisible(value: Any, by: int) -> bool:
    # On a text `%` would format it, to any length.
    if not isinstance(value, int | float) or not isinstance(by, int | float):
        fail(codes.RENDER_TYPE, "only numbers are even, odd or divisible")
    return value % by == 0


_JINJA_NAMES = (
    *("defined", "undefined", "none", "boolean", "true", "false", "number", "string"),
    *(
        "mapping",
        "sequence",
        "eq",
        "equalto",
        "ne",
        "lt",
        "lessthan",
        "le",
        "gt",
        "greaterthan",
        "ge",
    ),
)
_TESTS_OF_JINJA: dict[str, Any] = dict(JINJA_TESTS)
TESTS: dict[str, Callable[..., Any]] = {
    **{name: _TESTS_OF_JINJA[name] for name in _JINJA_NAMES},
    "even": lambda value: _divisible(value, 2),
    "odd": lambda value: not _divisible(value, 2),
    "divisibleby": _divisible,
}
