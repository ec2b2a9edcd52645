"""How long 1,000 rule files take to load: beside the TOML reader, and at the second start.

Each time is that of one call in a process of its own, because a second start has nothing of
the first but its cache on disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from rule_files import rule_files
from table import Row

if TYPE_CHECKING:
    from bylaw.hosts.python import Engine

FILES = 1000
STARTS = 8
COLD_AT_MOST = 5  # times the standard reader
SECOND_AT_MOST = 0.4  # of the first start
NO_CACHE = "none"  # a relative folder is not used
# One event for each trigger that the rules have.
HOOKS: tuple[dict[str, object], ...] = (
    {"kind": "turn.start"},
    {"kind": "tool.after", "tool": "grep", "status": "ok"},
    {"kind": "tool.after", "tool": "grep", "status": "error"},
    {"kind": "turn.end"},
)


def run() -> list[Row]:
    """Start many processes in turn; the best time of each sort counts."""
    with TemporaryDirectory() as folder:
        times = _measure(Path(folder))
    cold, second = times["cold"], times["second"]
    size = sum(map(len, rule_files(0, FILES).values())) // FILES
    rules = f"{FILES:,} TOML rules of {size} characters on average"
    return [
        Row(
            "load_paths, no cache / tomllib.loads",
            f"ours: find and read {rules}, check them with expressions and templates, make the "
            "book; theirs: the same texts in memory become maps",
            cold,
            times["tomllib"],
            COLD_AT_MOST,
            faster=False,
        ),
        Row(
            "second start / first start",
            "load_paths in a fresh process, modules imported before; second: texts and cache are "
            "read, digests compared, rules decoded; an expression is compiled when first asked",
            second,
            cold,
            SECOND_AT_MOST,
            faster=False,
        ),
        Row(
            "first start that writes the cache / none",
            "load_paths with an empty cache folder, and without one",
            times["first"],
            cold,
            faster=False,
        ),
        Row(
            "the same, and the first event of each hook",
            "load_paths, the index, and four events that ask every rule for the first time: "
            "second start / first start",
            times["second, asked"],
            times["cold, asked"],
            faster=False,
        ),
    ]


def _measure(folder: Path) -> dict[str, float]:
    root = folder / "root"
    (root / ".git").mkdir(parents=True)
    _write(root / "rules", rule_files(0, FILES))
    _write(root / "others", rule_files(FILES, FILES + 10))
    best: dict[str, float] = defaultdict(lambda: float("inf"))
    for number in range(STARTS):
        cache = folder / f"cache-{number}"
        cache.mkdir()
        # The first writes what the second reads.
        for sort, home in (("cold", NO_CACHE), ("first", str(cache)), ("second", str(cache))):
            for name, seconds in _start(root, sort, home).items():
                best[name] = min(best[name], seconds)
    return best


def _write(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)


def _start(root: Path, sort: str, cache: str) -> dict[str, float]:
    command = [sys.executable, __file__, sort]
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    done = subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.PIPE)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def _child(sort: str) -> None:
    """One start, in the root: prints its times."""
    import bylaw  # noqa: PLC0415 - the parent does not need it

    home = os.environ["XDG_CACHE_HOME"]
    os.environ["XDG_CACHE_HOME"] = NO_CACHE
    _ask_all(bylaw.Engine(bylaw.load("others")))  # other texts, so that every module is there
    os.environ["XDG_CACHE_HOME"] = home
    texts = [path.read_text() for path in sorted(Path("rules").iterdir())]
    before = perf_counter()  # not behind the load, which leaves more for the collector to look at
    for text in texts:
        tomllib.loads(text)
    begin = perf_counter()
    library = bylaw.load("rules")
    loaded = perf_counter()
    _ask_all(bylaw.Engine(library))
    asked = perf_counter()
    (one,) = library.books
    if library.diagnostics or sum(len(group.rules) for group in one.groups) != FILES:
        raise RuntimeError(f"not all rules loaded: {library.diagnostics[:3]}")
    times = {sort: loaded - begin, f"{sort}, asked": asked - begin, "tomllib": begin - before}
    print(json.dumps(times))


def _ask_all(engine: Engine) -> None:
    for event in HOOKS:
        engine.decide(event)


if __name__ == "__main__":
    _child(sys.argv[1])
