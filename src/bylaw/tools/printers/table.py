"""Align rows of cells in columns, within a width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.visible import width
from bylaw.tools.printers.wording import wrapped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

GAP = "  "
ELLIPSIS = "…"
# A cell that is cut shorter than this is useless.
MIN_WIDTH = 8
_MAX_LINES = 1_000  # of one cell


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Make each column as wide as its widest cell, without trailing blanks."""
    widths = _widths(rows)
    return [_line(row, widths) for row in rows]


def flowing(rows: Sequence[Sequence[str]], limit: int) -> list[str]:
    """Like `aligned`, but if the table is too wide, put the last cell on lines below its row.

    Nothing is cut. A first cell that leaves no room for the others also gets its own line.
    """
    lines = aligned(rows)
    if max(map(width, lines)) <= limit:
        return lines
    widths = _widths([row[:-1] for row in rows])
    others = sum(widths[1:]) + len(GAP) * (len(widths) - 1)
    widths[0] = min(widths[0], max(limit - others, MIN_WIDTH))
    return [line for row in rows for line in _flowing_row(row, widths, limit)]


def _flowing_row(row: Sequence[str], widths: Sequence[int], limit: int) -> Iterator[str]:
    first, *others, last = row
    if width(first) > widths[0]:
        yield first
        first = ""
    yield _line([first, *others], widths)
    yield from (GAP + piece for piece in wrapped(last, limit - len(GAP), _MAX_LINES))


def fitted(
    rows: Sequence[Sequence[str]], limit: int, ends: Collection[int], starts: Collection[int]
) -> list[tuple[str, ...]]:
    """Cut the rows to a width: cells in columns `ends` at their end, in `starts` at their start."""
    widths = _widths(rows)
    too_wide = sum(widths) + len(GAP) * (len(widths) - 1) - limit
    for _ in range(too_wide):
        widest = max((*ends, *starts), key=lambda column: widths[column])
        if widths[widest] <= MIN_WIDTH:
            break
        widths[widest] -= 1
    return [
        tuple(
            cut(cell, widths[column], at_start=column in starts) for column, cell in enumerate(row)
        )
        for row in rows
    ]


def cut(text: str, limit: int, *, at_start: bool = False) -> str:
    """Cut a visible text to a width, with an ellipsis for the omitted part."""
    if width(text) <= limit:
        return text
    kept, left = "", limit - width(ELLIPSIS)
    for char in reversed(text) if at_start else text:
        left -= width(char)
        if left < 0:
            break
        kept += char
    return ELLIPSIS + kept[::-1] if at_start else kept + ELLIPSIS


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(width, column)) for column in zip(*rows, strict=True)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (to - width(cell)) for cell, to in zip(row, widths, strict=True))
    return GAP.join(padded).rstrip()
