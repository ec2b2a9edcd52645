"""The operators of conditions on values whose kind is not known at load: Python's, but bounded.

Values are plain: null, booleans, numbers, texts, lists, tuples, sets, maps. What Python would do
to them is done, unless it formats, mutates, or costs more than the budget of the evaluation.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from bylaw.expr.arithmetic import arithmetic
from bylaw.expr.faults import fail
from bylaw.expr.limits import (
    COMPARISONS_A_STEP,
    MAX_INT_BITS,
    MAX_ITEMS,
    MAX_TEXT_CHARS,
    MAX_VALUE_DEPTH,
    SLOW_PLACES,
)
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.expr.limits import Budget

SCALARS: frozenset[object] = frozenset({type(None), bool, int, float, str})
_NUMERIC: frozenset[object] = frozenset({bool, int, float})
_SEQUENCES: frozenset[object] = frozenset({list, tuple})
_COLLECTIONS: frozenset[object] = frozenset({list, tuple, set, dict})
_ITERABLE: frozenset[object] = _COLLECTIONS | {str}
_BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}
# Comparing or searching a text costs about one step for so many characters.
_CHARS_A_STEP = 64


def weigh(value: Any, budget: Budget, site: int, depth: int = 0) -> None:
    """Charge for every part of a value: shared parts count as often as they occur.

    A small expression can build a value that is small in memory and exponentially large to
    compare, hash or print, by putting one list into another twice, again and again.
    """
    if value.__class__ is str:
        budget.charge(1 + len(value) // _CHARS_A_STEP)
        return
    budget.charge(1)
    if value.__class__ not in _COLLECTIONS:
        return
    if depth > MAX_VALUE_DEPTH:
        fail(codes.GUARD_TOO_LARGE, site, f"the value is nested more than {MAX_VALUE_DEPTH:,} deep")
    for item in value:
        weigh(item, budget, site, depth + 1)
    if value.__class__ is dict:
        for item in value.values():
            weigh(item, budget, site, depth + 1)


def weigh_both(left: Any, right: Any, budget: Budget, site: int) -> None:
    """Weigh what an operation looks into."""
    if left.__class__ not in SCALARS:
        weigh(left, budget, site)
    if right.__class__ not in SCALARS:
        weigh(right, budget, site)


def equal(left: Any, right: Any, budget: Budget, site: int) -> bool:
    """`==`."""
    weigh_both(left, right, budget, site)
    return bool(left == right)


def _compare(op: Callable[[Any, Any], Any], sign: str) -> Callable[[Any, Any, Budget, int], bool]:
    def compare(left: Any, right: Any, budget: Budget, site: int) -> bool:
        weigh_both(left, right, budget, site)
        if left.__class__ is dict or right.__class__ is dict:
            fail(codes.GUARD_TYPE, site, f"`{sign}` is not defined for maps", left, right)
        try:
            return bool(op(left, right))
        except TypeError:
            fail(codes.GUARD_TYPE, site, f"`{sign}` needs values of one kind", left, right)

    compare.__doc__ = f"`{sign}`."
    return compare


less = _compare(operator.lt, "<")
less_equal = _compare(operator.le, "<=")
greater = _compare(operator.gt, ">")
greater_equal = _compare(operator.ge, ">=")


def contains(value: Any, container: Any, budget: Budget, site: int) -> bool:
    """`in`: a part of a text, an element, a key."""
    if container.__class__ is str:
        if value.__class__ is not str:
            fail(codes.GUARD_TYPE, site, "only a text can be in a text", value, container)
        charge_search(container, value, budget)
        return value in container
    if container.__class__ in _SEQUENCES:
        weigh_both(value, container, budget, site)
        return value in container
    if container.__class__ not in _COLLECTIONS:
        fail(
            codes.GUARD_TYPE, site, "`in` needs a text, list or map on its right", value, container
        )
    return key(value, budget, site) in container


def charge_search(text: str, part: str, budget: Budget) -> None:
    """Charge for looking through a text for another."""
    places = min(max(len(text) - len(part), 0), SLOW_PLACES)
    budget.charge(1 + len(text) // _CHARS_A_STEP + len(part) * places // COMPARISONS_A_STEP)


def key(value: Any, budget: Budget, site: int) -> Any:
    """The value, if it can be a key of a map or an element of a set."""
    if value.__class__ in SCALARS:
        return value
    if value.__class__ is tuple:
        weigh(value, budget, site)
        for item in value:
            key(item, budget, site)
        return value
    fail(codes.GUARD_TYPE, site, "a key is a text, a number, a boolean or null", value)


def add(left: Any, right: Any, budget: Budget, site: int) -> Any:
    """`+` of numbers, texts, lists or tuples."""
    if left.__class__ in _NUMERIC and right.__class__ in _NUMERIC:
        return arithmetic(operator.add, site, left, right)
    if left.__class__ is not right.__class__ or left.__class__ not in (str, list, tuple):
        fail(codes.GUARD_TYPE, site, "`+` needs two numbers, texts or lists", left, right)
    grown(left, len(left) + len(right), budget, site)
    return left + right


def grown(like: Any, length: int, budget: Budget, site: int) -> None:
    """Charge for a text or list of this length before it is made, or refuse it."""
    is_text = like.__class__ is str
    limit = MAX_TEXT_CHARS if is_text else MAX_ITEMS
    if length > limit:
        what = "the text is longer than" if is_text else "the list has more elements than"
        fail(codes.GUARD_TOO_LARGE, site, f"{what} {limit:,}")
    budget.charge(1 + (length // _CHARS_A_STEP if is_text else length))


def subtract(left: Any, right: Any, budget: Budget, site: int) -> Any:
    """`-` of numbers, or the difference of sets."""
    if left.__class__ is set and right.__class__ is set:
        weigh_both(left, right, budget, site)
        return left - right
    return _number_operation(operator.sub, "-", left, right, site)


def multiply(left: Any, right: Any, budget: Budget, site: int) -> Any:
    """`*` of numbers, or a text or list repeated."""
    for repeated, times in ((left, right), (right, left)):
        if repeated.__class__ in (str, list, tuple) and times.__class__ in (int, bool):
            grown(repeated, len(repeated) * max(times, 0), budget, site)
            # An empty text may be repeated any number of times; Python counts within limits.
            return repeated * max(0, min(times, MAX_TEXT_CHARS))
    return _number_operation(operator.mul, "*", left, right, site)


def _number_operation(
    op: Callable[[Any, Any], Any], sign: str, left: Any, right: Any, site: int
) -> Any:
    if left.__class__ not in _NUMERIC or right.__class__ not in _NUMERIC:
        fail(codes.GUARD_TYPE, site, f"`{sign}` needs two numbers", left, right)
    return arithmetic(op, site, left, right)


def divide(left: Any, right: Any, _budget: Budget, site: int) -> Any:
    """`/`."""
    return _number_operation(operator.truediv, "/", left, right, site)


def floor_divide(left: Any, right: Any, _budget: Budget, site: int) -> Any:
    """`//`."""
    return _number_operation(operator.floordiv, "//", left, right, site)


def remainder(left: Any, right: Any, _budget: Budget, site: int) -> Any:
    """`%` of numbers; texts are not formatted."""
    return _number_operation(operator.mod, "%", left, right, site)


def power(left: Any, right: Any, _budget: Budget, site: int) -> Any:
    """`**`, refused before it is computed when the result would be too large."""
    whole = left.__class__ in (int, bool) and right.__class__ in (int, bool)
    if whole and abs(left) > 1 and left.bit_length() * right > 2 * MAX_INT_BITS:
        fail(codes.GUARD_TOO_LARGE, site, f"the number has more than {MAX_INT_BITS:,} bits")
    return _number_operation(operator.pow, "**", left, right, site)


def negate(value: Any, site: int) -> Any:
    """Unary `-`."""
    return _one_number(operator.neg, "-", value, site)


def positive(value: Any, site: int) -> Any:
    """Unary `+`."""
    return _one_number(operator.pos, "+", value, site)


def _one_number(op: Callable[[Any], Any], sign: str, value: Any, site: int) -> Any:
    if value.__class__ not in _NUMERIC:
        fail(codes.GUARD_TYPE, site, f"`{sign}` needs a number", value)
    return op(value)


def present(value: Any, site: int) -> Any:
    """The value, if there is one."""
    if value is None:
        fail(codes.GUARD_TYPE, site, "null has no attributes", value)
    return value


def attribute(value: Any, name: str, site: int) -> Any:
    """`value.name`: the key of a map, never an attribute of a Python object."""
    if value.__class__ is not dict:
        fail(codes.GUARD_TYPE, site, f"only a map has `{name}`", value)
    if name not in value:
        fail(codes.GUARD_MISSING, site, f"there is no `{name}`", value)
    return value[name]


def attribute_or_null(value: Any, name: str, site: int) -> Any:
    """`value.name` of a map of which a missing key is null."""
    if value.__class__ is not dict:
        fail(codes.GUARD_TYPE, site, f"only a map has `{name}`", value)
    return value.get(name)


def index(value: Any, at: Any, budget: Budget, site: int) -> Any:
    """`value[at]`."""
    if value.__class__ is dict:
        if key(at, budget, site) not in value:
            fail(codes.GUARD_MISSING, site, "there is no such key", value, at)
        return value[at]
    if value.__class__ not in (str, list, tuple):
        fail(codes.GUARD_TYPE, site, "only a text, list or map can be indexed", value, at)
    if at.__class__ not in (int, bool):
        fail(codes.GUARD_TYPE, site, "an index is a whole number", value, at)
    if not -len(value) <= at < len(value):
        fail(codes.GUARD_MISSING, site, "the index is out of range", value, at)
    return value[at]


def cut(value: Any, lower: Any, upper: Any, step: Any, budget: Budget, site: int) -> Any:
    """`value[lower:upper:step]`."""
    if value.__class__ not in (str, list, tuple):
        fail(codes.GUARD_TYPE, site, "only a text or list can be sliced", value)
    for bound in (lower, upper, step):
        if bound is not None and bound.__class__ not in (int, bool):
            fail(codes.GUARD_TYPE, site, "the bounds of a slice are whole numbers", bound)
    if step is not None and step == 0:
        fail(codes.GUARD_VALUE, site, "the step of a slice is not zero", step)
    grown(value, len(value), budget, site)
    return value[lower:upper:step]


def each(value: Any, budget: Budget, cost: int, site: int) -> Iterator[Any]:
    """The elements of a value, charging what the body of the loop costs for each."""
    if value.__class__ not in _ITERABLE:
        fail(codes.GUARD_TYPE, site, "only lists, texts, sets and maps have elements", value)
    if len(value) > MAX_ITEMS:
        fail(codes.GUARD_TOO_LARGE, site, f"there are more than {MAX_ITEMS:,} elements", value)
    is_set = value.__class__ is set
    for item in in_order(value, budget, site) if is_set else value:
        budget.charge(cost)
        yield item


def in_order(items: Any, budget: Budget, site: int) -> list[Any]:
    """The elements of a set in an order that is the same in every process."""
    weigh(items, budget, site)
    return sorted(items, key=_total_order)


def _total_order(value: Any) -> tuple[Any, ...]:
    if value.__class__ in _NUMERIC:
        return (1, value)
    if value.__class__ is str:
        return (2, value)
    if value.__class__ is tuple:
        return (3, tuple(_total_order(item) for item in value))
    return (0,)


def unpack(value: Any, count: int, site: int) -> Any:
    """The value, if it has exactly this many elements for the names of a loop."""
    if value.__class__ not in _SEQUENCES:
        fail(codes.GUARD_TYPE, site, f"only a list of {count} can be taken apart here", value)
    if len(value) != count:
        fail(codes.GUARD_VALUE, site, f"there are not {count} elements to take apart", value)
    return value


def as_text(value: Any, budget: Budget, site: int) -> str:
    """`str(value)`, bounded, with sets in order."""
    if value.__class__ in SCALARS:
        charge_number(value, budget)
        return str(value)
    weigh(value, budget, site)
    rendering = _Rendering(budget, site)
    rendering.value(value)
    return "".join(rendering.pieces)


def charge_number(value: Any, budget: Budget) -> None:
    """Charge for turning a long number into digits."""
    if value.__class__ is int:
        budget.charge(value.bit_length() // _CHARS_A_STEP)


class _Rendering:
    """A value as Python prints it, stopped as soon as the text is too long."""

    def __init__(self, budget: Budget, site: int) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.budget = budget
        self.site = site

    def put(self, piece: str) -> None:
        self.length += len(piece)
        if self.length > MAX_TEXT_CHARS:
            limit = f"the text is longer than {MAX_TEXT_CHARS:,} characters"
            fail(codes.GUARD_TOO_LARGE, self.site, limit)
        self.pieces.append(piece)

    def value(self, value: Any) -> None:
        if value.__class__ in SCALARS:
            charge_number(value, self.budget)
            self.put(repr(value))
        elif value.__class__ is set and not value:
            self.put("set()")
        else:
            self.collection(value)

    def collection(self, value: Any) -> None:
        opening, closing = _BRACKETS[value.__class__]
        self.put(opening)
        items = in_order(value, self.budget, self.site) if value.__class__ is set else value
        for place, item in enumerate(items):
            if place:
                self.put(", ")
            self.value(item)
            if value.__class__ is dict:
                self.put(": ")
                self.value(value[item])
        self.put(",)" if value.__class__ is tuple and len(value) == 1 else closing)
