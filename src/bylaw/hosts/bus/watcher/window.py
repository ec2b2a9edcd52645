"""Delay paths at which something happened until they have been quiet long enough (LD-A34).

Nothing here waits or reads a clock: the caller passes the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

QUIET_S = 0.1
# A file that is written continuously is reported at this interval.
LONGEST_S = 1.0
# With more paths than this, comparing everything is cheaper.
MAX_PATHS = 100_000


class Window:
    """The waiting paths, each with the times of its first and its latest report."""

    def __init__(self) -> None:
        self._noted: dict[str, tuple[float, float]] = {}

    def note(self, paths: Iterable[str], now: float) -> None:
        """Note that something happened at these paths."""
        noted = self._noted
        for path in paths:
            first = noted[path][0] if path in noted else now
            noted[path] = (first, now)
        if len(noted) > MAX_PATHS:
            first = min(first for first, _ in noted.values())
            noted.clear()
            noted[""] = (first, now)

    def waiting(self) -> set[str]:
        """All waiting paths."""
        return set(self._noted)

    def due(self, now: float) -> set[str]:
        """Remove and return the paths that have waited long enough."""
        found = {path for path, times in self._noted.items() if _due_at(times) <= now}
        for path in found:
            del self._noted[path]
        return found

    def next_due(self) -> float | None:
        """The time when the next path is due, if nothing more happens."""
        return min(map(_due_at, self._noted.values()), default=None)


def _due_at(times: tuple[float, float]) -> float:
    first, last = times
    return min(last + QUIET_S, first + LONGEST_S)
