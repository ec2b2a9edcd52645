"""Limits of expressions, templates and scripts, the budget of one evaluation, and its failures.

A failure has a code, a place in the tree, and the values there. Charges for plain values are the
steps for reading, creating or sorting them. A small expression can build a value that is small in
memory, but exponentially large to compare, hash or print: a list that contains another list twice,
which contains another list twice, and so on. So a shared part is charged each time it occurs.
Arithmetic with limits is here as well; the operators of both languages use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from bylaw.expr.types import KIND_WORDS, kind_of
from bylaw.model.codes import expressions as codes
from bylaw.model.display import brief
from bylaw.model.errors import load_error
from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile

MAX_SOURCE_CHARS = 8_192
MAX_DEPTH = 50  # Python's parser allows 200 nested parentheses; we use up to three per level
MAX_NODES = 2_000
MAX_LOOPS = 8  # Python's compiler allows 20 nested blocks
MAX_STEPS = 200_000
MAX_TEXT_CHARS = 100_000
MAX_ITEMS = 10_000
MAX_INT_BITS = 4_096
MAX_VALUE_DEPTH = 200  # an event can be 100 levels deep, an expression adds 50
MAX_ROUND_DIGITS = 400
MAX_OUTPUT_CHARS = 65_536  # of templates that are rendered together
MAX_SCRIPT_BYTES = 64 * 1024  # of UTF-8; far longer than any condition
# Python's text search is slow for the last places of a text: it compares at each of them.
SLOW_PLACES = 2_500
COMPARISONS_A_STEP = 8_192


class OverBudget(Exception):  # noqa: N818 - a signal inside one evaluation, not an error for users
    """The steps of this evaluation are used up."""


class Budget:
    """The steps that one evaluation may still take."""

    __slots__ = ("left",)

    def __init__(self, spent: int) -> None:
        self.left = MAX_STEPS - spent

    def charge(self, steps: int) -> None:
        """Spend steps; raise `OverBudget` if too few are left."""
        self.left -= steps
        if self.left < 0:
            raise OverBudget


def check_length(source: SourceFile, span: Span) -> None:
    """Raise LoadError if a text is too long for an expression."""
    if span.end - span.start > MAX_SOURCE_CHARS:
        raise load_error(
            codes.EXPRESSION_TOO_LONG,
            f"the expression is longer than {MAX_SOURCE_CHARS:,} characters",
            source,
            Span(span.start, span.start + 1),
            help="split it into several rules",
        )


_SHOWN_BITS = 200


class Fault(Exception):  # noqa: N818 - becomes a GuardError where the source text is known
    """The evaluation failed at a site (an index into the expression's list of sites)."""

    def __init__(
        self,
        code: Code,
        site: int,
        problem: str,
        values: tuple[object, ...],
        *,
        of_operands: bool = True,
    ) -> None:
        super().__init__(problem)
        self.code = code
        self.site = site
        self.problem = problem
        self.values_met = values
        self.of_operands = of_operands


def fail(code: Code, site: int, problem: str, *values: object) -> NoReturn:
    """Raise a fault about the operands of the site, in order, or about some of them."""
    raise Fault(code, site, problem, values)


def fail_in_element(code: Code, site: int, problem: str, *values: object) -> NoReturn:
    """Raise a fault about elements of an operand."""
    raise Fault(code, site, problem, values, of_operands=False)


def describe(value: object) -> str:
    """Describe a value for people: `null`, `the text "x"`, `the number 3`, `a list of 2`."""
    kind = kind_of(value)
    if value is None:
        return "null"
    if isinstance(value, str):
        return f'the text "{brief(value)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        large = isinstance(value, int) and value.bit_length() > _SHOWN_BITS
        return "a large number" if large else f"the number {value}"
    if isinstance(value, list | tuple | set | frozenset | dict):
        return f"{KIND_WORDS[kind]} of {len(value)}"
    return KIND_WORDS.get(kind, kind)


NUMERIC: frozenset[object] = frozenset({bool, int, float})
SCALARS: frozenset[object] = NUMERIC | {type(None), str}
COLLECTIONS: frozenset[object] = frozenset({list, tuple, set, dict})
# Comparing or searching a text costs about one step for this many characters.
_CHARS_A_STEP = 64


def charge_value(value: Any, budget: Budget, site: int, depth: int = 0) -> None:
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
        charge_value(item, budget, site, depth + 1)
    if value.__class__ is dict:
        for item in value.values():
            charge_value(item, budget, site, depth + 1)


def charge_both(left: Any, right: Any, budget: Budget, site: int) -> None:
    """Charge for an operation that reads both values."""
    if left.__class__ is str and right.__class__ is str:
        budget.charge(min(len(left), len(right)) // COMPARISONS_A_STEP)
        return
    if left.__class__ not in SCALARS:
        charge_value(left, budget, site)
    if right.__class__ not in SCALARS:
        charge_value(right, budget, site)


def charge_growth(like: Any, length: int, budget: Budget, site: int) -> None:
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


def sort_set(items: Any, budget: Budget, site: int) -> list[Any]:
    """Return the elements of a set in an order that is the same in every process."""
    charge_value(items, budget, site)
    return sorted(items, key=_total_order)


def _total_order(value: Any) -> tuple[Any, ...]:
    if value.__class__ in NUMERIC:
        return (1, value)
    if value.__class__ is str:
        return (2, value)
    if value.__class__ is tuple:
        return (3, tuple(_total_order(item) for item in value))
    return (0,)


def limit_result(value: Any, site: int) -> Any:
    """Return the value; fail if it is too large."""
    if value.__class__ is int and value.bit_length() > MAX_INT_BITS:
        fail(codes.GUARD_TOO_LARGE, site, f"the number has more than {MAX_INT_BITS:,} bits")
    if value.__class__ is str and len(value) > MAX_TEXT_CHARS:
        fail(codes.GUARD_TOO_LARGE, site, f"the text is longer than {MAX_TEXT_CHARS:,} characters")
    return value


def arithmetic(op: Callable[..., Any], site: int, *values: Any) -> Any:
    """Return the result of an operation; fail on Python's errors and on large results."""
    try:
        value = op(*values)
    except ArithmeticError as problem:
        fail(codes.GUARD_ARITHMETIC, site, arithmetic_message(problem), *values)
    if value.__class__ is complex:
        fail(codes.GUARD_ARITHMETIC, site, "the result is not a real number", *values)
    return limit_result(value, site)


def arithmetic_message(problem: ArithmeticError) -> str:
    """Return the message for an arithmetic error."""
    if isinstance(problem, ZeroDivisionError):
        return "division by zero"
    return "the result is too large"
