"""Open SQLite files, private to this user and in WAL mode. All databases of Bylaw use this."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from string import ascii_letters, digits
from time import monotonic, sleep
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long a process waits for other processes, which commit in milliseconds.
PATIENCE_S = 20.0
_BETWEEN_TRIES_S = 0.01
IN_MEMORY = ":memory:"
# Importing `urllib` for this would take longer than opening the file.
_AS_THEY_ARE = frozenset(f"{ascii_letters}{digits}/._-~")


def make_private(path: str) -> None:
    """Create the file for this user only; SQLite gives its log files the same mode."""
    folder = os.path.dirname(as_bytes(path)) or b"."  # noqa: PTH120 - a Path takes no bytes
    os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - same
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    os.close(os.open(as_bytes(path), flags, 0o600))


def connect(path: str, mode: str = "mode=rw") -> sqlite3.Connection:
    """Open an existing file."""
    # Do not let SQLite create the file: it would not be private to this user.
    full = os.path.abspath(as_bytes(path))  # noqa: PTH100 - a Path takes no bytes
    connection = sqlite3.connect(
        path if path == IN_MEMORY else f"file:{_quoted(full)}?{mode}",
        timeout=PATIENCE_S,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _quoted(path: bytes) -> str:
    """Escape a path for a database URI: special characters and all that is not ASCII."""
    return "".join(chr(one) if chr(one) in _AS_THEY_ARE else f"%{one:02x}" for one in path)


def use_log(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. SQLite itself does not wait if another process does the same now."""
    until = monotonic() + PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorname != "SQLITE_BUSY" or monotonic() >= until:
                raise
            sleep(_BETWEEN_TRIES_S)
        else:
            return


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the statements of the context together, or none on an error; other writers wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
