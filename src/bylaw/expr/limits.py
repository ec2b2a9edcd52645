"""Limits of expressions, templates and scripts, and the budget of one evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.codes import expressions as codes
from bylaw.model.errors import load_error
from bylaw.model.source import Span

if TYPE_CHECKING:
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
