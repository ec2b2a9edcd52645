"""The clock, the name of the user, and processes as `/proc` shows them.

The system uses process ids again, so a process is identified by its id and its start time. Records
and locks store the name `BOOT/SPACE/PID/STARTED`: it shows whether a process has certainly exited.
"""

from __future__ import annotations

import os
import pwd
from functools import lru_cache
from time import time_ns
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.store.paths import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_NS_OF_MS = 1_000_000


def now_ms() -> int:
    """Return milliseconds since 1970, in UTC."""
    return time_ns() // _NS_OF_MS


def user_name() -> str:
    """Return the account name, or the user id if it has no name."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


MAX_ANCESTORS = 100
MAX_COMMAND_BYTES = 4096
_ENDED_STATES = "ZX"
# Positions of the words after the name, see proc(5).
_STATE, _PARENT, _SESSION, _TERMINAL, _THREADS, _STARTED = 0, 1, 3, 4, 17, 19


class ProcessInfo(Struct, frozen=True):
    """A process: its parent, and its start time in ticks since boot.

    `session` is the id of the process that leads its session. `terminal` is the number of the
    terminal that controls the session, 0 for none.
    """

    pid: int
    name: str
    parent: int
    started: int
    ended: bool
    session: int
    terminal: int


def process_info(pid: int) -> ProcessInfo | None:
    """Read the data of a process; None if it does not exist or must not be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - a Path is not needed
            head, _, tail = as_text(stream.read(MAX_COMMAND_BYTES)).rpartition(")")
    except OSError:
        return None
    # The name can contain any character, including parentheses and spaces.
    words = tail.split()
    ended = words[_STATE] in _ENDED_STATES and int(words[_THREADS]) <= 1
    name = head.partition("(")[2]
    places = (_PARENT, _STARTED, _SESSION, _TERMINAL)
    parent, started, session, terminal = (int(words[place]) for place in places)
    return ProcessInfo(pid, name, parent, started, ended, session, terminal)


def is_gone(pid: int, started: int) -> bool:
    """Check whether the process with this id and start time has certainly exited."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # the process exists and belongs to another user
    found = process_info(pid)
    return found is not None and (found.started != started or found.ended)


def ancestors() -> Iterator[tuple[ProcessInfo, tuple[str, ...]]]:
    """Yield the ancestors of this process, nearest first, each with its command line.

    In a terminal, the search stops before the leader of its session. The program that opened the
    terminal is not the one that types in it: an agent's editor may have opened it for a person.
    Without a terminal nothing is typed, so all ancestors are included, in any session.
    """
    found = process_info(os.getpid())
    leader = found.session if found is not None and found.terminal else 0
    for _ in range(MAX_ANCESTORS):
        if found is None or found.pid == leader:
            return
        found = process_info(found.parent)
        if found is not None:
            yield found, command_line(found.pid)


def command_line(pid: int) -> tuple[str, ...]:
    """Return the command line of a process; empty if it cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:  # noqa: PTH123 - same
            data = stream.read(MAX_COMMAND_BYTES)
    except OSError:
        return ()
    return tuple(as_text(word) for word in data.split(b"\0") if word)


def boot_id() -> str:
    """Return the id of this boot of the system; OSError if it cannot be read."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:  # noqa: PTH123 - same
        return stream.read().strip()


def process_space() -> str:
    """Return the namespace in which process ids are unique: the system or a container."""
    return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - a Path is not needed


_PARTS = 4


def own_process_name() -> str:
    """Return `BOOT/SPACE/PID/STARTED` of this process; no later process has the same name."""
    return _process_name(os.getpid())


@lru_cache(maxsize=1)
def _process_name(pid: int) -> str:
    found = process_info(pid)
    return "/".join((*_boot_and_space(), str(pid), str(found.started if found else "")))


def is_dead(owner: str) -> bool:
    """Check whether a process has certainly exited; False if the name is not known."""
    parts = owner.split("/")
    if not _is_valid_name(parts):
        return False
    boot, space = _boot_and_space()
    if parts[0] != boot:
        return bool(parts[0] and boot)
    return parts[1] == space and is_gone(int(parts[2]), int(parts[3]))


def is_of_this_boot(owner: str) -> bool:
    """Check whether a process ran since the last boot, so that its unsynced writes still exist."""
    boot = _boot_and_space()[0]
    return bool(boot) and owner.partition("/")[0] == boot


def is_alive(owner: str) -> bool:
    """Check whether a process runs on this system; False if that cannot be determined."""
    parts = owner.split("/")
    return _is_valid_name(parts) and tuple(parts[:2]) == _boot_and_space() and not is_dead(owner)


def pid_of(owner: str) -> int:
    """Return the process id in a name; 0 if it has none."""
    parts = owner.split("/")
    return int(parts[2]) if len(parts) == _PARTS and parts[2].isdecimal() else 0


def _is_valid_name(parts: list[str]) -> bool:
    return len(parts) == _PARTS and all(part.isdecimal() for part in parts[2:])


@lru_cache(maxsize=1)
def _boot_and_space() -> tuple[str, str]:
    """Return the boot id of the system and the namespace in which process ids are unique."""
    try:
        return boot_id(), process_space()
    except OSError:
        return "", ""
