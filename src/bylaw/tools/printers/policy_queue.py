"""Print the entries of the policy queue as a table.

File names and commands are escaped and cut, so that they cannot move the cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.vocabulary import EntryStatus
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.table import aligned, cut, fitted
from bylaw.tools.printers.wording import number_of, shown, shown_file, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LEAST = 60  # columns
MAX_FILES = 3  # of one entry, unless all files are shown
MAX_WHY_LINES = 4
# Entries that need attention are first.
ORDER = (EntryStatus.FAILED, EntryStatus.QUEUED, EntryStatus.PASSED, EntryStatus.SKIPPED)
_STYLES = {EntryStatus.FAILED: Style.BAD, EntryStatus.QUEUED: Style.WARNING}
_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class Row(Struct, frozen=True):
    """An entry of the table. `age` is in seconds, `why` is the result of a command or check.

    `runs` are printed only if the complete entry is shown.
    """

    policy: str
    hash: str
    status: EntryStatus
    age: float
    shown: int
    files: tuple[str, ...]
    missing: tuple[str, ...]
    why: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


class Table(Struct, frozen=True):
    """Entries, their number in each state, and the current message of one selected policy.

    `limit` is the number of entries shown for each state.
    """

    rows: Sequence[Row]
    counts: Mapping[EntryStatus, int]
    limit: int
    lines: Sequence[str] = ()
    all_files: bool = False


def ago(seconds: float) -> str:
    """Return for example `5 minutes ago`."""
    for length, word in _SPANS:
        if seconds >= length:
            return f"{number_of(int(seconds // length), word)} ago"
    return "just now"


def render(table: Table, columns: int, *, color: bool) -> str:
    """Print the counts, then a section for each state."""
    lines = _Lines(table, max(columns, LEAST), Paint(color))
    return "".join(f"{line}\n" for line in lines.all())


class _Lines:
    def __init__(self, table: Table, limit: int, paint: Paint) -> None:
        self._table = table
        self._limit = limit
        self._paint = paint

    def all(self) -> Iterator[str]:
        counts = self._table.counts
        yield ", ".join(f"{counts.get(status, 0):,} {status}" for status in ORDER)
        for status in ORDER:
            yield from self._section(status)
        if self._table.lines:
            yield from ("", self._paint(Style.STRONG, "current message"))
            yield from (f"  {line}".rstrip() for line in self._table.lines)

    def _section(self, status: EntryStatus) -> Iterator[str]:
        rows = [row for row in self._table.rows if row.status is status]
        if not rows:
            return
        yield from ("", self._paint(_STYLES.get(status, Style.STRONG), status))
        told = rows[: self._table.limit]
        cells = [(shown(row.policy), row.hash, _when(row)) for row in told]
        room = self._limit - 2
        for row, line in zip(told, aligned(fitted(cells, room, (0,), ())), strict=True):
            yield f"  {cut(line, room)}"
            yield from self._below(row)
        if len(rows) > len(told):
            yield f"  and {len(rows) - len(told):,} more; see --limit"

    def _below(self, row: Row) -> Iterator[str]:
        yield from self._paths("", row.files)
        yield from self._paths("missing: ", row.missing)
        for line in (*row.why, *(row.runs if self._table.all_files else ())):
            yield from (f"    {one}" for one in wrapped(line, self._limit - 4, MAX_WHY_LINES))

    def _paths(self, head: str, paths: Sequence[str]) -> Iterator[str]:
        most = len(paths) if self._table.all_files else MAX_FILES
        for path in paths[:most]:
            yield f"    {head}{cut(shown_file(path), self._limit - 4 - len(head), at_start=True)}"
        if len(paths) > most:
            yield f"    {head}and {len(paths) - most:,} more; name the policy to see all"


def _when(row: Row) -> str:
    times = f", shown {number_of(row.shown, 'time')}" if row.shown else ""
    return f"{ago(row.age)}{times}"
