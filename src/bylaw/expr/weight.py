"""The cost of plain values: the steps for reading, creating or sorting them.

A small expression can build a value that is small in memory, but exponentially large to compare,
hash or print: a list that contains another list twice, which contains another list twice, and so
on. So a shared part is charged each time it occurs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bylaw.expr.faults import fail
from bylaw.expr.limits import (
    COMPARISONS_A_STEP,
    MAX_ITEMS,
    MAX_TEXT_CHARS,
    MAX_VALUE_DEPTH,
    SLOW_PLACES,
)
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from bylaw.expr.limits import Budget

NUMERIC: frozenset[object] = frozenset({bool, int, float})
SCALARS: frozenset[object] = NUMERIC | {type(None), str}
COLLECTIONS: frozenset[object] = frozenset({list, tuple, set, dict})
# Comparing or searching a text costs about one step for this many characters.
_CHARS_A_STEP = 64


def weigh(value: Any, budget: Budget, site: int, depth: int = 0) -> None:
    """Charge for every part of a value."""
    if value.__class__ is str:
        budget.charge(1 + len(value) // _CHARS_A_STEP)
        return
    budget.charge(1)
    if value.__class__ not in COLLECTIONS:
        return
    if depth > MAX_VALUE_DEPTH:
        fail(codes.GUARD_TOO_LARGE, site, f"the value is nested more than {MAX_VALUE_DEPTH:,} deep")
    for item in value:
        weigh(item, budget, site, depth + 1)
    if value.__class__ is dict:
        for item in value.values():
            weigh(item, budget, site, depth + 1)


def weigh_both(left: Any, right: Any, budget: Budget, site: int) -> None:
    """Charge for an operation that reads both values."""
    if left.__class__ is str and right.__class__ is str:
        budget.charge(min(len(left), len(right)) // COMPARISONS_A_STEP)
        return
    if left.__class__ not in SCALARS:
        weigh(left, budget, site)
    if right.__class__ not in SCALARS:
        weigh(right, budget, site)


def grown(like: Any, length: int, budget: Budget, site: int) -> None:
    """Charge for a text or list of this length before it is made; fail if it is too long."""
    if like.__class__ is str:
        if length > MAX_TEXT_CHARS:
            limit = f"the text is longer than {MAX_TEXT_CHARS:,} characters"
            fail(codes.GUARD_TOO_LARGE, site, limit)
        budget.charge(1 + length // _CHARS_A_STEP)
    else:
        if length > MAX_ITEMS:
            limit = f"the list has more than {MAX_ITEMS:,} elements"
            fail(codes.GUARD_TOO_LARGE, site, limit)
        budget.charge(1 + length)


def charge_search(text: str, part: str, budget: Budget) -> None:
    """Charge for searching a text for another."""
    places = min(max(len(text) - len(part), 0), SLOW_PLACES)
    budget.charge(1 + len(text) // _CHARS_A_STEP + len(part) * places // COMPARISONS_A_STEP)


def charge_number(value: Any, budget: Budget) -> None:
    """Charge for converting a long number to digits."""
    if value.__class__ is int:
        budget.charge(value.bit_length() // _CHARS_A_STEP)


def in_order(items: Any, budget: Budget, site: int) -> list[Any]:
    """Return the elements of a set in an order that is the same in every process."""
    weigh(items, budget, site)
    return sorted(items, key=_total_order)


def _total_order(value: Any) -> tuple[Any, ...]:
    if value.__class__ in NUMERIC:
        return (1, value)
    if value.__class__ is str:
        return (2, value)
    if value.__class__ is tuple:
        return (3, tuple(_total_order(item) for item in value))
    return (0,)
