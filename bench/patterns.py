"""Which of many patterns match a path: Bylaw's index beside peers and hand-written Python.

All sides answer the same question, the numbers of all patterns that match, and are checked to
give the same answers. Reading patterns and building tables is done before, by everybody.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from time import perf_counter
from typing import TYPE_CHECKING

import pattern_mix as mix
from install_peers import missing_peers
from table import Lap, Row, format_table, race

from bylaw.paths import pattern
from bylaw.paths.index import PathIndex

if TYPE_CHECKING:
    from collections.abc import Callable

    Side = Callable[[str], list[int]]

PATHS = 100_000
SAMPLE = 100  # paths for sides that try every pattern: there each path costs about the same
AT_LEAST_FASTER = 30
AT_MOST_GROWTH = 3
ROUNDS = 7
PEER_NAMES = ("wcmatch", "pathspec", "google-re2")


def run() -> list[Row]:
    """Race all sides at 1,000 patterns, then the index alone at 100 and 10,000."""
    paths = mix.paths(PATHS)
    return [*_one_by_one(paths), *_re2_set(paths), *_growth(paths), *_weak_case(paths)]


def ours(patterns: list[str]) -> Side:
    """The index."""
    return PathIndex([pattern(text) for text in patterns]).matching


def by_hand(patterns: list[str]) -> Side:
    """One compiled regular expression a pattern, tried one after the other."""
    tests = [re.compile(mix.as_regex(text), re.DOTALL).fullmatch for text in patterns]
    return lambda path: [n for n, test in enumerate(tests) if test(path)]


def with_wcmatch(patterns: list[str]) -> Side:
    """Compiled matchers of wcmatch."""
    from wcmatch import glob  # noqa: PLC0415 - may not be installed

    flags = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.CASE
    tests = [glob.compile(mix.as_glob(text), flags=flags).match for text in patterns]
    return lambda path: [n for n, test in enumerate(tests) if test(path)]


def with_pathspec(patterns: list[str]) -> Side:
    """Specs of pathspec, anchored, one line for each alternative."""
    from pathspec import PathSpec  # noqa: PLC0415 - may not be installed

    specs = [
        PathSpec.from_lines("gitignore", [f"/{glob}" for glob in mix.as_globs_without_braces(text)])
        for text in patterns
    ]
    tests = [spec.match_file for spec in specs]
    return lambda path: [n for n, test in enumerate(tests) if test(path)]


def with_re2(patterns: list[str]) -> Side:
    """One set of re2, which answers for all patterns at once, with more memory than it needs."""
    import re2  # noqa: PLC0415 - may not be installed

    options = re2.Options()
    options.dot_nl = True
    options.max_mem = 1 << 30
    every = re2.Set.FullMatchSet(options)
    for text in patterns:
        every.Add(mix.as_regex(text))
    every.Compile()
    return lambda path: sorted(every.Match(path) or ())


# Sides that try every pattern get a sample of the paths.
ONE_BY_ONE = {
    "hand-written Python": (by_hand, "one compiled re.fullmatch a pattern"),
    "wcmatch": (with_wcmatch, "one compiled matcher a pattern"),
    "pathspec": (with_pathspec, "one compiled spec a pattern"),
}
WITH_BUDGET = {"wcmatch", "pathspec"}


def _one_by_one(paths: list[str]) -> list[Row]:
    patterns = mix.patterns(1_000)
    index = ours(patterns)
    sample = paths[:: PATHS // SAMPLE]
    others = _installed(patterns)
    for side in others.values():
        _check_same([index, side], sample)
    laps = {name: Lap(side, sample) for name, side in others.items()}
    seconds = race({"ours": Lap(index, paths), **laps}, rounds=ROUNDS)
    inside = f"all matches of one path; ours: mean of {PATHS:,}; theirs: mean of {SAMPLE}, "
    return [
        Row(
            f"1,000 patterns: {_with_version(name)}",
            inside + ONE_BY_ONE[name][1],
            seconds["ours"],
            seconds[name],
            budget=AT_LEAST_FASTER if name in WITH_BUDGET else None,
        )
        for name in others
    ]


def _installed(patterns: list[str]) -> dict[str, Side]:
    found = {}
    for name, (make, _) in ONE_BY_ONE.items():
        try:
            found[name] = make(patterns)
        except ImportError:
            continue  # run.py and main() name what is not installed
    return found


def _check_same(sides: list[Side], paths: list[str]) -> None:
    for path in paths:
        first, *others = (side(path) for side in sides)
        if any(other != first for other in others):
            raise RuntimeError(f"the sides do not agree about {path}")


def _with_version(name: str) -> str:
    return f"{name} {version(name)}" if name in PEER_NAMES else name


def _re2_set(paths: list[str]) -> list[Row]:
    try:
        return [*_two_passes(paths, 1_000), _two_passes(paths[: PATHS // 100], 10_000)[0]]
    except ImportError:
        return []


# A set of re2 builds its automaton while it reads, so it is slow on what is new to it and fast
# on what it has read before. We compile a pattern when a path first meets it.
def _two_passes(paths: list[str], size: int) -> list[Row]:
    patterns = mix.patterns(size)
    re.purge()  # nothing that was compiled in another row may help
    sides = [ours(patterns), with_re2(patterns)]
    passes = [[_seconds_a_path(side, paths) for side in sides] for _ in range(2)]
    _check_same(sides, paths[:SAMPLE])
    inside = f"all matches of one path, mean of {len(paths):,}, "
    kinds = (("new paths", "never seen by either side"), ("known paths", "all seen before by both"))
    return [
        Row(f"{size:,} patterns, {kind}: google-re2 set", inside + what, *seconds)
        for (kind, what), seconds in zip(kinds, passes, strict=True)
    ]


def _seconds_a_path(side: Side, paths: list[str]) -> float:
    start = perf_counter()
    for path in paths:
        side(path)
    return (perf_counter() - start) / len(paths)


def _growth(paths: list[str]) -> list[Row]:
    sizes = (100, 10_000)
    laps = {str(size): Lap(ours(mix.patterns(size)), paths) for size in sizes}
    seconds = race(laps, rounds=ROUNDS)
    inside = f"all matches of one path, mean of {PATHS:,}; 10,000 patterns beside 100"
    few, many = (seconds[str(size)] for size in sizes)
    return [Row("100 -> 10,000 patterns", inside, many, few, AT_MOST_GROWTH, faster=False)]


def _weak_case(paths: list[str]) -> list[Row]:
    patterns = mix.patterns_without_literals(1_000)
    sample = paths[:: PATHS // SAMPLE]
    sides = {"ours": ours(patterns), "by hand": by_hand(patterns)}
    _check_same(list(sides.values()), sample)
    seconds = race({name: Lap(side, sample) for name, side in sides.items()}, rounds=ROUNDS)
    inside = f"all matches of one path, mean of {SAMPLE}; patterns such as `*_*/{{name}}/??*`"
    name = "weak case, 1,000 without literals: by hand"
    return [Row(name, inside, seconds["ours"], seconds["by hand"])]


def main() -> int:
    """Print the table; 1 past a budget."""
    rows = run()
    print(format_table("path patterns", rows))
    for name in set(PEER_NAMES) & missing_peers().keys():
        print(f"not measured as pinned: {name}")
    return int(not all(row.ok for row in rows))


if __name__ == "__main__":
    sys.exit(main())
