"""The filters and tests of templates: fixed lists of functions with limits."""

from __future__ import annotations

import json
from functools import cache
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any

from jinja2 import Undefined
from jinja2 import filters as jinja_filters
from jinja2.tests import TESTS as JINJA_TESTS
from msgspec import Struct

from bylaw.expr.limits import COMPARISONS_A_STEP, MAX_TEXT_CHARS
from bylaw.expr.template.values import (
    MAX_LOOP_ITEMS,
    ORDERED,
    SIZED,
    Printed,
    fail,
    item,
    text_of,
)
from bylaw.model.codes import templates as codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.expr.limits import Budget

MAX_ROUND_DIGITS = 20
_TITLED_A_STEP = 10  # characters; `title` makes a new text of each word
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


def joined(
    budget: Budget, values: list[Any], between: str = "", attribute: str | None = None
) -> str:
    """Return the texts of values, joined with `between`."""
    if not isinstance(values, list | tuple):
        fail(codes.RENDER_TYPE, "`join` takes a list")
    if len(values) > MAX_LOOP_ITEMS:
        reason = f"the list to join has more than {MAX_LOOP_ITEMS:,} items"
        fail(codes.RENDER_TOO_LARGE, reason)
    printed = Printed(budget)
    for place, value in enumerate(values):
        printed.show(between if place else "")
        printed.show(value if attribute is None else item(value, attribute))
    return printed.text


def _default(value: Any, instead: Any = "", boolean: bool = False) -> Any:
    missing = isinstance(value, Undefined) or (boolean and not value)
    return instead if missing else value


def _end(value: Any, index: int) -> Any:
    if not isinstance(value, ORDERED):
        fail(codes.RENDER_TYPE, "`first` and `last` take a list or a text")
    return item(value, index)


def _replaced(budget: Budget, value: Any, old: str, new: str, count: int = -1) -> str:
    text = text_of(budget, value)
    if not (isinstance(old, str) and isinstance(new, str) and isinstance(count, int)):
        fail(codes.RENDER_TYPE, "`replace` takes two texts and a whole number")
    _bounded(len(text) + text.count(old) * max(0, len(new) - len(old)))
    # There are never more matches than that, and Python limits the number.
    return text.replace(old, new, max(-1, min(count, MAX_TEXT_CHARS + 1)))


def _trimmed(budget: Budget, value: Any, chars: str | None = None) -> str:
    text = text_of(budget, value)
    if chars is not None and not isinstance(chars, str):
        fail(codes.RENDER_TYPE, "`trim` takes a text of characters")
    # Each character of the text may be compared with all of these.
    budget.charge(len(text) * len(chars or "") // COMPARISONS_A_STEP)
    return text.strip(chars)


def _titled(budget: Budget, value: Any) -> str:
    text = _text(budget, value)
    budget.charge(len(text) // _TITLED_A_STEP)
    return jinja_filters.do_title(text)


def _bounded(size: int) -> None:
    if size > MAX_TEXT_CHARS:
        reason = f"the result would have more than {MAX_TEXT_CHARS:,} characters"
        fail(codes.RENDER_TOO_LARGE, reason)


def _rounded(value: float, digits: int = 0, method: str = "common") -> float:
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
    _bounded(len(text))
    return text


class _Json(Printed):
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


def _truncated(text: Any, length: int = 255, killwords: bool = False, end: str = "...") -> str:
    if not isinstance(text, str):
        fail(codes.RENDER_TYPE, "`truncate` takes a text; write `| string` before it")
    if length < len(end):
        fail(codes.RENDER_TYPE, "the length of `truncate` is shorter than its ending")
    if len(text) <= length + _TRUNCATE_LEEWAY:
        return text
    head = text[: length - len(end)]
    return (head if killwords else head.rsplit(" ", 1)[0]) + end


def _prints(function: Callable[..., Any]) -> Filter:
    return Filter(function, prints=True)


_DEFAULT = Filter(_default, takes_missing=True)
FILTERS: dict[str, Filter] = {
    "abs": Filter(abs),
    "count": Filter(_length),
    "d": _DEFAULT,
    "default": _DEFAULT,
    "first": Filter(lambda value: _end(value, 0)),
    "float": Filter(jinja_filters.do_float),
    "int": Filter(lambda value, default=0: jinja_filters.do_int(value, default)),
    "join": _prints(joined),
    "last": Filter(lambda value: _end(value, -1)),
    "length": Filter(_length),
    "lower": _prints(lambda budget, value: text_of(budget, value).lower()),
    "replace": _prints(_replaced),
    "round": Filter(_rounded),
    "string": _prints(_text),
    "title": _prints(_titled),
    "tojson": _prints(_json),
    "trim": _prints(_trimmed),
    "truncate": Filter(_truncated),
    "upper": _prints(lambda budget, value: text_of(budget, value).upper()),
}


def _divisible(value: Any, by: int) -> bool:
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
    "even": lambda value: _divisible(value, 2),
    "odd": lambda value: not _divisible(value, 2),
    "divisibleby": _divisible,
}
