"""Open the journal database; create it or migrate its schema if needed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from functools import cache

from bylaw.model.codes.journal import JOURNAL_UNUSABLE
from bylaw.runtime.journal.errors import (
    JournalError,
    corrupt_journal,
    newer_journal,
    no_journal,
    told_plainly,
)
from bylaw.runtime.journal.schema import APPLICATION_ID, MIGRATIONS, VERSION
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.settings.tables import Durability
from bylaw.runtime.sqlite_file import IN_MEMORY, connect, make_private, transaction, use_log

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
    with told_plainly(path):
        if path != IN_MEMORY:
            make_private(path)
        connection = connect(path)
        try:
            _check_version(connection, path)  # before writing: it may not be our file
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # works only in an empty file
            use_log(connection)
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
            _bring_up_to_date(connection, path)
            _check_schema(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_to_read(path: str) -> sqlite3.Connection:
    """Open an existing journal for reading; JournalError if it does not exist."""
    with told_plainly(path):
        try:
            os.stat(as_bytes(path))  # noqa: PTH116 - a Path takes no bytes
        except (FileNotFoundError, NotADirectoryError):
            raise no_journal(path) from None
    try:
        return _readable(path, "mode=rw")
    except JournalError as problem:
        # SQLite creates files next to the journal even to read it. If this user must not, and no
        # process writes the journal, open it as immutable.
        is_written = os.path.exists(as_bytes(f"{path}-wal"))  # noqa: PTH110 - a Path takes no bytes
        if problem.code != JOURNAL_UNUSABLE.name or is_written:
            raise
        return _readable(path, "immutable=1")


def _readable(path: str, mode: str) -> sqlite3.Connection:
    with told_plainly(path):
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


def _bring_up_to_date(connection: sqlite3.Connection, path: str) -> None:
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
