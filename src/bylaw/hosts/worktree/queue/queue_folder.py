"""Open and lock the folder of a queue."""

from __future__ import annotations

import os
import weakref
from contextlib import contextmanager
from fcntl import LOCK_UN, flock
from stat import S_IMODE
from threading import Lock
from typing import TYPE_CHECKING

from bylaw.hosts.worktree.policy_folders import (
    FOLDER_MODE,
    POLICY,
    PolicyFolder,
    existing_policy_folder,
    policy_folder,
)
from bylaw.runtime.brief_lock import wait_for_lock
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUEUE = f"{POLICY}/{PolicyFolder.QUEUE}"


class QueueFolder:
    """The folder of a queue. It is opened at first use, and again if it was replaced.

    The lock is on the folder itself, so it disappears with the folder. `note` receives reports of
    what was corrected.
    """

    def __init__(self, root: str, note: Callable[[str], None]) -> None:
        self._root = root
        self._path = as_bytes(f"{root}/{QUEUE}")
        self._note = note
        self._among_threads = Lock()
        self._open: tuple[int, int] | None = None  # the descriptor, and the process that opened it
        self._close: weakref.finalize[..., QueueFolder] | None = None

    @contextmanager
    def locked(self, *, make: bool) -> Iterator[int | None]:
        """Lock the folder, None if it is missing. Raise BylawError if it cannot be used."""
        with self._among_threads:
            folder = self._locked(make=make)
            try:
                yield folder
            finally:
                if folder is not None:
                    flock(folder, LOCK_UN)

    def _locked(self, *, make: bool) -> int | None:
        while True:
            folder = self._usable(make=make)
            if folder is None:
                return None
            wait_for_lock(folder, QUEUE)
            if self._is_there(folder):
                return folder
            flock(folder, LOCK_UN)

    def _usable(self, *, make: bool) -> int | None:
        if self._open and self._is_as_before(*self._open):
            return self._open[0]
        if self._close is not None:
            self._close()
        self._open = None
        open_folder = policy_folder if make else existing_policy_folder
        with open_folder(self._root, PolicyFolder.QUEUE) as found:
            if found is None:
                return None
            for one in found.notes:
                self._note(one)
            folder = os.dup(found.descriptor)
        self._open = folder, os.getpid()
        self._close = weakref.finalize(self, os.close, folder)
        return folder

    def _is_as_before(self, folder: int, owner: int) -> bool:
        # A forked process would share the lock, so it must open the folder itself.
        found = os.fstat(folder)
        ours = (S_IMODE(found.st_mode), found.st_uid) == (FOLDER_MODE, os.geteuid())
        return owner == os.getpid() and ours and self._is_there(folder)

    def _is_there(self, folder: int) -> bool:
        try:
            found = os.stat(self._path, follow_symlinks=False)  # noqa: PTH116 - bytes
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(folder))
