"""`/proc` → what is known of processes: who started whom, when, and whether it can still act.

A number of a process is used again after it has ended, so a process is told by its number and by
the moment when it started.
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
# Where the words behind the name stand, see proc(5).
_STATE, _PARENT, _SESSION, _TERMINAL, _THREADS, _STARTED = 0, 1, 3, 4, 17, 19


class ProcessInfo(Struct, frozen=True):
    """A process: its parent, and when it started, in ticks since the system did.

    `session` is the number of the process that leads its session, `terminal` that of the terminal
    which controls the session, 0 if none does.
    """

    pid: int
    name: str
    parent: int
    started: int
    ended: bool
    session: int
    terminal: int


def process_info(pid: int) -> ProcessInfo | None:
    """What is known of a process; None if there is none, or it may not be looked at."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - no more than this is needed
            head, _, tail = as_text(stream.read(MAX_COMMAND_BYTES)).rpartition(")")
    except OSError:
        return None
    # The name may hold anything, also brackets and blanks.
    words = tail.split()
    ended = words[_STATE] in _ENDED and int(words[_THREADS]) <= 1
    name = head.partition("(")[2]
    places = (_PARENT, _STARTED, _SESSION, _TERMINAL)
    parent, started, session, terminal = (int(words[place]) for place in places)
    return ProcessInfo(pid, name, parent, started, ended, session, terminal)


def is_gone(pid: int, started: int) -> bool:
    """Whether the process that had this number then certainly does nothing any more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is there, and another user's
    found = process_info(pid)
    return found is not None and (found.started != started or found.ended)


def ancestors() -> Iterator[tuple[ProcessInfo, tuple[str, ...]]]:
    """The processes that led to this one, the nearest first, each with its command line.

    In a terminal they end with the leader of its session: what opened the terminal is not who
    types in it, and an agent's editor may have opened it for a person. Without a terminal nobody
    types, so all of them count, whatever session they are in.
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
    """The words that a process was started with; none if they cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:  # noqa: PTH123 - same
            data = stream.read(MAX_COMMAND_BYTES)
    except OSError:
        return ()
    return tuple(as_text(word) for word in data.split(b"\0") if word)


def boot_id() -> str:
    """What tells this run of the system from any other; OSError if it does not say."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:  # noqa: PTH123 - same
        return stream.read().strip()


def process_space() -> str:
    """Within which numbers of processes are unique: the system, or a container."""
    return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - a Path is not needed
