"""Computing with numbers, bounded: what both languages share below their operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bylaw.expr.faults import fail
from bylaw.expr.limits import MAX_INT_BITS, MAX_TEXT_CHARS
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Callable


def bounded(value: Any, site: int) -> Any:
    """The value, if it is not too large to keep."""
    if value.__class__ is int and value.bit_length() > MAX_INT_BITS:
        fail(codes.GUARD_TOO_LARGE, site, f"the number has more than {MAX_INT_BITS:,} bits")
    if value.__class__ is str and len(value) > MAX_TEXT_CHARS:
        fail(codes.GUARD_TOO_LARGE, site, f"the text is longer than {MAX_TEXT_CHARS:,} characters")
    return value


def arithmetic(op: Callable[..., Any], site: int, *values: Any) -> Any:
    """Compute, with what Python raises turned into a fault and the result bounded."""
    try:
        value = op(*values)
    except ArithmeticError as problem:
        fail(codes.GUARD_ARITHMETIC, site, reason_of(problem), *values)
    if value.__class__ is complex:
        fail(codes.GUARD_ARITHMETIC, site, "the result is not a real number", *values)
    return bounded(value, site)


def reason_of(problem: ArithmeticError) -> str:
    """Why there is no result, in our own words."""
    if isinstance(problem, ZeroDivisionError):
        return "division by zero"
    return "the result is too large"
