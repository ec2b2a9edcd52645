"""Open the database of a ledger, and turn errors of SQLite into errors for people."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.sqlite_file import connect, make_private, transaction, use_log
from bylaw.runtime.state_folder import STATE, existing_state_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

LEDGER = f"{STATE}/bus.db"
VERSION = 1

_APPLICATION_ID = 0x42594C42  # "BYLB": tells a ledger from other databases
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_MISMATCH", "SQLITE_ERROR")
_HELD = ("SQLITE_BUSY", "SQLITE_LOCKED")

_TABLES = (
    # Every message that was begun, so that none is handled twice (LD-A07).
    """
    CREATE TABLE messages (
        msg_id TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        state TEXT NOT NULL,
        file TEXT NOT NULL,
        claim TEXT NOT NULL,
        owner TEXT NOT NULL,
        tries INTEGER NOT NULL,
        fingerprint TEXT NOT NULL,
        why TEXT NOT NULL,
        first_at INTEGER NOT NULL,
        at INTEGER NOT NULL,
        after_seq INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX messages_in_state ON messages (state, at)",
    "CREATE INDEX messages_by_time ON messages (at)",
    # The digest of a message when it was last seen. Later approvals apply to it.
    "CREATE TABLE digests (msg_id TEXT PRIMARY KEY, digest TEXT NOT NULL) STRICT",
    # The digest that an approval applies to.
    """
    CREATE TABLE bindings (
        source TEXT PRIMARY KEY, msg_id TEXT NOT NULL, digest TEXT NOT NULL
    ) STRICT
    """,
)


def open_ledger(root: str) -> sqlite3.Connection:
    """Open the database for writing, and create it if needed. Raises BylawError if it fails."""
    path = ledger_path(root)
    with told_plainly(path):
        with state_folder(root):
            make_private(path)
        connection = connect(path)
        try:
            _check_version(connection, path)  # do not change a database of another program
            use_log(connection)
            # A begun message must survive a power failure: its command runs afterwards, and must
            # not run again.
            connection.execute("PRAGMA synchronous = FULL")
            _make_tables(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_to_read(root: str) -> sqlite3.Connection | None:
    """Open the database for reading; None if it does not exist or is still being created."""
    path = ledger_path(root)
    with told_plainly(path), existing_state_folder(root) as state:
        if state is None or not os.path.lexists(as_bytes(path)):
            return None
        connection = connect(path)
        try:
            connection.execute("PRAGMA query_only = ON")
            is_made = _check_version(connection, path) == VERSION
        except BaseException:
            connection.close()
            raise
    if is_made:
        return connection
    connection.close()
    return None


def ledger_path(root: str) -> str:
    """The path of the ledger of a root."""
    return f"{root.rstrip('/')}/{LEDGER}"


@contextmanager
def told_plainly(path: str) -> Iterator[None]:
    """Turn errors of the database into BylawError."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise  # a bug in Bylaw
    except sqlite3.Error as problem:
        raise _of_sqlite(path, problem) from problem
    except OSError as problem:
        raise _unusable(path, in_plain_words(problem)) from problem


def _of_sqlite(path: str, problem: sqlite3.Error) -> BylawError:
    # Errors of the Python module, such as a text that is not UTF-8, have no error name.
    name = getattr(problem, "sqlite_errorname", None) or "SQLITE_ERROR"
    if name.startswith(_DAMAGED):
        return _damaged(path, str(problem))
    if name.startswith(_HELD):
        message = f"the ledger `{path}` is locked by another process; try again when it has exited"
        return BylawError(message)
    return _unusable(path, str(problem))


def _damaged(path: str, why: str) -> BylawError:
    return BylawError(
        f"the ledger `{path}` is damaged: {why}; "
        f"move it, `{path}-wal` and `{path}-shm` away, and Bylaw creates a new one; "
        "that knows only the messages of the journal, so check `input` and `processing` first"
    )


def _unusable(path: str, why: str) -> BylawError:
    help_ = "give this user read and write access to it and its folder"
    return BylawError(f"the ledger `{path}` cannot be used: {why}; {help_}")


def _make_tables(connection: sqlite3.Connection, path: str) -> None:
    if _check_version(connection, path) == VERSION:
        return
    with transaction(connection):
        if _check_version(connection, path) < VERSION:  # another process may have made them
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _check_version(connection: sqlite3.Connection, path: str) -> int:
    # Count the tables first: another process creates them and sets the ids in one transaction.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and application != _APPLICATION_ID:
        raise _damaged(path, "it is a database of another program")
    if version > VERSION:
        raise BylawError(
            f"the ledger `{path}` has format {version} of a newer Bylaw; use that version"
        )
    return int(version)
