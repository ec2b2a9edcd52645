"""The ledger: the state of each message, and the digest that each approval applies to.

Several processes share it. A message is begun in one transaction, so exactly one process handles
it, and only once, even after a crash.
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple, fields, replace

from bylaw.hosts.bus.ledger.ledger_file import ledger_path, open_ledger, open_to_read, told_plainly
from bylaw.model.errors import BylawError
from bylaw.model.visible import clipped, visible
from bylaw.runtime.journal.database import file_identity
from bylaw.runtime.sqlite_file import transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

    _Run = Callable[..., sqlite3.Cursor]

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


class Known(Struct, frozen=True):
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
    def told_as_first(self) -> str:
        """The reason for refusing another message with the same id."""
        return f"the first one is {self.state.value}"


_COLUMNS = ", ".join(field.name for field in fields(Known))
_MARKS = ", ".join("?" * len(fields(Known)))


class Ledger:
    """The open ledger of a root, created if needed. Raises BylawError if it cannot be used."""

    def __init__(self, root: str, opened: sqlite3.Connection | None = None) -> None:
        self.path = ledger_path(root)
        self._connection = opened or open_ledger(root)
        self._file = file_identity(self.path)
        self._one_at_a_time = Lock()  # threads of a process share its connection

    @classmethod
    def to_read(cls, root: str) -> Ledger | None:
        """Open the ledger of a root for reading; None if it has none."""
        opened = open_to_read(root)
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
    ) -> Known | None:
        """Begin a message. Return None, or the earlier message with its id that prevents it.

        A held or waiting message can be begun again only from the file that it had. Its digest is
        recorded unless one is recorded already.
        """
        ours = Known(
            msg_id, digest, MessageState.RUNNING, visible(file), visible(claim), owner, 0, "", "",
            at, at, after_seq,
        )  # fmt: skip
        with self._changing() as run:
            old = _find(run, msg_id)
            if old is not None and not _may_begin(old, ours.file):
                return old
            if old is not None and old.state in PENDING:
                ours = replace(ours, first_at=old.first_at, tries=old.tries + 1)
            run(f"INSERT OR REPLACE INTO messages ({_COLUMNS}) VALUES ({_MARKS})", astuple(ours))  # noqa: S608 - constants
            run("INSERT OR IGNORE INTO digests VALUES (?, ?)", (msg_id, digest))
        return None

    def restore(self, messages: Iterable[Known]) -> None:
        """Add messages from the journal. Messages that the ledger has stay as they are."""
        with self._changing() as run:
            for one in messages:
                row = replace(one, file=visible(one.file), why=clipped(visible(one.why), MAX_WHY))
                run(
                    f"INSERT OR IGNORE INTO messages ({_COLUMNS}) VALUES ({_MARKS})",  # noqa: S608 - constants
                    astuple(row),
                )
                run("INSERT OR IGNORE INTO digests VALUES (?, ?)", (one.msg_id, one.digest))

    def end(
        self, msg_id: str, state: MessageState, *, why: str = "", fingerprint: str = "", at: int
    ) -> None:
        """Record how a message ended, or why it is held."""
        change = "UPDATE messages SET state = ?, why = ?, fingerprint = ?, at = ? WHERE msg_id = ?"
        with self._changing() as run:
            run(change, (state, clipped(visible(why), MAX_WHY), fingerprint, at, msg_id))

    def moved(self, msg_id: str, file: str) -> None:
        """Record the new name of a message that was moved back to `input`."""
        with self._changing() as run:
            run("UPDATE messages SET file = ? WHERE msg_id = ?", (visible(file), msg_id))

    def reclaimed(self, msg_id: str, claim: str) -> None:
        """Record the new claim of a file that was taken over."""
        with self._changing() as run:
            run("UPDATE messages SET claim = ? WHERE msg_id = ?", (visible(claim), msg_id))

    def withdraw(self, known: Known, *, why: str, at: int) -> None:
        """Record that a message was withdrawn, unless its state has changed since `known`."""
        change = (
            "UPDATE messages SET state = ?, why = ?, at = ? "
            "WHERE msg_id = ? AND state = ? AND tries = ? AND at = ?"
        )
        with self._changing() as run:
            same = (known.msg_id, known.state, known.tries, known.at)
            run(change, (MessageState.WITHDRAWN, why, at, *same))

    def take_over(self, known: Known, owner: str) -> bool:
        """Become the owner of a message whose owner is dead; False if another process did."""
        change = "UPDATE messages SET owner = ? WHERE msg_id = ? AND owner = ? AND state = ?"
        with self._changing() as run:
            done = run(change, (owner, known.msg_id, known.owner, MessageState.RUNNING))
            return done.rowcount == 1

    def known(self, msg_id: str) -> Known | None:
        """The entry of a message, if there is one."""
        with self._reading() as run:
            return _find(run, msg_id)

    def in_state(self, *states: MessageState) -> list[Known]:
        """All messages in these states, oldest change first."""
        marks = ", ".join("?" * len(states))
        sql = f"SELECT {_COLUMNS} FROM messages WHERE state IN ({marks}) ORDER BY at, msg_id"  # noqa: S608 - constants
        return self._all(sql, states)

    def recent(self, limit: int, *states: MessageState) -> list[Known]:
        """At most `limit` messages in these states, newest change first."""
        marks = ", ".join("?" * len(states))
        sql = (
            f"SELECT {_COLUMNS} FROM messages WHERE state IN ({marks}) "  # noqa: S608 - constants
            "ORDER BY at DESC, msg_id DESC LIMIT ?"
        )
        return self._all(sql, (*states, limit))

    def ids(self, start: str) -> list[str]:
        """The ids that begin with `start`."""
        sql = "SELECT msg_id FROM messages WHERE msg_id >= ? AND substr(msg_id, 1, ?) = ?"
        with self._reading() as run:
            return [found for (found,) in run(sql, (start, len(start), start)).fetchall()]

    def counts(self) -> dict[MessageState, int]:
        """The number of messages in each state."""
        with self._reading() as run:
            found = dict(run("SELECT state, count(*) FROM messages GROUP BY state").fetchall())
        return {state: found.get(state, 0) for state in MessageState}

    def digest_of(self, msg_id: str) -> str | None:
        """The digest that a message had when it was last seen."""
        with self._reading() as run:
            return _digest(run, msg_id)

    def bound(self, source: str) -> str | None:
        """The digest that an approval applies to."""
        with self._reading() as run:
            return _bound(run, source)

    def meant(self, msg_id: str, source: str, named: str, digest: str) -> str:
        """The digest that `bind_all` would return for an approval. Changes nothing."""
        return self.bound(source) or named or self.digest_of(msg_id) or digest

    def bind_all(self, msg_id: str, sources: Mapping[str, str], digest: str) -> dict[str, str]:
        """Bind the approvals of a message to digests. Return the digest that each applies to.

        A new approval applies to the digest that it names. If it names none, it applies to the
        recorded digest of the message, because later versions cannot have been approved. Without
        a recorded digest, it applies to `digest`, which is then recorded.
        Bindings are kept after an approval is gone: saving a file again is not a new approval.
        """
        with self._reading() as run:
            recorded = _digest(run, msg_id)
            found = {source: _bound(run, source) for source in sources}
        if recorded == digest and None not in found.values():
            return {source: bound for source, bound in found.items() if bound is not None}
        with self._changing() as run:
            old = _digest(run, msg_id) or digest
            for source, named in sources.items():
                _bind(run, source, msg_id, named or old)
            _record(run, msg_id, digest)
            return {source: _bound(run, source) or "" for source in sources}

    def _all(self, sql: str, values: tuple[object, ...]) -> list[Known]:
        with self._reading() as run:
            return [_row(found) for found in run(sql, values).fetchall()]

    @contextmanager
    def _reading(self) -> Iterator[_Run]:
        with self._one_at_a_time, told_plainly(self.path):
            yield self._connection.execute

    @contextmanager
    def _changing(self) -> Iterator[_Run]:
        """One transaction; nothing is changed if it fails."""
        with self._reading() as run:
            self._check_file()
            with transaction(self._connection):
                yield run

    def _check_file(self) -> None:
        # Other processes do not see what is written to a file that was moved away.
        if file_identity(self.path) != self._file:
            raise BylawError(f"the ledger `{self.path}` was moved or replaced; restart the bus")


def _may_begin(old: Known, file: str) -> bool:
    return old.state is MessageState.WITHDRAWN or (old.state in PENDING and old.file == file)


def _find(run: _Run, msg_id: str) -> Known | None:
    sql = f"SELECT {_COLUMNS} FROM messages WHERE msg_id = ?"  # noqa: S608 - constants
    found = run(sql, (msg_id,)).fetchone()
    return None if found is None else _row(found)


def _row(found: tuple[object, ...]) -> Known:
    known = Known(*found)  # type: ignore[arg-type] # the table is strict
    return replace(known, state=MessageState(known.state))


def _digest(run: _Run, msg_id: str) -> str | None:
    found = run("SELECT digest FROM digests WHERE msg_id = ?", (msg_id,)).fetchone()
    return None if found is None else found[0]


def _record(run: _Run, msg_id: str, digest: str) -> None:
    run("INSERT OR REPLACE INTO digests VALUES (?, ?)", (msg_id, digest))


def _bound(run: _Run, source: str) -> str | None:
    found = run("SELECT digest FROM bindings WHERE source = ?", (source,)).fetchone()
    return None if found is None else found[0]


def _bind(run: _Run, source: str, msg_id: str, digest: str) -> None:
    run("INSERT OR IGNORE INTO bindings VALUES (?, ?, ?)", (source, msg_id, digest))
