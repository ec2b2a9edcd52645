"""Failures of running code: a code, the place in the tree, and the values there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from bylaw.expr.types import KIND_WORDS, kind_of
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.model.codes import Code

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


def fail_inside(code: Code, site: int, problem: str, *values: object) -> NoReturn:
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
