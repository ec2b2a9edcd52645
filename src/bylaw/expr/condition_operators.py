"""The operators of conditions on values whose kind is not known at load: Python's, with limits.

Values are plain: null, booleans, numbers, texts, lists, tuples, sets, maps. Operators work as in
Python, but do not format or change values, and cannot cost more than the budget of the evaluation.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from bylaw.expr.limits import (
    COLLECTIONS,
    COMPARISONS_A_STEP,
    MAX_INT_BITS,
    MAX_ITEMS,
    MAX_TEXT_CHARS,
    NUMERIC,
    SCALARS,
    arithmetic,
    charge_both,
    charge_growth,
    charge_search,
    charge_value,
    fail,
    fail_in_element,
    sort_set,
)
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.expr.limits import Budget

_SEQUENCES: frozenset[object] = frozenset({list, tuple})
_ITERABLE: frozenset[object] = COLLECTIONS | {str}


def equal(left: Any, right: Any, budget: Budget, site: int) -> bool:
    """`==`."""
    charge_both(left, right, budget, site)
    return bool(left == right)


def _compare(op: Callable[[Any, Any], Any], sign: str) -> Callable[[Any, Any, Budget, int], bool]:
    def compare(left: Any, right: Any, budget: Budget, site: int) -> bool:
        charge_both(left, right, budget, site)
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
        charge_both(value, container, budget, site)
        return value in container
    if container.__class__ not in COLLECTIONS:
        fail(
            codes.GUARD_TYPE, site, "`in` needs a text, list or map on its right", value, container
        )
    return key(value, budget, site) in container


def key(value: Any, budget: Budget, site: int) -> Any:
    """Return the value; fail if it cannot be a key of a map or an element of a set."""
    if value.__class__ is str:
        budget.charge(len(value) // COMPARISONS_A_STEP)
    if value.__class__ in SCALARS:
        return value
    if value.__class__ is tuple:
        charge_value(value, budget, site)
        if _can_be_key(value):
            return value
    fail(codes.GUARD_TYPE, site, "a key must be a text, a number, a boolean or null", value)


def _can_be_key(value: Any) -> bool:
    return value.__class__ in SCALARS or (value.__class__ is tuple and all(map(_can_be_key, value)))


def add(left: Any, right: Any, budget: Budget, site: int) -> Any:
    """`+` of numbers, texts, lists or tuples."""
    if left.__class__ in NUMERIC and right.__class__ in NUMERIC:
        return arithmetic(operator.add, site, left, right)
    if left.__class__ is not right.__class__ or left.__class__ not in (str, list, tuple):
        fail(codes.GUARD_TYPE, site, "`+` needs two numbers, texts or lists", left, right)
    charge_growth(left, len(left) + len(right), budget, site)
    return left + right


def subtract(left: Any, right: Any, budget: Budget, site: int) -> Any:
    """`-` of numbers, or the difference of sets."""
    if left.__class__ is set and right.__class__ is set:
        charge_both(left, right, budget, site)
        return left - right
    return _number_operation(operator.sub, "-", left, right, site)


def multiply(left: Any, right: Any, budget: Budget, site: int) -> Any:
    """`*` of numbers, or a text or list repeated."""
    for repeated, times in ((left, right), (right, left)):
        if repeated.__class__ in (str, list, tuple) and times.__class__ in (int, bool):
            charge_growth(repeated, len(repeated) * max(times, 0), budget, site)
            # An empty text may be repeated any number of times, but Python limits the number.
            return repeated * max(0, min(times, MAX_TEXT_CHARS))
    return _number_operation(operator.mul, "*", left, right, site)


def _number_operation(
    op: Callable[[Any, Any], Any], sign: str, left: Any, right: Any, site: int
) -> Any:
    if left.__class__ not in NUMERIC or right.__class__ not in NUMERIC:
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
    """`**`; fails before it is computed if the result would be too large."""
    whole = left.__class__ in (int, bool) and right.__class__ in (int, bool)
    if whole and abs(left) > 1 and left.bit_length() * right > 2 * MAX_INT_BITS:
        fail(codes.GUARD_TOO_LARGE, site, f"the number has more than {MAX_INT_BITS:,} bits")
    return _number_operation(operator.pow, "**", left, right, site)


def negate(value: Any, site: int) -> Any:
    """Unary `-`."""
    return _unary_operation(operator.neg, "-", value, site)


def positive(value: Any, site: int) -> Any:
    """Unary `+`."""
    return _unary_operation(operator.pos, "+", value, site)


def _unary_operation(op: Callable[[Any], Any], sign: str, value: Any, site: int) -> Any:
    if value.__class__ not in NUMERIC:
        fail(codes.GUARD_TYPE, site, f"`{sign}` needs a number", value)
    return op(value)


def present(value: Any, site: int) -> Any:
    """Return the value; fail if it is null."""
    if value is None:
        fail(codes.GUARD_TYPE, site, "null has no attributes", value)
    return value


def attribute(value: Any, name: str, site: int) -> Any:
    """`value.name`: the key of a map, never an attribute of a Python object."""
    if value.__class__ is not dict:
        fail(codes.GUARD_TYPE, site, f"only a map has `{name}`", value)
    if name not in value:
        fail(codes.GUARD_MISSING, site, f"key `{name}` not found", value)
    return value[name]


def attribute_or_null(value: Any, name: str, site: int) -> Any:
    """`value.name` of a map in which a missing key is null."""
    if value.__class__ is not dict:
        fail(codes.GUARD_TYPE, site, f"only a map has `{name}`", value)
    return value.get(name)


def index(value: Any, at: Any, budget: Budget, site: int) -> Any:
    """`value[at]`."""
    if value.__class__ is dict:
        if key(at, budget, site) not in value:
            fail(codes.GUARD_MISSING, site, "key not found", value, at)
        return value[at]
    if value.__class__ not in (str, list, tuple):
        fail(codes.GUARD_TYPE, site, "only a text, list or map can be indexed", value, at)
    if at.__class__ not in (int, bool):
        fail(codes.GUARD_TYPE, site, "an index must be a whole number", value, at)
    if not -len(value) <= at < len(value):
        fail(codes.GUARD_MISSING, site, "the index is out of range", value, at)
    return value[at]


def cut(value: Any, lower: Any, upper: Any, step: Any, budget: Budget, site: int) -> Any:
    """`value[lower:upper:step]`."""
    if value.__class__ not in (str, list, tuple):
        fail(codes.GUARD_TYPE, site, "only a text or list can be sliced", value)
    for bound in (lower, upper, step):
        if bound is not None and bound.__class__ not in (int, bool):
            fail(codes.GUARD_TYPE, site, "the bounds of a slice must be whole numbers", bound)
    if step is not None and step == 0:
        fail(codes.GUARD_VALUE, site, "the step of a slice cannot be zero", step)
    length = len(range(*slice(lower, upper, step).indices(len(value))))
    charge_growth(value, length, budget, site)
    return value[lower:upper:step]


def each(value: Any, budget: Budget, cost: int, site: int) -> Iterable[Any]:
    """Return the elements of a value; first charge the cost of the loop body for all of them.

    No comprehension ends early, so this is its real cost.
    """
    if value.__class__ not in _ITERABLE:
        fail(codes.GUARD_TYPE, site, "only lists, texts, sets and maps have elements", value)
    if len(value) > MAX_ITEMS:
        fail(codes.GUARD_TOO_LARGE, site, f"there are more than {MAX_ITEMS:,} elements", value)
    budget.charge(cost * len(value))
    elements: Iterable[Any] = sort_set(value, budget, site) if value.__class__ is set else value
    return elements


def unpack(value: Any, count: int, site: int) -> Any:
    """Return the value; fail if it does not have one element for each name of a loop."""
    if value.__class__ not in _SEQUENCES:
        problem = f"only a list of {count} can be unpacked here"
        fail_in_element(codes.GUARD_TYPE, site, problem, value)
    if len(value) != count:
        problem = f"expected {count} elements to unpack"
        fail_in_element(codes.GUARD_VALUE, site, problem, value)
    return value
