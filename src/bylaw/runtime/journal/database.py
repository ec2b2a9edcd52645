"""A path → an open journal database, made or brought up to date if need be."""

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

# An event changes a few pages and adds little to each, so small ones are written sooner.
PAGE_BYTES = 2_048
# The log is written back when it has so many pages: often enough to stay small, seldom enough
# that what this costs is shared by many events.
LOG_PAGES = 8_000


_SYNCHRONOUS = {Durability.PROCESS: "NORMAL", Durability.POWER: "FULL"}


# As bytes: in a damaged file they need not be texts.
_SCHEMA = """
    SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB)
    FROM sqlite_schema
"""


def open_database(path: str, durability: Durability) -> sqlite3.Connection:
    """The database, ready to be written; JournalError says why not."""
    with told_plainly(path):
        if path != IN_MEMORY:
            make_private(path)
        connection = connect(path)
        try:
            _check_version(connection, path)  # nothing of somebody else's is touched
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a file that is empty yet
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
    """An existing database that is only read; JournalError if there is none."""
    with told_plainly(path):
        try:
            os.stat(as_bytes(path))  # noqa: PTH116 - a Path takes no bytes
        except (FileNotFoundError, NotADirectoryError):
            raise no_journal(path) from None
    try:
        return _readable(path, "mode=rw")
    except JournalError as problem:
        # Reading makes files beside it. Where this user cannot, and nobody writes, it need not.
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
    """Which file a path names now; None if there is none."""
    try:
        found = os.stat(as_bytes(path))  # noqa: PTH116 - a Path takes no bytes
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bring_up_to_date(connection: sqlite3.Connection, path: str) -> None:
    if _check_version(connection, path) == VERSION:
        return
    with transaction(connection):
        found = _check_version(connection, path)  # another process may have been quicker
        for statements in MIGRATIONS[found:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _check_schema(connection: sqlite3.Connection, path: str) -> None:
    """Nothing is in the database but what we put there: a trigger could undo every record."""
    if set(connection.execute(_SCHEMA)) != _own_schema():
        raise corrupt_journal(path, "it has parts that Bylaw did not make")


@cache
def _own_schema() -> frozenset[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statements in MIGRATIONS:
            for statement in statements:
                connection.execute(statement)
        return frozenset(connection.execute(_SCHEMA))


def _check_version(connection: sqlite3.Connection, path: str) -> int:
    # In this order: another process may be making the tables, and says what they are with them.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and application != APPLICATION_ID:
        raise corrupt_journal(path, "it is a database of something else")
    if version > VERSION:
        raise newer_journal(path, version)
    return int(version)
