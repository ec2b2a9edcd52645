"""This process → a name by which others can tell whether it is certainly dead."""

from __future__ import annotations

import os
from functools import lru_cache

from bylaw.runtime.processes import boot_id, is_gone, process_info, process_space

_PARTS = 4


def this_process() -> str:
    """`BOOT/SPACE/PID/STARTED`: no later process has the same name."""
    return _name(os.getpid())


@lru_cache(maxsize=1)
def _name(pid: int) -> str:
    found = process_info(pid)
    return "/".join((*_place(), str(pid), str(found.started if found else "")))


def is_dead(owner: str) -> bool:
    """Whether that process certainly does nothing any more; of unknown names nothing is certain."""
    parts = owner.split("/")
    if not _is_known(parts):
        return False
    boot, space = _place()
    if parts[0] != boot:
        return bool(parts[0] and boot)
    return parts[1] == space and is_gone(int(parts[2]), int(parts[3]))


def is_of_this_boot(owner: str) -> bool:
    """Whether that process ran since the system did: what it wrote and did not sync is there."""
    boot = _place()[0]
    return bool(boot) and owner.partition("/")[0] == boot


def is_alive(owner: str) -> bool:
    """Whether that process runs here; of unknown names it is not known."""
    parts = owner.split("/")
    return _is_known(parts) and tuple(parts[:2]) == _place() and not is_dead(owner)


def pid_of(owner: str) -> int:
    """The number of that process; 0 if the name does not tell."""
    parts = owner.split("/")
    return int(parts[2]) if len(parts) == _PARTS and parts[2].isdecimal() else 0


def _is_known(parts: list[str]) -> bool:
    return len(parts) == _PARTS and all(part.isdecimal() for part in parts[2:])


@lru_cache(maxsize=1)
def _place() -> tuple[str, str]:
    """This run of the system, and the space in which numbers of processes are unique."""
    try:
        return boot_id(), process_space()
    except OSError:
        return "", ""
