"""The state folder `.bylaw/state/` of a root, and SQLite files in WAL mode.

`.bylaw` may be a link within the root; the state folder must not be a link. It is opened once and
used by its descriptor, so that another process cannot swap the folder meanwhile. SQLite files are
created here and not by SQLite, so that only this user can read them.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from string import ascii_letters, digits
from time import monotonic, sleep
from typing import TYPE_CHECKING

from bylaw.model.codes.files import UNSAFE_STATE_FOLDER
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import SourceFile, Span
from bylaw.store.files import read_regular_bytes, write_atomic
from bylaw.store.locks import PATIENCE_S, hold_lock
from bylaw.store.paths import as_bytes, real_path, relative_name
from bylaw.store.safe_paths import FOLDER_FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

BYLAW_FOLDER = ".bylaw"
STATE_FOLDER = f"{BYLAW_FOLDER}/state"

_MODE_OF_OTHERS = 0o077
_IGNORE = ".gitignore"


class StateFolder:
    """An open state folder; all names are files in it."""

    def __init__(self, descriptor: int) -> None:
        self._folder = descriptor

    def read(self, name: str, at_most: int) -> bytes | None:
        """Read a file, at most one byte more than `at_most`; None if it does not exist."""
        try:
            return read_regular_bytes(name, at_most, links=False, folder=self._folder)
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes, *, lasting: bool = True) -> None:
        """Replace a file atomically, see `write_atomic`."""
        write_atomic(self._folder, name, data, lasting=lasting)

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)

    @contextmanager
    def lock(self, name: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """Hold the lock of that name until the context ends."""
        with hold_lock(self._folder, f"{name}.lock", f"{STATE_FOLDER}/{name}", patience_s):
            yield


@contextmanager
def existing_state_folder(root: str) -> Iterator[StateFolder | None]:
    """Open the state folder of a root; None if there is none. Raises LoadError or OSError."""
    try:
        folder = os.open(as_bytes(f"{_bylaw_folder(root)}/state"), FOLDER_FLAGS)
    except FileNotFoundError:
        yield None
        return
    try:
        yield StateFolder(folder)
    finally:
        os.close(folder)


@contextmanager
def state_folder(root: str) -> Iterator[StateFolder]:
    """Open the state folder of a root, and create it if needed. Raises LoadError or OSError."""
    ours = _bylaw_folder(root)
    _make_folder(ours, 0o777)  # other users may read the rules in it
    _make_folder(f"{ours}/state", 0o700)
    folder = os.open(as_bytes(f"{ours}/state"), FOLDER_FLAGS)
    try:
        _hide_from_others(folder)
        yield StateFolder(folder)
    finally:
        os.close(folder)


def _bylaw_folder(root: str) -> str:
    """Return the real path of `.bylaw`; LoadError if a link makes it unsafe."""
    top = real_path(root)
    ours = real_path(f"{top}/{BYLAW_FOLDER}")
    if not relative_name(top, ours):
        raise _unsafe_error(f"`{BYLAW_FOLDER}` is a link that leads out of the root")
    if os.path.islink(as_bytes(f"{ours}/state")):  # noqa: PTH114 - a Path takes no bytes
        raise _unsafe_error(f"`{STATE_FOLDER}` is a link")
    return ours


def _unsafe_error(headline: str) -> LoadError:
    help_ = "make it a folder of the repository"
    nowhere = SourceFile(STATE_FOLDER, "")
    return load_error(UNSAFE_STATE_FOLDER, headline, nowhere, Span(0, 0), help=help_)


def _make_folder(folder: str, mode: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(as_bytes(folder), mode)  # noqa: PTH102 - a Path takes no bytes


def _hide_from_others(folder: int) -> None:
    """Hide the folder from other users and from git."""
    mode = os.fstat(folder).st_mode
    if mode & _MODE_OF_OTHERS:
        os.fchmod(folder, mode & 0o700)
    try:
        os.stat(_IGNORE, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        write_atomic(folder, _IGNORE, b"*\n")


# How long a process waits for other processes, which commit in milliseconds.
SQLITE_PATIENCE_S = 20.0
_BETWEEN_TRIES_S = 0.01
IN_MEMORY = ":memory:"
# Importing `urllib` for this would take longer than opening the file.
_UNQUOTED = frozenset(f"{ascii_letters}{digits}/._-~")


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
        path if path == IN_MEMORY else f"file:{_quote(full)}?{mode}",
        timeout=SQLITE_PATIENCE_S,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _quote(path: bytes) -> str:
    """Escape a path for a database URI: special characters and all that is not ASCII."""
    return "".join(chr(one) if chr(one) in _UNQUOTED else f"%{one:02x}" for one in path)


def use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. SQLite itself does not wait if another process does the same now."""
    until = monotonic() + SQLITE_PATIENCE_S
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
