"""A stop check of an agent under file policies, beside `deepwork`, and beside one `git status`.

Inside the timed part: the top of the repository and its policies are found, policies are read and
checked, git is asked what changed, every policy is judged, the decision is recorded. Files,
policies and byte code lie ready; files changed in pairs, so that nothing has to be told or run.
Ours is measured three times: as a process, as theirs is; in a process that runs and has nothing of
policies; and in one that has them loaded, as a chat has.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import policy_contest
from install_peers import installed_version
from policy_sides import Place
from table import Row, alone, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PEER = "deepwork"
SIZES = (10, 1_000, 50_000)
COUNTS = (3, 30, 300)
CHANGED_PAIRS = 5
AREAS = 3  # so many policies are about files that there are
BASELINES = ("base", "default_tip", "prompt")
POLICIES = 100
AT_MOST_ONE, AT_MOST_ALL, AT_MOST_GROWTH = 1.5, 2, 2
ROUNDS, ROUNDS_BESIDE, ROUNDS_OF_GROWTH = 12, 2, 6
SECONDS_OF_STOPS = 0.6  # as many as that allows: most of them are short
RACY_S = 1.1  # git reads files again that are as young as its index, and counts in seconds
_POLICY = """\
---
name: Pairs {number}
set:
  - src{number}/{{path}}.py
  - tests{number}/{{path}}_test.py
compare_to: {baseline}
---
{{trigger_files}} changed without {{expected_files}}.
"""


class Times(NamedTuple):
    """Seconds of one stop check.

    Ours in a process that has the policies loaded, in one that loads them, as a process; theirs.
    """

    loaded: float
    warm: float
    cold: float
    theirs: float


def run() -> list[Row]:
    """All rows of file policies."""
    kept = os.environ.get("XDG_CACHE_HOME")
    with TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        try:
            return _rows(Path(folder).resolve())
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if kept is not None:
                os.environ["XDG_CACHE_HOME"] = kept


def _rows(folder: Path) -> list[Row]:
    is_there = installed_version(PEER) is not None
    rows = policy_contest.run(folder) if is_there else []
    growth: list[Row] = []
    for size in SIZES:
        place = _place(folder / str(size), size)
        if is_there:
            times = _measured(place, COUNTS, ROUNDS_BESIDE, with_theirs=True)
            rows += [_beside(size, count, times[count]) for count in COUNTS]
        growth += _growth(size, place)
    return [*rows, *growth, *_beside_status(place)]


def _place(root: Path, size: int) -> Place:
    place = Place(root)
    stems = [(number % AREAS, f"part{number // 1000}/f{number}") for number in range(size // 2)]
    pairs = [(f"src{a}/{stem}.py", f"tests{a}/{stem}_test.py") for a, stem in stems]
    place.begin({path: f"x = {path!r}\n" for pair in pairs for path in pair})
    changed = [path for pair in pairs[:CHANGED_PAIRS] for path in pair]
    place.write(dict.fromkeys(changed, "x = 1\n"))
    time.sleep(RACY_S)
    place.git("read-tree", "HEAD")
    place.git("add", "-A")
    return place


def _policies(count: int, baselines: tuple[str, ...] = BASELINES[:1]) -> dict[str, str]:
    return {
        f"pairs-{number}": _POLICY.format(
            number=number, baseline=baselines[number % len(baselines)]
        )
        for number in range(count)
    }


def _measured(
    place: Place, counts: Sequence[int], rounds: int, *, with_theirs: bool
) -> dict[int, Times]:
    """Best times by the number of policies; all of them take turns."""
    once = (place.ours_quiet, place.ours_cold, *([place.theirs_quiet] if with_theirs else []))
    best = {count: [float("inf")] * len(Times._fields) for count in counts}
    for turn in range(-1, rounds):  # the first one does not count
        for count in counts:
            place.lay_out(_policies(count))
            found = [_loaded_seconds(place), *map(_seconds, once)]
            if turn >= 0:
                best[count][: len(found)] = map(min, best[count], found)
    return {count: Times(*times) for count, times in best.items()}


def _loaded_seconds(place: Place) -> float:
    with place.ours_loaded() as stop:
        stop()  # the first one makes the index of all patterns
        until = time.perf_counter() + SECONDS_OF_STOPS
        best = _seconds(stop)
        while time.perf_counter() < until:
            best = min(best, _seconds(stop))
        return best


def _best(*sides: Callable[[], None]) -> list[float]:
    """The best time of each; they take turns, and the first one does not count."""
    turns = [[_seconds(side) for side in sides] for _ in range(ROUNDS + 1)]
    return [min(times) for times in zip(*turns[1:], strict=True)]


def _seconds(side: Callable[[], None]) -> float:
    begun = time.perf_counter()
    side()
    return time.perf_counter() - begun


def _beside(size: int, count: int, times: Times) -> Row:
    warm = f"in a process that runs {format_seconds(times.warm)}"
    loaded = f"in one that has the policies loaded {format_seconds(times.loaded)}"
    inside = f"one process of each from start to end; ours {warm}, {loaded}"
    name = f"{size:,} files, {count} policies: {PEER}"
    return Row(name, inside, times.cold, times.theirs)


def _growth(size: int, place: Place) -> list[Row]:
    """Has budgets, so it has more rounds than what is told beside theirs, which takes long."""
    ends = COUNTS[0], COUNTS[-1]
    few, many = _measured(place, ends, ROUNDS_OF_GROWTH, with_theirs=False).values()
    about = f"{AREAS} policies are about files that changed"
    read = f"{about}; all are read and checked"
    name = f"{size:,} files: {COUNTS[-1]} policies / {COUNTS[0]}"
    loaded = f"{about}; in a process that has them loaded"
    return [
        Row(name, f"{read}; a process", many.cold, few.cold, AT_MOST_GROWTH, faster=False),
        Row(name, loaded, many.loaded, few.loaded, AT_MOST_GROWTH, faster=False),
        Row(name, f"{read}; in a process that runs", many.warm, few.warm, faster=False),
    ]


def _beside_status(place: Place) -> list[Row]:
    return [
        _status_row(place, BASELINES[:1], AT_MOST_ONE),
        _status_row(place, BASELINES, AT_MOST_ALL),
    ]


def _status_row(place: Place, baselines: tuple[str, ...], budget: float) -> Row:
    place.lay_out(_policies(POLICIES, baselines))
    place.capture()
    ours, theirs = _best(place.ours_quiet, place.status)
    many = "one baseline" if len(baselines) == 1 else f"{len(baselines)} baselines"
    inside = f"{POLICIES} policies, {many}, in a process that runs; theirs: one `git status`"
    name = f"{SIZES[-1]:,} files, {many} / git status"
    return Row(name, inside, ours, theirs, budget, faster=False)


if __name__ == "__main__":
    if installed_version(PEER) is None:
        print(f"{PEER} is not measured: bench/install_peers.py installs it")
    sys.exit(alone("file policies", run()))
