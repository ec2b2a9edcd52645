"""The ledger: the state of each message, and the digest that each approval applies to.

It is a database in the state folder of a root, shared by all its processes. A message is begun in
one transaction, so exactly one process handles it, and only once, even after a crash.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple, fields, replace

from bylaw.model.display import clip_text, visible
from bylaw.model.errors import BylawError
from bylaw.store.files import os_error_text
from bylaw.store.journal.database import file_identity
from bylaw.store.paths import as_bytes
from bylaw.store.state_folder import (
    STATE_FOLDER,
    connect,
    existing_state_folder,
    make_private,
    state_folder,
    transaction,
    use_wal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    _Run = Callable[..., sqlite3.Cursor]


LEDGER_PATH = f"{STATE_FOLDER}/bus.db"
VERSION = 1

_APPLICATION_ID = 0x42594C42  # "BYLB": tells a ledger from other databases
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_MISMATCH", "SQLITE_ERROR")
_LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED")

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
    with translated_errors(path):
        with state_folder(root):
            make_private(path)
        connection = connect(path)
        try:
            _check_version(connection, path)  # do not change a database of another program
            use_wal(connection)
            # A begun message must survive a power failure: its command runs afterwards, and must
            # not run again.
            connection.execute("PRAGMA synchronous = FULL")
            _make_tables(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_for_reading(root: str) -> sqlite3.Connection | None:
    """Open the database for reading; None if it does not exist or is still being created."""
    path = ledger_path(root)
    with translated_errors(path), existing_state_folder(root) as state:
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
    return f"{root.rstrip('/')}/{LEDGER_PATH}"


@contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Turn errors of the database into BylawError."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise  # a bug in Bylaw
    except sqlite3.Error as problem:
        raise _sqlite_error(path, problem) from problem
    except OSError as problem:
        raise _unusable_error(path, os_error_text(problem)) from problem


def _sqlite_error(path: str, problem: sqlite3.Error) -> BylawError:
    # Errors of the Python module, such as a text that is not UTF-8, have no error name.
    name = getattr(problem, "sqlite_errorname", None) or "SQLITE_ERROR"
    if name.startswith(_DAMAGED):
        return _damaged_error(path, str(problem))
    if name.startswith(_LOCKED):
        message = f"the ledger `{path}` is locked by another process; try again when it has exited"
        return BylawError(message)
    return _unusable_error(path, str(problem))


def _damaged_error(path: str, why: str) -> BylawError:
    return BylawError(
        f"the ledger `{path}` is damaged: {why}; "
        f"move it, `{path}-wal` and `{path}-shm` away, and Bylaw creates a new one; "
        "that knows only the messages of the journal, so check `input` and `processing` first"
    )


def _unusable_error(path: str, why: str) -> BylawError:
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
        raise _damaged_error(path, "it is a database of another program")
    if version > VERSION:
        raise BylawError(
            f"the ledger `{path}` has format {version} of a newer Bylaw; use that version"
        )
    return int(version)


MAX_WHY = 2_000


class MessageState(StrEnum):
    """The state of a message."""

    RUNNING = "running"
    HELD = "held"
    WAITING = "waiting"  # an approval request, for its addressee
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


PENDING = (MessageState.HELD, MessageState.WAITING)
ENDED = (MessageState.DONE, MessageState.FAILED, MessageState.REFUSED, MessageState.WITHDRAWN)


class LedgerEntry(Struct, frozen=True):
    """A message that was begun: its owner, its file, the number of retries, and its state.

    Times are milliseconds. `after_seq` is the newest record of the journal when it was begun. A
    held message is tried again only if its `fingerprint` has changed.
    """

    msg_id: str
    digest: str
    state: MessageState
    file: str
    claim: str
    owner: str
    tries: int
    fingerprint: str
    why: str
    first_at: int
    at: int
    after_seq: int

    @property
    def duplicate_reason(self) -> str:
        """The reason for refusing another message with the same id."""
        return f"the first one is {self.state.value}"


_COLUMNS = ", ".join(field.name for field in fields(LedgerEntry))
_PLACEHOLDERS = ", ".join("?" * len(fields(LedgerEntry)))
_INSERT = f"INSERT OR REPLACE INTO messages ({_COLUMNS}) VALUES ({_PLACEHOLDERS})"  # noqa: S608 - constants


class Ledger:
    """The open ledger of a root, created if needed. Raises BylawError if it cannot be used."""

    def __init__(self, root: str, opened: sqlite3.Connection | None = None) -> None:
        self.path = ledger_path(root)
        self._connection = opened or open_ledger(root)
        self._file = file_identity(self.path)
        self._lock = Lock()  # threads of a process share its connection

    @classmethod
    def open_for_reading(cls, root: str) -> Ledger | None:
        """Open the ledger of a root for reading; None if it has none."""
        opened = open_for_reading(root)
        return None if opened is None else cls(root, opened)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def begin(
        self,
        msg_id: str,
        *,
        digest: str,
        file: str,
        claim: str,
        owner: str,
        after_seq: int,
        at: int,
    ) -> LedgerEntry | None:
        """Begin a message. Return None, or the earlier message with its id that prevents it.

        A held or waiting message can be begun again only from the file that it had. Its digest is
        recorded unless one is recorded already.
        """
        ours = LedgerEntry(
            msg_id, digest, MessageState.RUNNING, visible(file), visible(claim), owner, 0, "", "",
            at, at, after_seq,
        )  # fmt: skip
        with self._change() as run:
            old = _find_entry(run, msg_id)
            if old is not None and not _can_begin(old, ours.file):
                return old
            if old is not None and old.state in PENDING:
                ours = replace(ours, first_at=old.first_at, tries=old.tries + 1)
            run(_INSERT, astuple(ours))
            run("INSERT OR IGNORE INTO digests VALUES (?, ?)", (msg_id, digest))
        return None

    def restore(self, messages: Iterable[LedgerEntry]) -> None:
        """Add messages from the journal. Messages that the ledger has stay as they are."""
        with self._change() as run:
            for one in messages:
                row = replace(one, file=visible(one.file), why=clip_text(visible(one.why), MAX_WHY))
                run(
                    f"INSERT OR IGNORE INTO messages ({_COLUMNS}) VALUES ({_PLACEHOLDERS})",  # noqa: S608 - constants
                    astuple(row),
                )
                run("INSERT OR IGNORE INTO digests VALUES (?, ?)", (one.msg_id, one.digest))

    def end(
        self, msg_id: str, state: MessageState, *, why: str = "", fingerprint: str = "", at: int
    ) -> None:
        """Record how a message ended, or why it is held."""
        change = "UPDATE messages SET state = ?, why = ?, fingerprint = ?, at = ? WHERE msg_id = ?"
        with self._change() as run:
            run(change, (state, clip_text(visible(why), MAX_WHY), fingerprint, at, msg_id))

    def moved(self, msg_id: str, file: str) -> None:
        """Record the new name of a message that was moved back to `input`."""
        with self._change() as run:
            run("UPDATE messages SET file = ? WHERE msg_id = ?", (visible(file), msg_id))

    def record_claim(self, msg_id: str, claim: str) -> None:
        """Record the new claim of a file that was taken over."""
        with self._change() as run:
            run("UPDATE messages SET claim = ? WHERE msg_id = ?", (visible(claim), msg_id))

    def withdraw(self, known: LedgerEntry, *, why: str, at: int) -> None:
        """Record that a message was withdrawn, unless its state has changed since `known`."""
        change = (
            "UPDATE messages SET state = ?, why = ?, at = ? "
            "WHERE msg_id = ? AND state = ? AND tries = ? AND at = ?"
        )
        with self._change() as run:
            same = (known.msg_id, known.state, known.tries, known.at)
            run(change, (MessageState.WITHDRAWN, why, at, *same))

    def take_over(self, known: LedgerEntry, owner: str) -> bool:
        """Become the owner of a message whose owner is dead; False if another process did."""
        change = "UPDATE messages SET owner = ? WHERE msg_id = ? AND owner = ? AND state = ?"
        with self._change() as run:
            done = run(change, (owner, known.msg_id, known.owner, MessageState.RUNNING))
            return done.rowcount == 1

    def known(self, msg_id: str) -> LedgerEntry | None:
        """The entry of a message, if there is one."""
        with self._read() as run:
            return _find_entry(run, msg_id)

    def messages_in(self, *states: MessageState) -> list[LedgerEntry]:
        """All messages in these states, oldest change first."""
        marks = ", ".join("?" * len(states))
        sql = f"SELECT {_COLUMNS} FROM messages WHERE state IN ({marks}) ORDER BY at, msg_id"  # noqa: S608 - constants
        return self._all(sql, states)

    def recent(self, limit: int, *states: MessageState) -> list[LedgerEntry]:
        """At most `limit` messages in these states, newest change first."""
        marks = ", ".join("?" * len(states))
        sql = (
            f"SELECT {_COLUMNS} FROM messages WHERE state IN ({marks}) "  # noqa: S608 - constants
            "ORDER BY at DESC, msg_id DESC LIMIT ?"
        )
        return self._all(sql, (*states, limit))

    def ids_with_prefix(self, start: str) -> list[str]:
        """The ids that begin with `start`."""
        sql = "SELECT msg_id FROM messages WHERE msg_id >= ? AND substr(msg_id, 1, ?) = ?"
        with self._read() as run:
            return [found for (found,) in run(sql, (start, len(start), start)).fetchall()]

    def counts(self) -> dict[MessageState, int]:
        """The number of messages in each state."""
        with self._read() as run:
            found = dict(run("SELECT state, count(*) FROM messages GROUP BY state").fetchall())
        return {state: found.get(state, 0) for state in MessageState}

    def digest_of(self, msg_id: str) -> str | None:
        """The digest that a message had when it was last seen."""
        with self._read() as run:
            return _find_digest(run, msg_id)

    def bound_digest(self, source: str) -> str | None:
        """The digest that an approval applies to."""
        with self._read() as run:
            return _find_binding(run, source)

    def digest_for(self, msg_id: str, source: str, named: str, digest: str) -> str:
        """The digest that `bind_all` would return for an approval. Changes nothing."""
        return self.bound_digest(source) or named or self.digest_of(msg_id) or digest

    def bind_all(self, msg_id: str, sources: Mapping[str, str], digest: str) -> dict[str, str]:
        """Bind the approvals of a message to digests. Return the digest that each applies to.

        A new approval applies to the digest that it names. If it names none, it applies to the
        recorded digest of the message, because later versions cannot have been approved. Without
        a recorded digest, it applies to `digest`, which is then recorded.
        Bindings are kept after an approval is gone: saving a file again is not a new approval.
        """
        with self._read() as run:
            recorded = _find_digest(run, msg_id)
            found = {source: _find_binding(run, source) for source in sources}
        if recorded == digest and None not in found.values():
            return {source: bound for source, bound in found.items() if bound is not None}
        with self._change() as run:
            old = _find_digest(run, msg_id) or digest
            for source, named in sources.items():
                _bind(run, source, msg_id, named or old)
            _save_digest(run, msg_id, digest)
            return {source: _find_binding(run, source) or "" for source in sources}

    def _all(self, sql: str, values: tuple[object, ...]) -> list[LedgerEntry]:
        with self._read() as run:
            return [_entry_from_row(found) for found in run(sql, values).fetchall()]

    @contextmanager
    def _read(self) -> Iterator[_Run]:
        with self._lock, translated_errors(self.path):
            yield self._connection.execute

    @contextmanager
    def _change(self) -> Iterator[_Run]:
        """One transaction; nothing is changed if it fails."""
        with self._read() as run:
            self._check_file()
            with transaction(self._connection):
                yield run

    def _check_file(self) -> None:
        # Other processes do not see what is written to a file that was moved away.
        if file_identity(self.path) != self._file:
            raise BylawError(f"the ledger `{self.path}` was moved or replaced; restart the bus")


def _can_begin(old: LedgerEntry, file: str) -> bool:
    return old.state is MessageState.WITHDRAWN or (old.state in PENDING and old.file == file)


def _find_entry(run: _Run, msg_id: str) -> LedgerEntry | None:
    sql = f"SELECT {_COLUMNS} FROM messages WHERE msg_id = ?"  # noqa: S608 - constants
    found = run(sql, (msg_id,)).fetchone()
    return None if found is None else _entry_from_row(found)


def _entry_from_row(found: tuple[object, ...]) -> LedgerEntry:
    known = LedgerEntry(*found)  # type: ignore[arg-type] # the table is strict
    return replace(known, state=MessageState(known.state))


def _find_digest(run: _Run, msg_id: str) -> str | None:
    found = run("SELECT digest FROM digests WHERE msg_id = ?", (msg_id,)).fetchone()
    return None if found is None else found[0]


def _save_digest(run: _Run, msg_id: str, digest: str) -> None:
    run("INSERT OR REPLACE INTO digests VALUES (?, ?)", (msg_id, digest))


def _find_binding(run: _Run, source: str) -> str | None:
    found = run("SELECT digest FROM bindings WHERE source = ?", (source,)).fetchone()
    return None if found is None else found[0]


def _bind(run: _Run, source: str, msg_id: str, digest: str) -> None:
    run("INSERT OR IGNORE INTO bindings VALUES (?, ?, ?)", (source, msg_id, digest))
