"""Guess who changed a file. The guess grants nothing (LD-014, LD-015).

In this order:

1. `human`: an editor has its lock file in the same folder (Vim's `.name.swp`, Emacs' `.#name`,
   LibreOffice's `.~lock.name#`).
2. The program that has the file open: antigravity, cursor, claude or vscode. If none has, the one
   of these that works in the root, if it is the only one.
3. `unknown`.

Processes are read every `LOOK_AGAIN_S` seconds at most, and for at most `LONGEST_LOOK_S`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.vocabulary import ActorHint
from bylaw.runtime.paths import as_bytes, as_text, lies_in
from bylaw.runtime.processes import command_line

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

LOOK_AGAIN_S = 2.0
LONGEST_LOOK_S = 0.002
MAX_OPEN_FILES = 200  # of a process
MAX_PATHS = 50  # above this, lock and open files are not checked: no person changes so many

_MARKS = (".{}.swp", ".{}.swo", ".#{}", ".~lock.{}#")
_ENDING = re.compile(r"\.[cm]?js$|\.py$")


class _Worker(Struct, frozen=True):
    """A process of a known program that works below the root."""

    pid: str
    actor: ActorHint


class ActorHints:
    """Guess who changed files below a root."""

    def __init__(self, root: str, clock: Callable[[], float]) -> None:
        self._root = root
        self._clock = clock
        self._looked = float("-inf")
        self._workers: list[_Worker] = []

    def guess(self, paths: Iterable[str]) -> dict[str, ActorHint]:
        """Guess who changed each of these paths."""
        paths = list(paths)
        self._look()
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

    def _look(self) -> None:
        now = self._clock()
        if now < self._looked + LOOK_AGAIN_S:
            return
        self._looked = now
        self._workers = []
        # Newest first: programs that work here were probably started late.
        for pid in sorted((p for p in _listed("/proc") if p.isdigit()), key=int, reverse=True):
            if self._clock() > now + LONGEST_LOOK_S:
                return
            if (actor := _actor(pid)) and lies_in(_target(f"/proc/{pid}/cwd"), self._root):
                self._workers.append(_Worker(pid, actor))

    def _open_files(self) -> dict[str, ActorHint]:
        """The files below the root that known programs have open."""
        until = self._clock() + LONGEST_LOOK_S
        found: dict[str, ActorHint] = {}
        for worker in self._workers:
            for number in _listed(f"/proc/{worker.pid}/fd")[:MAX_OPEN_FILES]:
                if self._clock() > until:
                    return found
                target = _target(f"/proc/{worker.pid}/fd/{number}")
                if lies_in(target, self._root):
                    found[target[len(self._root) + 1 :]] = worker.actor
        return found


def _actor(pid: str) -> ActorHint | None:
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


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - a Path is not needed
    except OSError:
        return []


def _target(link: str) -> str:
    try:
        return as_text(os.readlink(os.fsencode(link)))  # noqa: PTH115 - a Path takes no bytes
    except OSError:
        return ""
