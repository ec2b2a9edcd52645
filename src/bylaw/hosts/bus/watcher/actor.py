"""Guess who changed a file. The guess grants nothing (LD-014, LD-015).

In this order: `human` if an editor has its lock file in the same folder; the known program that has
the file open; the known program that works in the root, if it is the only one; `unknown`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.vocabulary import ActorHint
from bylaw.store.paths import as_bytes, as_text, is_inside
from bylaw.store.system import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROGRAMS = {
    "antigravity": ActorHint.ANTIGRAVITY,
    "cursor": ActorHint.CURSOR,
    "cursor-agent": ActorHint.CURSOR,
    "claude": ActorHint.CLAUDE,
    "code": ActorHint.VSCODE,
    "code-oss": ActorHint.VSCODE,
    "code-insiders": ActorHint.VSCODE,
    "codium": ActorHint.VSCODE,
}

READ_EVERY_S = 2.0
MAX_READ_S = 0.002
MAX_OPEN_FILES = 200  # of a process
MAX_PATHS = 50  # above this, lock and open files are not checked: no person changes so many

_MARKS = (".{}.swp", ".{}.swo", ".#{}", ".~lock.{}#")
_ENDING = re.compile(r"\.[cm]?js$|\.py$")


class _KnownProcess(Struct, frozen=True):
    """A process of a known program that works below the root."""

    pid: str
    actor: ActorHint


class ActorHints:
    """Guess who changed files below a root."""

    def __init__(self, root: str, clock: Callable[[], float]) -> None:
        self._root = root
        self._clock = clock
        self._read_at = float("-inf")
        self._workers: list[_KnownProcess] = []

    def guess(self, paths: Iterable[str]) -> dict[str, ActorHint]:
        """Guess who changed each of these paths."""
        paths = list(paths)
        self._read_processes()
        someone = {worker.actor for worker in self._workers}
        only = someone.pop() if len(someone) == 1 else ActorHint.UNKNOWN
        having = self._open_files() if len(paths) <= MAX_PATHS else {}
        guesses = dict.fromkeys(paths, only)
        guesses |= {path: having[path] for path in paths if path in having}
        if len(paths) <= MAX_PATHS:
            guesses |= {path: ActorHint.HUMAN for path in paths if self._is_marked(path)}
        return guesses

    def _is_marked(self, path: str) -> bool:
        folder, _, name = f"{self._root}/{path}".rpartition("/")
        return any(os.path.lexists(as_bytes(f"{folder}/{mark.format(name)}")) for mark in _MARKS)

    def _read_processes(self) -> None:
        now = self._clock()
        if now < self._read_at + READ_EVERY_S:
            return
        self._read_at = now
        self._workers = []
        # Newest first: programs that work here were probably started late.
        for pid in sorted((p for p in _list_folder("/proc") if p.isdigit()), key=int, reverse=True):
            if self._clock() > now + MAX_READ_S:
                return
            if (actor := _program_of(pid)) and is_inside(
                _link_target(f"/proc/{pid}/cwd"), self._root
            ):
                self._workers.append(_KnownProcess(pid, actor))

    def _open_files(self) -> dict[str, ActorHint]:
        """The files below the root that known programs have open."""
        until = self._clock() + MAX_READ_S
        found: dict[str, ActorHint] = {}
        for worker in self._workers:
            for number in _list_folder(f"/proc/{worker.pid}/fd")[:MAX_OPEN_FILES]:
                if self._clock() > until:
                    return found
                target = _link_target(f"/proc/{worker.pid}/fd/{number}")
                if is_inside(target, self._root):
                    found[target[len(self._root) + 1 :]] = worker.actor
        return found


def _program_of(pid: str) -> ActorHint | None:
    """The known program that a process runs, if any."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as stream:  # noqa: PTH123 - a Path is not needed
            name = as_text(stream.read(32)).strip().lower()
    except OSError:
        return None
    if name in PROGRAMS:
        return PROGRAMS[name]
    if not name.startswith(("node", "mainthread", "bun", "python")):
        return None
    words = [_ENDING.sub("", word.rpartition("/")[2]) for word in command_line(int(pid))[:2]]
    return next((PROGRAMS[word] for word in words if word in PROGRAMS), None)


def _list_folder(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - a Path is not needed
    except OSError:
        return []


def _link_target(link: str) -> str:
    try:
        return as_text(os.readlink(os.fsencode(link)))  # noqa: PTH115 - a Path takes no bytes
    except OSError:
        return ""
