"""Encode a checked command for its supervisor: program, folder, environment, limits."""

from __future__ import annotations

import marshal
import os
import resource
from typing import TYPE_CHECKING

from bylaw.runtime.command import COMMAND_PATH
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.watched import limits
from bylaw.runtime.watched.watcher import LENGTH

if TYPE_CHECKING:
    from bylaw.runtime.watched.checks import Checked
    from bylaw.runtime.watched.order import Command

# The variables of our environment that a command sees. PATH is always set by us (DW-A27).
USUAL = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "TMPDIR")
# Not passed into bubblewrap, which has its own temporary folder.
_TEMPORARY = "TMPDIR"


def request(command: Command, ready: Checked, *, isolated: bool) -> bytes:
    """Return the bytes that the supervisor reads."""
    told = marshal.dumps(
        {
            "program": as_bytes(ready.program),
            "argv": ready.argv,
            "environment": _environment(command.env, isolated=isolated),
            "folder": ready.cwd.as_words(),
            "folders": [root.as_words() for root in ready.roots] if isolated else [],
            "limits": _limits(),
            "processes": limits.MAX_PROCESSES,
            "alone": isolated,
            "tidy": command.tidy,
        }
    )
    return len(told).to_bytes(LENGTH, "big") + told


def _environment(names: tuple[str, ...], *, isolated: bool) -> dict[bytes, bytes]:
    seen = {*USUAL, *names} - ({_TEMPORARY} if isolated else set())
    ours = {name.encode(): os.environb.get(name.encode()) for name in seen}
    known = {name: value for name, value in ours.items() if value is not None}
    return known | {b"PATH": COMMAND_PATH.encode()}


def _limits() -> list[tuple[int, int]]:
    found = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, limits.MAX_FILE)]
    if os.geteuid() != 0:  # not for root, whose processes the supervisor counts
        found.append((resource.RLIMIT_NPROC, _tasks_of_user() + limits.MAX_PROCESSES))
    return found


def _tasks_of_user() -> int:
    """Count the threads of the user; the limit covers all of them, also those of other programs."""
    found = 0
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are enough
        if name.isdigit():
            try:
                entry = os.stat(f"/proc/{name}/task")  # noqa: PTH116 - one call each
            except OSError:
                continue
            # A folder has two links in addition to one for each folder in it.
            found += entry.st_nlink - 2 if entry.st_uid == os.geteuid() else 0
    return found
