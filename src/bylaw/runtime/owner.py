"""A process → a name by which others can tell whether it still lives."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

_START_TIME = 19  # of what stands behind the name of the program in /proc/PID/stat


def this_process() -> str:
    """`BOOT/PID/START`: no later process has the same name."""
    return _name(os.getpid())


@lru_cache(maxsize=8)
def _name(pid: int) -> str:
    return f"{boot_id()}/{pid}/{start_time(pid)}"


def is_alive(owner: str) -> bool:
    """Whether that process may still be running; unknown names are taken to be."""
    boot, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    if not pid.isdecimal() or boot != boot_id():
        return not pid.isdecimal()
    return started == start_time(int(pid)) and bool(started)


@lru_cache(maxsize=1)
def boot_id() -> str:
    """The name of this run of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def start_time(pid: int) -> str:
    """When a process began, in ticks since the machine did; empty if there is none."""
    try:
        found = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    return found.rpartition(b")")[2].split()[_START_TIME].decode("ascii")
