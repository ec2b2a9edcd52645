"""Draw an expression with the values of its parts: marks under it, or a tree if it is long.

context.turn.token_usage > 0.8 and context.history.total_tool_calls > 5
------------------------ 0.85
------------------------------ true
                                   -------------------------------- 3
                                   ------------------------------------ false
----------------------------------------------------------------------- false
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.expr.explaining import State
from bylaw.model.visible import columns, width
from bylaw.tools.printers.table import cut
from bylaw.tools.printers.wording import in_short, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.expr.explaining import Explained, Part

MAX_VALUE = 200  # characters
MIN_VALUE = 14  # columns for a value; with fewer, too much of it would be cut
NOT_EVALUATED = "not evaluated"
FAILED = "failed"


class Marked(NamedTuple):
    """A line: the marks or the text of a part, then its value."""

    before: str
    value: str
    state: State

    @property
    def text(self) -> str:
        """The complete line."""
        return f"{self.before} {self.value}" if self.value else self.before


def drawn(explained: Explained, limit: int) -> list[Marked]:
    """Draw the expression and its parts, with no line wider than `limit`."""
    return _aligned(explained, limit) or _tree(explained.part, limit)


def value_of(part: Part) -> str:
    """Return the value in short, or why there is no value."""
    if part.state is State.NOT_EVALUATED:
        return NOT_EVALUATED
    return FAILED if part.state is State.FAILED else shown(in_short(part.value, MAX_VALUE))


def _aligned(explained: Explained, limit: int) -> list[Marked]:
    """Draw marks under the expression, or return [] if they do not fit."""
    written = explained.source.slice(explained.span)
    text, starts = columns(written)
    if "\n" in written or width(text) > limit:
        return []
    lines = [Marked(text, "", State.VALUE)]
    for part in _inner_first(explained.part):
        begin = starts[part.span.start - explained.span.start]
        end = starts[part.span.end - explained.span.start]
        value, room = value_of(part), limit - end - 1
        if width(value) > room < MIN_VALUE:
            return []
        lines.append(Marked(" " * begin + "-" * (end - begin), cut(value, room), part.state))
    return lines


def _inner_first(part: Part) -> Iterator[Part]:
    for one in part.parts:
        yield from _inner_first(one)
    yield part


def _tree(root: Part, limit: int) -> list[Marked]:
    """Draw one line per part, with its own parts below it."""
    rows = [(lead + _written(part), part) for lead, part in _branches(root, "", "")]
    most = limit - 1 - min(max(width(value_of(part)) for _, part in rows), limit // 3)
    column = min(max(width(text) for text, _ in rows), most)
    return [
        Marked(
            _padded(cut(text, column), column), cut(value_of(part), limit - column - 1), part.state
        )
        for text, part in rows
    ]


def _branches(part: Part, lead: str, below: str) -> Iterator[tuple[str, Part]]:
    yield lead, part
    for place, one in enumerate(part.parts):
        last = place == len(part.parts) - 1
        yield from _branches(
            one, below + ("└ " if last else "├ "), below + ("  " if last else "│ ")
        )


def _written(part: Part) -> str:
    return shown(" ".join(part.text.split()))


def _padded(text: str, to: int) -> str:
    return text + " " * (to - width(text))
