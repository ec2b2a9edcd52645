"""Read `/proc`: the parent and the start time of a process, and whether it can still act.

The system uses process ids again, so a process is identified by its id and its start time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.runtime.paths import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ANCESTORS = 100
MAX_COMMAND_BYTES = 4096
_ENDED = "ZX"
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
    ended = words[_STATE] in _ENDED and int(words[_THREADS]) <= 1
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
