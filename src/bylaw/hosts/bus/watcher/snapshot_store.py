"""The snapshot on disk: the files as acknowledged, so that the next start finds later changes.

It is a small database that only this user can read. One process locks it; a second one that wants
to watch the same root gets an error. It may be older than what was handled, never newer: changes
may be reported twice, but none is lost. A damaged database is replaced by a new one.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec.structs import astuple

from bylaw.hosts.bus.watcher.scan import Entry, EntryKind, FileChange, Snapshot
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import ActorHint, Change
from bylaw.store.paths import as_bytes, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT = 1
_APPLICATION = 0x62796C77  # "bylw"
_SIDE_FILES = ("-wal", "-shm", "-journal")
_CREATE_FILES = """
    CREATE TABLE files (
        path BLOB PRIMARY KEY, inode BLOB NOT NULL, size INTEGER NOT NULL,
        mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, kind TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
"""
_CREATE_EXCLUDED = "CREATE TABLE excluded (path BLOB PRIMARY KEY) STRICT, WITHOUT ROWID"
# The one change that is being handled, and the newest record of the journal before that.
_CREATE_HANDLED = """
    CREATE TABLE IF NOT EXISTS handled (
        change TEXT NOT NULL, path TEXT NOT NULL, old_path TEXT NOT NULL, actor TEXT NOT NULL,
        after_seq INTEGER NOT NULL
    ) STRICT
"""
# SQLite puts extended error codes in the bits above these.
_PRIMARY_CODE = 0xFF
_PUT = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM files WHERE path = ?"


class AlreadyWatchedError(BylawError):
    """Another process already watches the same root."""


class SnapshotStore:
    """The database at a path. If a damaged one was replaced, `note` says why."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(as_bytes(path))  # noqa: PTH100 - a Path takes no bytes
        self.note = ""
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120 - same
        self._lock = self._lock_file()
        try:
            self._database = self._open()
        except BaseException:
            os.close(self._lock)
            raise

    @staticmethod
    def files(path: str) -> list[str]:
        """All files of a store at this path."""
        return [f"{path}{ending}" for ending in ("", ".lock", *_SIDE_FILES)]

    def load(self) -> tuple[Snapshot, frozenset[str]] | None:
        """Load the last snapshot and its excluded paths; None if there is none."""
        try:
            return self._load()
        except (sqlite3.DatabaseError, ValueError, TypeError) as wrong:
            self._recreate_if_damaged(wrong)
            return None

    def handled(self) -> tuple[FileChange, int] | None:
        """The change that was being handled at the last save, if nothing was saved since."""
        try:
            found = self._database.execute("SELECT * FROM handled").fetchone()
            if found is None:
                return None
            change, path, old_path, actor, after_seq = found
            return FileChange(Change(change), path, old_path, ActorHint(actor)), after_seq
        except (sqlite3.DatabaseError, ValueError) as wrong:
            self._recreate_if_damaged(wrong)
            return None

    def save(
        self,
        changed: Mapping[str, Entry | None],
        whole: Snapshot,
        excluded: Iterable[str],
        handled: tuple[FileChange, int] | None = None,
    ) -> None:
        """Save the entries of these paths; None removes a path.

        `handled` is the change that is handled next. If the database is damaged, it is created
        again from the complete snapshot. Raises BylawError if nothing can be saved.
        """
        try:
            try:
                self._write(changed, handled)
            except sqlite3.OperationalError:  # disk full, or locked: the file may be intact
                raise
            except sqlite3.DatabaseError as wrong:
                self._recreate(str(wrong))
                self.replace(whole, excluded)
        except (sqlite3.Error, OSError) as wrong:
            raise BylawError(f"cannot save the snapshot of files: {wrong}") from None

    def replace(self, snapshot: Snapshot, excluded: Iterable[str]) -> None:
        """Replace everything by this snapshot."""
        run = self._database.execute
        run("BEGIN IMMEDIATE")
        with _all_or_nothing(self._database):
            run("DELETE FROM files")
            run("DELETE FROM excluded")
            self._database.executemany(_PUT, (_row(*item) for item in snapshot.top.entries()))
            rows = [(as_bytes(path),) for path in excluded]
            self._database.executemany("INSERT INTO excluded VALUES (?)", rows)
            run(f"PRAGMA user_version = {FORMAT}")

    def close(self) -> None:
        """Close the database and release the lock."""
        self._database.close()
        os.close(self._lock)

    def _lock_file(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(self._path + b".lock", flags, 0o600)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise AlreadyWatchedError("another process already watches these files") from None
        return lock

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.OperationalError as wrong:
            raise _open_error(wrong) from None
        except sqlite3.DatabaseError as wrong:
            self._remove(str(wrong))
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(self._path, flags, 0o600))
        uri = f"file:{quote(self._path)}?mode=rw"
        database = sqlite3.connect(uri, isolation_level=None, uri=True, check_same_thread=False)
        try:
            self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self, database: sqlite3.Connection) -> None:
        run = database.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        (application,) = run("PRAGMA application_id").fetchone()
        (tables,) = run("SELECT count(*) FROM sqlite_schema").fetchone()
        if not tables:
            run(_CREATE_FILES)
            run(_CREATE_EXCLUDED)
            run(f"PRAGMA application_id = {_APPLICATION}")
        elif application != _APPLICATION:
            raise sqlite3.DatabaseError("it is a database of another program")
        run(_CREATE_HANDLED)
        if run("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("its pages are inconsistent")

    def _load(self) -> tuple[Snapshot, frozenset[str]] | None:
        run = self._database.execute
        (version,) = run("PRAGMA user_version").fetchone()
        if version == 0:
            return None  # no snapshot was completed
        if version != FORMAT:
            raise ValueError(f"it has format {version}")
        snapshot = Snapshot()
        for path, inode, size, mtime, ctime, kind in run("SELECT * FROM files"):
            number = int.from_bytes(inode, "big")
            snapshot.set(as_text(path), Entry(number, size, mtime, ctime, EntryKind(kind)))
        excluded = frozenset(as_text(path) for (path,) in run("SELECT path FROM excluded"))
        return snapshot, excluded

    def _write(
        self, changed: Mapping[str, Entry | None], handled: tuple[FileChange, int] | None
    ) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        with _all_or_nothing(self._database):
            gone = [(as_bytes(path),) for path, entry in changed.items() if entry is None]
            self._database.executemany(_DROP, gone)
            there = (_row(path, entry) for path, entry in changed.items() if entry is not None)
            self._database.executemany(_PUT, there)
            self._database.execute("DELETE FROM handled")
            rows = [(*astuple(change), after_seq) for change, after_seq in _as_list(handled)]
            self._database.executemany("INSERT INTO handled VALUES (?, ?, ?, ?, ?)", rows)

    def _recreate_if_damaged(self, wrong: Exception) -> None:
        """Replace a damaged database.

        Raises BylawError if the file may be intact: it is locked, or the disk does not respond.
        """
        code = wrong.sqlite_errorcode if isinstance(wrong, sqlite3.OperationalError) else None
        if code is not None and code & _PRIMARY_CODE != sqlite3.SQLITE_ERROR:
            raise _open_error(wrong) from None
        self._recreate(str(wrong))

    def _recreate(self, why: str) -> None:
        self._database.close()
        self._remove(why)
        self._database = self._connect()

    def _remove(self, why: str) -> None:
        self.note = (
            f"the snapshot of files was damaged ({why}) and is created again: "
            "changes made while no process watched are not reported"
        )
        for ending in ("", *_SIDE_FILES):
            with suppress(FileNotFoundError):
                os.unlink(self._path + ending.encode())  # noqa: PTH108 - a Path takes no bytes


class _all_or_nothing:  # noqa: N801 - used like a function
    """Commit the `with` block, or roll it back on an error."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._database.execute("COMMIT")
        elif self._database.in_transaction:
            self._database.execute("ROLLBACK")


def _open_error(wrong: Exception) -> BylawError:
    return BylawError(f"cannot open the snapshot of files: {wrong}")


def _as_list(handled: tuple[FileChange, int] | None) -> list[tuple[FileChange, int]]:
    return [] if handled is None else [handled]


def _row(path: str, entry: Entry) -> tuple[bytes, bytes, int, int, int, str]:
    inode = entry.inode.to_bytes(8, "big")  # may be larger than a number of SQLite
    return as_bytes(path), inode, entry.size, entry.mtime_ns, entry.ctime_ns, entry.kind.value
