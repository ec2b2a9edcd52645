"""Paths at which something happened → those that have been quiet for long enough (LD-A34).

Nothing here waits or looks at a clock: whoever calls says what time it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

QUIET_S = 0.1
# A file that is written all the time is told of now and then all the same.
LONGEST_S = 1.0
# With more paths than these it is cheaper to look at everything.
MAX_PATHS = 100_000


class Window:
    """The paths that wait, each with the moment of its first and of its latest news."""

    def __init__(self) -> None:
        self._noted: dict[str, tuple[float, float]] = {}

    def note(self, paths: Iterable[str], now: float) -> None:
        """Something happened at these paths."""
        noted = self._noted
        for path in paths:
            first = noted[path][0] if path in noted else now
            noted[path] = (first, now)
        if len(noted) > MAX_PATHS:
            first = min(first for first, _ in noted.values())
            noted.clear()
            noted[""] = (first, now)

    def waiting(self) -> set[str]:
        """All paths that wait."""
        return set(self._noted)

    def due(self, now: float) -> set[str]:
        """The paths that have waited long enough; they do not wait any more."""
        found = {path for path, times in self._noted.items() if _due_at(times) <= now}
        for path in found:
            del self._noted[path]
        return found

    def next_due(self) -> float | None:
        """When the next path has waited long enough, if nothing more happens."""
        return min(map(_due_at, self._noted.values()), default=None)


def _due_at(times: tuple[float, float]) -> float:
    first, last = times
    return min(last + QUIET_S, first + LONGEST_S)
