"""Name a process so that other processes can check whether it has certainly exited."""

from __future__ import annotations

import os
from functools import lru_cache

from bylaw.runtime.processes import boot_id, is_gone, process_info, process_space

_PARTS = 4


def this_process() -> str:
    """Return `BOOT/SPACE/PID/STARTED` of this process; no later process has the same name."""
    return _name(os.getpid())


@lru_cache(maxsize=1)
def _name(pid: int) -> str:
    found = process_info(pid)
    return "/".join((*_place(), str(pid), str(found.started if found else "")))


def is_dead(owner: str) -> bool:
    """Check whether a process has certainly exited; False if the name is not known."""
    parts = owner.split("/")
    if not _is_known(parts):
        return False
    boot, space = _place()
    if parts[0] != boot:
        return bool(parts[0] and boot)
    return parts[1] == space and is_gone(int(parts[2]), int(parts[3]))


def is_of_this_boot(owner: str) -> bool:
    """Check whether a process ran since the last boot, so that its unsynced writes still exist."""
    boot = _place()[0]
    return bool(boot) and owner.partition("/")[0] == boot


def is_alive(owner: str) -> bool:
    """Check whether a process runs on this system; False if that cannot be determined."""
    parts = owner.split("/")
    return _is_known(parts) and tuple(parts[:2]) == _place() and not is_dead(owner)


def pid_of(owner: str) -> int:
    """Return the process id in a name; 0 if it has none."""
    parts = owner.split("/")
    return int(parts[2]) if len(parts) == _PARTS and parts[2].isdecimal() else 0


def _is_known(parts: list[str]) -> bool:
    return len(parts) == _PARTS and all(part.isdecimal() for part in parts[2:])


@lru_cache(maxsize=1)
def _place() -> tuple[str, str]:
    """Return the boot id of the system and the namespace in which process ids are unique."""
    try:
        return boot_id(), process_space()
    except OSError:
        return "", ""
