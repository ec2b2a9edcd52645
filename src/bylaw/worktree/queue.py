"""The queue of file policies: a folder with one file per entry, shared by many processes.

    .deepwork/tmp/policy/queue/HASH.STATUS.json

Each process locks the folder to read or write, so only one process creates an entry. An entry
always has exactly one file. To change it, the new content is written to `NAME.new`, the old file is
renamed to its new name, and `NAME.new` replaces it. If a process dies in between, the next reader
finds that the name and the content differ, and completes the change. The folder may be removed at
any time; the lock is on the folder itself and disappears with it.
"""

from __future__ import annotations

import os
import weakref
from collections import defaultdict
from contextlib import contextmanager, suppress
from errno import ELOOP, ENXIO
from fcntl import LOCK_UN, flock
from shutil import rmtree
from stat import S_IMODE
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import OPEN_STATUSES, EntryStatus
from bylaw.store.files import open_regular, os_error_text, read_at_most, remove, rename, try_remove
from bylaw.store.locks import wait_for_lock
from bylaw.store.paths import as_bytes
from bylaw.worktree.entry import (
    ENTRY_NAME,
    HASH,
    MAX_ENTRY_BYTES,
    CorruptEntryError,
    check_entry,
    entry_bytes,
    file_name,
    next_entry,
    read_entry,
)
from bylaw.worktree.folders import (
    FOLDER_MODE,
    POLICY,
    PolicyFolder,
    existing_policy_folder,
    policy_folder,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from bylaw.model.effects import EntryWrite
    from bylaw.worktree.entry import ActionResult, EntryState, QueueEntry

    Note = Callable[[str], None]


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
    def lock(self, *, make: bool) -> Iterator[int | None]:
        """Lock the folder, None if it is missing. Raise BylawError if it cannot be used."""
        with self._among_threads:
            folder = self._lock_folder(make=make)
            try:
                yield folder
            finally:
                if folder is not None:
                    flock(folder, LOCK_UN)

    def _lock_folder(self, *, make: bool) -> int | None:
        while True:
            folder = self._open_folder(make=make)
            if folder is None:
                return None
            wait_for_lock(folder, QUEUE)
            if self._is_there(folder):
                return folder
            flock(folder, LOCK_UN)

    def _open_folder(self, *, make: bool) -> int | None:
        if self._open and self._is_valid(*self._open):
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

    def _is_valid(self, folder: int, owner: int) -> bool:
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


# How many times the folder may disappear during one operation.
MAX_TRIES = 20
FILE_MODE = 0o600
_PENDING = ".new"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_NO_FILES = (ELOOP, ENXIO)  # a link, a socket

_T = TypeVar("_T")


class Queue:
    """The queue of a root. `note` receives reports of problems that were fixed.

    All methods raise BylawError if the folder cannot be used. Then nothing is removed.
    """

    def __init__(self, root: str, note: Note) -> None:
        self._folder = QueueFolder(root, note)
        self._note = note

    def find(self, hash_: str) -> QueueEntry | None:
        """Return the entry of a hash. Files of other entries are not read (DW-074)."""
        if not HASH.fullmatch(hash_):
            return None
        return self._with_existing(lambda folder: self._find(folder, hash_), None)

    def open_entries(self) -> list[QueueEntry]:
        """Return all queued and failed entries. Files of other entries are not read."""
        return self._with_existing(lambda folder: self._read_states(folder, OPEN_STATUSES), [])

    def all_entries(self) -> list[QueueEntry]:
        """Return all entries, sorted by file name."""
        return self._with_existing(lambda folder: self._read_states(folder, [*EntryStatus]), [])

    def counts(self) -> dict[EntryStatus, int]:
        """Count the entries of each status by their file names."""
        nothing: list[str] = []
        names = self._with_existing(_file_names, nothing)
        states = [match[2] for name in names if (match := ENTRY_NAME.fullmatch(name))]
        return {status: states.count(status) for status in EntryStatus}

    def write(
        self,
        step: EntryWrite,
        result: ActionResult,
        now: int,
        known: Collection[EntryState | None] | None = None,
    ) -> QueueEntry | None:
        """Apply a step. Return the new entry, None if it does not change.

        `known` are the states of the entry on which the decision is based. If the entry has another
        state, another process was faster and nothing is written (DW-A44). Raise ValueError if the
        hash is not valid.
        """
        if not HASH.fullmatch(step.hash):
            raise ValueError(f"`{step.hash[:40]}` is not a hash of an entry")

        def change(folder: int) -> QueueEntry | None:
            current = self._find(folder, step.hash)
            if known is not None and (current and current.state) not in known:
                return None
            new = next_entry(current, step, result, now)
            if new is not None:
                _replace_file(folder, current.file_name if current else "", new)
            return new

        return self._with_created(change)

    def begin(self, hash_: str, process: str) -> None:
        """Record in an entry which process runs its command. The next write removes it."""

        def change(folder: int) -> None:
            current = self._find(folder, hash_)
            if current is not None and current.status is EntryStatus.QUEUED:
                _replace_file(folder, current.file_name, replace(current, begun_by=process))

        self._with_existing(change, None)

    def take_back(self, step: EntryWrite) -> None:
        """Decrease `shown` by one if the entry has not changed since the step."""

        def change(folder: int) -> None:
            current = self._find(folder, step.hash)
            as_shown = (EntryStatus.QUEUED, step.digest, step.shown)
            if current and step.shown and current.state == as_shown:
                _replace_file(folder, current.file_name, replace(current, shown=step.shown - 1))

        self._with_existing(change, None)

    def remove(self, hash_: str) -> None:
        """Remove the entry of a hash, with any status."""
        names = (
            [file_name(hash_, status) for status in EntryStatus] if HASH.fullmatch(hash_) else []
        )

        def forget(folder: int) -> None:
            for name in names:
                remove(folder, name)

        self._with_existing(forget, None)

    def _with_existing(self, use: Callable[[int], _T], otherwise: _T) -> _T:
        return self._with_folder(
            lambda folder: otherwise if folder is None else use(folder), make=False
        )

    def _with_created(self, change: Callable[[int], _T]) -> _T:
        def made(folder: int | None) -> _T:
            assert folder is not None
            return change(folder)

        return self._with_folder(made, make=True)

    def _with_folder(self, use: Callable[[int | None], _T], *, make: bool) -> _T:
        try:
            for _ in range(MAX_TRIES):
                # FileNotFoundError: the folder was just removed.
                with suppress(FileNotFoundError), self._folder.lock(make=make) as folder:
                    return use(folder)
        except OSError as wrong:
            raise BylawError(f"cannot use `{QUEUE}`: {os_error_text(wrong)}") from None
        raise BylawError(f"`{QUEUE}` is removed repeatedly")

    def _find(self, folder: int, hash_: str) -> QueueEntry | None:
        found = [self._read(folder, file_name(hash_, status)) for status in EntryStatus]
        entries = [entry for entry in found if entry is not None]
        if len(entries) <= 1:
            return entries[0] if entries else None
        # It is not known which of them is valid, so the policy is checked again (DW-060).
        for entry in entries:
            self._discard(folder, entry.file_name, "the same entry has another state")
        return None

    def _read(self, folder: int, name: str) -> QueueEntry | None:
        try:
            data = self._bytes(folder, name)
            return None if data is None else read_entry(name, data)
        except CorruptEntryError as wrong:
            finished = _complete_write(folder, name)
            if finished is None:
                self._discard(folder, name, str(wrong))
            return finished

    def _bytes(self, folder: int, name: str) -> bytes | None:
        with suppress(FileNotFoundError), _open_entry(folder, name) as file:
            self._fix_mode(file, name)
            return read_at_most(file, MAX_ENTRY_BYTES)
        return None

    def _fix_mode(self, file: int, name: str) -> None:
        """Allow only this user to access a file (DW-A45)."""
        found = os.fstat(file)
        if found.st_uid != os.geteuid():
            raise BylawError(f"`{QUEUE}/{name}` belongs to another user")
        if S_IMODE(found.st_mode) != FILE_MODE:
            os.fchmod(file, FILE_MODE)
            self._note(f"`{QUEUE}/{name}` had mode {S_IMODE(found.st_mode):o}; this was corrected")

    def _discard(self, folder: int, name: str, why: str) -> None:
        """Remove a corrupt file and report it. The next check finds the policy again (DW-128)."""
        try:
            remove(folder, name)
        except IsADirectoryError:
            rmtree(name, dir_fd=folder)
        self._note(f"`{QUEUE}/{name}` was corrupt and was removed: {why}")

    def _read_states(self, folder: int, states: Collection[EntryStatus]) -> list[QueueEntry]:
        self._complete_writes(folder)
        names = defaultdict(list)
        for name in _file_names(folder):
            if match := ENTRY_NAME.fullmatch(name):
                names[match[1]].append((name, match[2]))
        found = [
            # `_find` discards an entry with two states.
            self._find(folder, hash_) if len(all_) > 1 else self._read(folder, all_[0][0])
            for hash_, all_ in names.items()
            if any(state in states for _, state in all_)
        ]
        return [entry for entry in found if entry is not None]

    def _complete_writes(self, folder: int) -> None:
        """Complete the writes of processes that died."""
        for name in _file_names(folder):
            match = ENTRY_NAME.fullmatch(name.removesuffix(_PENDING))
            if match is not None and name.endswith(_PENDING):
                self._read(folder, match[0])
                try_remove(folder, name)


def _file_names(folder: int) -> list[str]:
    return sorted(os.listdir(folder))


@contextmanager
def _open_entry(folder: int, name: str) -> Iterator[int]:
    """Open a file of the queue. Raise CorruptEntryError if it is not a regular file."""
    try:
        with open_regular(name, links=False, folder=folder) as file:
            yield file
    except (IsADirectoryError, ValueError) as no_file:
        raise CorruptEntryError(os_error_text(no_file)) from None
    except OSError as wrong:
        # Any other error does not show that the entry is corrupt.
        if wrong.errno not in _NO_FILES:
            raise
        raise CorruptEntryError(os_error_text(wrong)) from None


def _replace_file(folder: int, old: str, entry: QueueEntry) -> None:
    """Replace the file of an entry by its new state, see the module docstring."""
    name = entry.file_name
    data = entry_bytes(check_entry(entry, name))
    remove(folder, name + _PENDING)
    descriptor = os.open(name + _PENDING, _NEW, FILE_MODE, dir_fd=folder)
    with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor
        os.fchmod(descriptor, FILE_MODE)  # the umask may have removed rights
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
    if old and old != name:
        rename(folder, old, name)
    rename(folder, name + _PENDING, name)
    os.fsync(folder)


def _complete_write(folder: int, name: str) -> QueueEntry | None:
    """Complete the write of a process that died, and return its entry."""
    try:
        with _open_entry(folder, name + _PENDING) as file:
            data = read_at_most(file, MAX_ENTRY_BYTES)
        entry = read_entry(name, data)
    except (FileNotFoundError, CorruptEntryError):
        return None
    rename(folder, name + _PENDING, name)
    return entry
