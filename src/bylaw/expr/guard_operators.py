"""The operators of the guard language on values whose kind is not known at load (CM-A21).

Values are not converted: booleans are not numbers, null equals only null, `and` needs booleans.
Each operator receives the site of its node, which an error names.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from bylaw.expr.limits import MAX_TEXT_CHARS, OverBudget, arithmetic, fail
from bylaw.expr.types import describe_kinds, kind_of
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NUMBERS: frozenset[object] = frozenset({int, float})


def truth(value: Any, site: int) -> bool:
    """Return the value; fail if it is not a boolean."""
    if value is True or value is False:
        return bool(value)
    fail(codes.GUARD_TYPE, site, "a boolean is needed", value)


def has_kind(value: Any, kinds: tuple[str, ...], site: int) -> Any:
    """Return the value; fail if it has none of these kinds."""
    if kind_of(value) in kinds:
        return value
    fail(codes.GUARD_TYPE, site, f"{describe_kinds(kinds)} is needed", value)


def same(left: Any, right: Any, most: int) -> bool:
    """Deep equality without conversion: true does not equal 1, even inside a list.

    It compares at most `most` parts: the share of one comparison in the budget of its guard.
    """
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if not _is_shallow_equal(one, other):
            return False
        if one.__class__ in _DEEP:
            most -= len(one)
            if most < 0:
                raise OverBudget
            pairs.extend(_paired_parts(one, other))
    return True


_DEEP: frozenset[object] = frozenset({list, dict})


def _is_shallow_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal, apart from the values inside them."""
    if one.__class__ in NUMBERS and other.__class__ in NUMBERS:
        return bool(one == other)
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is list:
        return len(one) == len(other)
    return bool(one.keys() == other.keys() if one.__class__ is dict else one == other)


def _paired_parts(one: Any, other: Any) -> Iterable[tuple[Any, Any]]:
    if one.__class__ is list:
        return zip(one, other, strict=True)
    return ((one[key], other[key]) for key in one)


def member(value: Any, items: Any, site: int, most: int) -> bool:
    """Membership in a list; substrings are not supported (CM-A23)."""
    if items.__class__ is not list and items.__class__ is not tuple:
        fail(codes.GUARD_TYPE, site, "`in` needs a list on its right", value, items)
    if len(items) > most:
        raise OverBudget
    share = most // max(len(items), 1)
    return any(same(value, item, share) for item in items)


def _require_ordered(left: Any, right: Any, site: int, op: str) -> None:
    numbers = left.__class__ in NUMBERS and right.__class__ in NUMBERS
    if not numbers and not (left.__class__ is str and right.__class__ is str):
        fail(codes.GUARD_TYPE, site, f"`{op}` needs two numbers or two texts", left, right)


def less(left: Any, right: Any, site: int) -> bool:
    """`<`."""
    _require_ordered(left, right, site, "<")
    return bool(left < right)


def less_equal(left: Any, right: Any, site: int) -> bool:
    """`<=`."""
    _require_ordered(left, right, site, "<=")
    return bool(left <= right)


def greater(left: Any, right: Any, site: int) -> bool:
    """`>`."""
    _require_ordered(left, right, site, ">")
    return bool(left > right)


def greater_equal(left: Any, right: Any, site: int) -> bool:
    """`>=`."""
    _require_ordered(left, right, site, ">=")
    return bool(left >= right)


def add(left: Any, right: Any, site: int) -> Any:
    """`+` of two numbers or two texts."""
    if left.__class__ is str and right.__class__ is str:
        if len(left) + len(right) > MAX_TEXT_CHARS:
            limit = f"the text is longer than {MAX_TEXT_CHARS:,} characters"
            fail(codes.GUARD_TOO_LARGE, site, limit)
        return left + right
    return _number_operation(operator.add, "+", left, right, site)


def subtract(left: Any, right: Any, site: int) -> Any:
    """`-`."""
    return _number_operation(operator.sub, "-", left, right, site)


def multiply(left: Any, right: Any, site: int) -> Any:
    """`*` of numbers; texts are not repeated (CM-040)."""
    return _number_operation(operator.mul, "*", left, right, site)


def divide(left: Any, right: Any, site: int) -> Any:
    """`/`, real division (CM-A22)."""
    return _number_operation(operator.truediv, "/", left, right, site)


def remainder(left: Any, right: Any, site: int) -> Any:
    """`%`, with the sign of the divisor (CM-A22)."""
    return _number_operation(operator.mod, "%", left, right, site)


def _number_operation(
    op: Callable[[Any, Any], Any], sign: str, left: Any, right: Any, site: int
) -> Any:
    if left.__class__ not in NUMBERS or right.__class__ not in NUMBERS:
        needed = "two numbers or two texts" if sign == "+" else "two numbers"
        fail(codes.GUARD_TYPE, site, f"`{sign}` needs {needed}", left, right)
    return arithmetic(op, site, left, right)


def negate(value: Any, site: int) -> Any:
    """Unary `-`."""
    if value.__class__ not in NUMBERS:
        fail(codes.GUARD_TYPE, site, "`-` needs a number", value)
    return -value
