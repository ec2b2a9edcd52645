"""Turns work of several sides into fair times, and pairs of times into a table with ratios."""

from __future__ import annotations

import gc
import textwrap
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Side = TypeVar("Side")
WIDTH = 100
NAME_WIDTH = 46


@dataclass(frozen=True)
class Row:
    """One comparison of one run: seconds of one unit of work, ours and theirs.

    With `faster`, the budget says how many times faster we must at least be; without, how many
    times their time we may at most need. No budget: printed for what it tells, never fails.
    """

    name: str
    inside: str
    ours: float
    theirs: float
    budget: float | None = None
    faster: bool = True

    @property
    def ratio(self) -> float:
        """How many times faster we are, or how many times their time we need."""
        return self.theirs / self.ours if self.faster else self.ours / self.theirs

    @property
    def ok(self) -> bool:
        """Whether the row is within its budget."""
        if self.budget is None:
            return True
        return self.ratio >= self.budget if self.faster else self.ratio <= self.budget


@dataclass(frozen=True)
class Lap:
    """Work to be timed: the function is called with each argument; one call is one unit."""

    function: Callable[[Any], object]
    arguments: Sequence[Any]


def race(
    laps: Mapping[Side, Lap], rounds: int = 25, round_seconds: float = 0.008
) -> dict[Side, float]:
    """Best seconds a call of each side; every round runs every side: all see the same machine."""
    repeated = {side: _fill(lap, round_seconds) for side, lap in laps.items()}
    best = dict.fromkeys(laps, float("inf"))
    sides = list(laps)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            # Who runs first changes, so that nobody always follows the same neighbour.
            start = turn % len(sides)
            for side in sides[start:] + sides[:start]:
                best[side] = min(best[side], _seconds_a_call(repeated[side]))
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return best


def _fill(lap: Lap, seconds: float) -> Lap:
    _seconds_a_call(lap)  # warms caches and the specialising interpreter
    once = _seconds_a_call(lap) * len(lap.arguments)
    return Lap(lap.function, list(lap.arguments) * max(1, round(seconds / once)))


def _seconds_a_call(lap: Lap) -> float:
    function, arguments = lap.function, lap.arguments
    start = perf_counter()
    for argument in arguments:
        function(argument)
    return (perf_counter() - start) / len(arguments)


def format_seconds(seconds: float) -> str:
    """Three significant digits with a unit that keeps the number short."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _three_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:#.3g}"


def format_table(title: str, rows: Iterable[Row]) -> str:
    """The rows below a title, each with what its timed part contains."""
    head = f"{title:<{NAME_WIDTH}}{'ours':>9}{'theirs':>9}{'ratio':>16}{'budget':>12}"
    lines = [head, "-" * WIDTH]
    for row in rows:
        lines += [_figures(row), *_indented(row.inside)]
    return "\n".join(lines)


def alone(title: str, rows: Sequence[Row]) -> int:
    """Print the table of one module that is run by itself; the exit code."""
    print(format_table(title, rows))
    return int(not all(row.ok for row in rows))


def _figures(row: Row) -> str:
    ratio = _three_digits(row.ratio) + (" x faster" if row.faster else " x as long")
    sign = "at least" if row.faster else "at most"
    budget = "none" if row.budget is None else f"{sign} {row.budget:g}"
    verdict = "" if row.budget is None else "ok" if row.ok else "MISSED"
    times = f"{format_seconds(row.ours):>9}{format_seconds(row.theirs):>9}"
    return f"{row.name:<{NAME_WIDTH}}{times}{ratio:>16}{budget:>12}{verdict:>8}".rstrip()


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
