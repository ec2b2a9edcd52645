"""Open the journal database: schema and migrations, the connection, and the anchor.

The connection opens the file again if it was replaced or damaged. The anchor is the number and
digest of the last record, in a folder that a repository cannot write: it shows a cut tail. It is
written after the commit and without a lock, so at worst it is a few records behind.
Never change a version of the schema; add a new one.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from enum import StrEnum
from functools import cache
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING

from bylaw.model.codes.runtime import JOURNAL_UNUSABLE
from bylaw.store.journal.errors import (
    JournalError,
    corrupt_journal,
    forked_journal,
    newer_journal,
    no_journal,
    translated_errors,
    unusable_journal,
)
from bylaw.store.paths import as_bytes, real_path
from bylaw.store.state_folder import IN_MEMORY, connect, make_private, transaction, use_wal
from bylaw.store.user_state import open_for_writing, read_user_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


class Durability(StrEnum):
    """What a written record survives."""

    PROCESS = "process"
    POWER = "power"


# In the header of the file, so that the database of another program is not taken for a journal.
APPLICATION_ID = 0x42594C57  # "BYLW"

_FIRST = (
    # The chain: digests, and the columns that find a record. Nothing here is ever erased.
    """
    CREATE TABLE records (
        seq INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        verdict TEXT NOT NULL,
        event BLOB NOT NULL,
        decision BLOB NOT NULL,
        rules BLOB NOT NULL,
        version TEXT NOT NULL,
        redacted INTEGER NOT NULL,
        chain BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX records_of_session ON records (session, seq)",
    # The payloads that the digests belong to. A missing row was erased.
    """
    CREATE TABLE payloads (
        seq INTEGER PRIMARY KEY,
        event BLOB NOT NULL,
        decision BLOB NOT NULL
    ) STRICT
    """,
    # One state of each session, without its long texts: the fold of its records up to `seq`.
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, core BLOB NOT NULL) STRICT",
    # Long texts of sessions, each stored once.
    "CREATE TABLE texts (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT",
    # The files of each rule set, by the digest of the rules, and the text of each file.
    "CREATE TABLE rule_sets (digest BLOB PRIMARY KEY, files BLOB NOT NULL) STRICT",
    "CREATE TABLE sources (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT",
    # Decisions whose plans are not finished, and the process that runs them.
    """
    CREATE TABLE open_plans (
        seq INTEGER PRIMARY KEY, session TEXT NOT NULL, owner TEXT NOT NULL
    ) STRICT
    """,
)

_SECOND = (
    # Events caused by step `step` of decision `of` that are not recorded yet. Step 0 is a denial.
    """
    CREATE TABLE owed (
        of INTEGER NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (of, step)
    ) STRICT, WITHOUT ROWID
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
VERSION = len(MIGRATIONS)


# An event changes a few pages and adds little to each; small pages mean fewer bytes to write.
PAGE_BYTES = 2_048
# The size of the log, in pages, at which SQLite writes it back: often enough to keep the log
# small, seldom enough that many events share the cost.
LOG_PAGES = 8_000


_SYNCHRONOUS = {Durability.PROCESS: "NORMAL", Durability.POWER: "FULL"}


# Cast to bytes: in a damaged file these columns may not be text.
_SCHEMA = """
    SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB)
    FROM sqlite_schema
