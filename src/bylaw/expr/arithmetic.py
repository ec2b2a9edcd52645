"""Arithmetic with limits, used by the operators of both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bylaw.expr.faults import fail
from bylaw.expr.limits import MAX_INT_BITS, MAX_TEXT_CHARS
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Callable


def bounded(value: Any, site: int) -> Any:
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
        fail(codes.GUARD_ARITHMETIC, site, reason_of(problem), *values)
    if value.__class__ is complex:
        fail(codes.GUARD_ARITHMETIC, site, "the result is not a real number", *values)
    return bounded(value, site)


def reason_of(problem: ArithmeticError) -> str:
    """Return the message for an arithmetic error."""
    if isinstance(problem, ZeroDivisionError):
        return "division by zero"
    return "the result is too large"
