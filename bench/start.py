"""How long a process takes to start and end: `bylaw --version` beside an interpreter that idles."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from table import Row

STARTS = 60
AT_MOST = 3
IDLE = [sys.executable, "-I", "-c", "pass"]
BYLAW = [str(Path(sys.executable).with_name("bylaw")), "--version"]


def run() -> list[Row]:
    """Start both in turn, many times; best and median."""
    for command in (IDLE, BYLAW):
        _seconds(command)  # the first start writes byte code and fills the page cache
    idle, bylaw = [], []
    for _ in range(STARTS):
        idle.append(_seconds(IDLE))
        bylaw.append(_seconds(BYLAW))
    inside = f"one process from spawn to exit, {STARTS} of each in turn, byte code written before"
    return [
        Row(f"--version / python -I -c pass, {name}", inside, ours, theirs, AT_MOST, faster=False)
        for name, ours, theirs in (
            ("best", min(bylaw), min(idle)),
            ("median", median(bylaw), median(idle)),
        )
    ]


def _seconds(command: list[str]) -> float:
    # posix_spawn, because it adds the least of its own to both sides.
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begin = perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
    _, status = os.waitpid(process, 0)
    seconds = perf_counter() - begin
    if status:
        raise RuntimeError(f"`{' '.join(command)}` ended with {os.waitstatus_to_exitcode(status)}")
    return seconds
