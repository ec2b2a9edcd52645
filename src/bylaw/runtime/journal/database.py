"""A path → an open journal database, made or brought up to date if need be."""

from __future__ import annotations

import os
import sqlite3
from enum import StrEnum
from urllib.parse import quote

from bylaw.runtime.journal.errors import corrupt_journal, newer_journal, no_journal, told_plainly
from bylaw.runtime.journal.schema import APPLICATION_ID, MIGRATIONS, VERSION
from bylaw.runtime.reading import as_bytes, folder_of

# How long a process waits for the others, which commit in milliseconds.
PATIENCE_S = 20.0
IN_MEMORY = ":memory:"


class Durability(StrEnum):
    """What a committed record survives."""

    PROCESS = "process"
    POWER = "power"


_SYNCHRONOUS = {Durability.PROCESS: "NORMAL", Durability.POWER: "FULL"}


def open_database(path: str, durability: Durability) -> sqlite3.Connection:
    """The database, ready to be written; JournalError says why not."""
    with told_plainly(path):
        if path != IN_MEMORY:
            _make(path)
        connection = _connect(path)
    try:
        with told_plainly(path):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
            _bring_up_to_date(connection, path)
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
        connection = _connect(path)
    try:
        with told_plainly(path):
            connection.execute("PRAGMA query_only = ON")
            _check_version(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: str) -> None:
    """The file, for this user alone; SQLite gives its companions the same rights."""
    folder = folder_of(path)
    os.makedirs(as_bytes(folder or "."), 0o700, exist_ok=True)  # noqa: PTH103 - a Path takes no bytes
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    os.close(os.open(as_bytes(path), flags, 0o600))


def _connect(path: str) -> sqlite3.Connection:
    # A file is never made here: it would not be for this user alone.
    name = path if path == IN_MEMORY else f"file:{quote(as_bytes(path))}?mode=rw"
    connection = sqlite3.connect(
        name, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False, uri=True
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: str) -> None:
    if _check_version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _check_version(connection, path)  # another process may have been quicker
        for statements in MIGRATIONS[found:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check_version(connection: sqlite3.Connection, path: str) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and application != APPLICATION_ID:
        raise corrupt_journal(path, "it is a database of something else")
    if version > VERSION:
        raise newer_journal(path, version)
    return int(version)