"""


def open_database(path: str, durability: Durability) -> sqlite3.Connection:
    """Open a journal for writing; JournalError if that fails."""
    with translated_errors(path):
        if path != IN_MEMORY:
            make_private(path)
        connection = connect(path)
        try:
            _check_version(connection, path)  # before writing: it may not be our file
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # works only in an empty file
            use_wal(connection)
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
            _migrate(connection, path)
            _check_schema(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_to_read(path: str) -> sqlite3.Connection:
    """Open an existing journal for reading; JournalError if it does not exist."""
    with translated_errors(path):
        try:
            os.stat(as_bytes(path))  # noqa: PTH116 - a Path takes no bytes
        except (FileNotFoundError, NotADirectoryError):
            raise no_journal(path) from None
    try:
        return _open_readable(path, "mode=rw")
    except JournalError as problem:
        # SQLite creates files next to the journal even to read it. If this user must not, and no
        # process writes the journal, open it as immutable.
        is_written = os.path.exists(as_bytes(f"{path}-wal"))  # noqa: PTH110 - a Path takes no bytes
        if problem.code != JOURNAL_UNUSABLE.name or is_written:
            raise
        return _open_readable(path, "immutable=1")


def _open_readable(path: str, mode: str) -> sqlite3.Connection:
    with translated_errors(path):
        connection = connect(path, mode)
        try:
            connection.execute("PRAGMA query_only = ON")
            _check_version(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def file_identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of the file at a path; None if it does not exist."""
    try:
        found = os.stat(as_bytes(path))  # noqa: PTH116 - a Path takes no bytes
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    if _check_version(connection, path) == VERSION:
        return
    with transaction(connection):
        found = _check_version(connection, path)  # another process may have migrated it meanwhile
        for statements in MIGRATIONS[found:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _check_schema(connection: sqlite3.Connection, path: str) -> None:
    """Check that the database holds only our own schema: a trigger could undo every record."""
    if set(connection.execute(_SCHEMA)) != _own_schema():
        raise corrupt_journal(path, "it has tables or triggers that Bylaw did not create")


@cache
def _own_schema() -> frozenset[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statements in MIGRATIONS:
            for statement in statements:
                connection.execute(statement)
        return frozenset(connection.execute(_SCHEMA))


def _check_version(connection: sqlite3.Connection, path: str) -> int:
    # Read the tables first: a process that creates them commits the ids together with them.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and application != APPLICATION_ID:
        raise corrupt_journal(path, "it is a database of another program")
    if version > VERSION:
        raise newer_journal(path, version)
    return int(version)


# How long records may still go to a file that was moved away.
RECHECK_S = 1.0


class Connection:
    """The connection of one process to a database; JournalError if it cannot be opened.

    Use the database inside the context `plainly`: it translates errors and records that the file
    is broken.
    """

    def __init__(self, path: str, durability: Durability) -> None:
        self.path = path
        self.error_context = translated_errors(path)
        self._durability = durability
        self._process = os.getpid()
        self._checked_at = 0.0
        self._closed = False
        self._open()

    def reopen_if_replaced(self) -> bool:
        """Open the file again if it was broken or replaced; return whether that happened."""
        if self._process != os.getpid():
            raise forked_journal(self.path)
        if self._closed:
            raise unusable_journal(self.path, "it was closed")
        if not self.error_context.broken and monotonic() < self._checked_at + RECHECK_S:
            return False
        self._checked_at = monotonic()
        is_same = not self.error_context.broken and file_identity(self.path) == self._file
        if is_same or self.path == IN_MEMORY:
            return False
        old = self._connection
        self._open()  # if this fails, keep the old connection for the next try
        old.close()
        return True

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: neither committed nor rolled back."""
        return self._connection.in_transaction

    def close(self) -> None:
        """Close the file."""
        self._closed = True
        self._connection.close()

    def _open(self) -> None:
        self._connection = open_database(self.path, self._durability)
        # One cursor is enough: every result is read before the next statement.
        self.run: Callable[..., sqlite3.Cursor] = self._connection.cursor().execute
        self.error_context.broken = False
        self._file = file_identity(self.path)
        self._checked_at = monotonic()


# Keep the anchors of the journals written last; a machine has fewer journals than this.
MAX_ANCHORS = 10_000
# Sequence number and digest. So few bytes are written in one piece.
_NUMBER, _DIGEST = 8, 32
_SIZE = _NUMBER + _DIGEST


class Anchor:
    """The anchor of one journal: the number and digest of its last record."""

    def __init__(self, folder: str, journal: str) -> None:
        self._folder = f"{folder}/anchors"
        self._name = sha256(as_bytes(real_path(journal))).hexdigest()
        self._file: int | None = None

    @property
    def path(self) -> str:
        """The path of the anchor file."""
        return f"{self._folder}/{self._name}"

    def move(self, seq: int, chain: bytes) -> None:
        """Store the number and digest of a newer record. If that fails, the old ones stay."""
        try:
            if self._file is None:
                self._file = open_for_writing(self._folder, self._name, MAX_ANCHORS)
            os.pwrite(self._file, seq.to_bytes(_NUMBER, "big") + chain, 0)
        except OSError:
            return

    def read(self) -> tuple[int, bytes] | None:
        """Return the number and digest stored last; None if there are none."""
        data = read_user_file(self._folder, self._name, _SIZE)
        if len(data) != _SIZE:
            return None
        return int.from_bytes(data[:_NUMBER], "big"), data[_NUMBER:]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
