"""Terminal styles, aligned tables within a width, and local dates and times."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bylaw.model.display import width, wrap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

GAP = "  "
ELLIPSIS = "…"
# A cell that is cut shorter than this is useless.
MIN_WIDTH = 8
_MAX_LINES = 1_000  # of one cell


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Make each column as wide as its widest cell, without trailing blanks."""
    widths = _widths(rows)
    return [_line(row, widths) for row in rows]


def align_or_wrap(rows: Sequence[Sequence[str]], limit: int) -> list[str]:
    """Like `align`, but if the table is too wide, put the last cell on lines below its row.

    Nothing is cut. A first cell that leaves no room for the others also gets its own line.
    """
    lines = align(rows)
    if max(map(width, lines)) <= limit:
        return lines
    widths = _widths([row[:-1] for row in rows])
    others = sum(widths[1:]) + len(GAP) * (len(widths) - 1)
    widths[0] = min(widths[0], max(limit - others, MIN_WIDTH))
    return [line for row in rows for line in _wrapped_row(row, widths, limit)]


def _wrapped_row(row: Sequence[str], widths: Sequence[int], limit: int) -> Iterator[str]:
    first, *others, last = row
    if width(first) > widths[0]:
        yield first
        first = ""
    yield _line([first, *others], widths)
    yield from (GAP + piece for piece in wrap(last, limit - len(GAP), _MAX_LINES))


def fit(
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


_MS = 1_000


def local_day(at: int) -> str:
    """Return for example `2026-07-28`."""
    return _local(at)[:10]


def local_clock(at: int) -> str:
    """Return for example `10:00:01`."""
    return _local(at)[11:19]


def local_minute(at: int) -> str:
    """Return for example `2026-07-28 10:00`."""
    return _local(at)[:16]


def local_time(at: int) -> str:
    """Return for example `2026-07-28 10:00:01`."""
    return _local(at)


def _local(at: int) -> str:
    try:
        return datetime.fromtimestamp(at // _MS).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):  # a record may have any number as its time
        return f"{at} ms".ljust(19)
