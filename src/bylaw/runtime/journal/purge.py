"""Erase payloads of records and write a record about it; the chain stays valid.

A purge removes the payloads. Of sessions that have ended, only the chain is left. Sessions that go
on lose the texts and arguments that are in no remaining record. The purge itself is a record that
no rule decides. So a payload that is missing without such a record was removed by other means.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import Struct

from bylaw.model.event import Custom
from bylaw.model.session import Session
from bylaw.model.vocabulary import Kind
from bylaw.runtime.journal.erasing import erased, still_said, texts_in
from bylaw.runtime.journal.errors import unfinished_purge
from bylaw.runtime.journal.snapshot import Packer, texts_of
from bylaw.runtime.journal.sources import NO_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.model.event import Event
    from bylaw.runtime.journal.chain import Header
    from bylaw.runtime.journal.reading import Rows
    from bylaw.runtime.journal.sessions import Sessions

# The session name of purge records; it is not the session of any agent.
PURGES = "bylaw.journal"
TYPE = "journal.purge"

Run: TypeAlias = "Callable[..., sqlite3.Cursor]"
_PAYLOADS = "FROM records r JOIN payloads p USING (seq)"


class Purge(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to erase: one session or all, before a time in milliseconds or everything."""

    session: str | None = None
    before: int | None = None

    def covers(self, header: Header) -> bool:
        """Check whether a record from before the purge lost its payload to it."""
        return (
            header.rules != NO_RULES.digest
            and self.session in (None, header.session)
            and (self.before is None or header.at < self.before)
        )

    def where(self) -> tuple[str, tuple[object, ...]]:
        """Return the same as SQL, starting after FROM, with its values."""
        asked: dict[str, object] = {
            "r.rules != ?": NO_RULES.digest,
            "r.session = ?": self.session,
            "r.at < ?": self.before,
        }
        given = {part: value for part, value in asked.items() if value is not None}
        return f"{_PAYLOADS} WHERE {' AND '.join(given)}", tuple(given.values())


class Purged(Struct, frozen=True):
    """The number of payloads that were or would be erased, and of their sessions."""

    payloads: int = 0
    sessions: int = 0


def purge_event(wanted: Purge, purged: Purged, seq: int, at: int) -> Event:
    """Return the event that records a purge."""
    payload = {**msgspec.to_builtins(wanted), "payloads": purged.payloads}
    return Custom(session=PURGES, seq=seq, at=at, type=TYPE, payload=payload)


def purge_in(header: Header, event: Event) -> Purge | None:
    """Return the purge that a record describes; None if it describes none."""
    if header.rules != NO_RULES.digest or not isinstance(event, Custom) or event.type != TYPE:
        return None
    told = {name: event.payload.get(name) for name in Purge.__struct_fields__}
    return msgspec.convert(told, Purge)


def would_erase(rows: Rows, wanted: Purge) -> Purged:
    """Count what a purge would erase."""
    return Purged(*rows.query(*_count(wanted))[0])


def _count(wanted: Purge) -> tuple[str, tuple[object, ...]]:
    where, values = wanted.where()
    return f"SELECT count(*), count(DISTINCT r.session) {where}", values


def erase(run: Run, sessions: Sessions, wanted: Purge, seq: int) -> Purged:
    """Erase payloads in the open transaction; the caller then writes record `seq` about it."""
    purged = Purged(*run(*_count(wanted)).fetchone())
    where, values = wanted.where()
    for (name,) in run(f"SELECT DISTINCT r.session {where}", values).fetchall():
        state = sessions.read(name)
        where, values = Purge(name, wanted.before).where()
        run(f"DELETE FROM payloads WHERE seq IN (SELECT r.seq {where})", values)  # noqa: S608 - ours
        # Under the number of the purge record, so that no process continues with a cached state.
        sessions.write_snapshot(Packer(), _left(run, state, wanted.before), seq)
    _sweep(run)
    return purged


def leave_no_bytes(run: Run, path: str) -> None:
    """Rewrite the file without the erased bytes, and empty its log."""
    try:
        run("VACUUM")
        busy, _, _ = run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as problem:
        raise unfinished_purge(path, str(problem)) from problem
    if busy:
        raise unfinished_purge(path, "another process still reads the old content")


def _left(run: Run, state: Session, kept_from: int | None) -> Session:
    """Return what is left of a session after its payloads were erased."""
    if any(True for _ in _payloads(run, state.id)):
        return erased(state, still_said(texts_in(state), _payloads(run, state.id)), kept_from)
    if _has_ended(run, state.id):
        return Session(id=state.id, seq=state.seq, at=state.at)
    return erased(state, (), None)


def _payloads(run: Run, name: str) -> Iterator[bytes]:
    """Yield the remaining events and decisions of a session."""
    found: list[tuple[int, bytes, bytes]] = [(0, b"", b"")]
    while found:
        found = run(
            "SELECT r.seq, p.event, p.decision FROM records r JOIN payloads p USING (seq)"
            " WHERE r.session = ? AND r.seq > ? ORDER BY r.seq LIMIT 100",
            (name, found[-1][0]),
        ).fetchall()
        for _, event, decision in found:
            yield event
            yield decision


def _has_ended(run: Run, name: str) -> bool:
    # Records that the end of the session caused come after it.
    found = run(
        "SELECT kind FROM records WHERE session = ? AND kind NOT IN (?, ?, ?)"
        " ORDER BY seq DESC LIMIT 1",
        (name, Kind.EFFECT.value, Kind.MESSAGE.value, Kind.CUSTOM.value),
    )
    return found.fetchall() == [(Kind.SESSION_END.value,)]


def _sweep(run: Run) -> None:
    """Delete texts to which no session refers."""
    run("CREATE TEMP TABLE kept (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID")
    for (name,) in run("SELECT id FROM sessions").fetchall():
        ((core,),) = run("SELECT core FROM sessions WHERE id = ?", (name,)).fetchall()
        for key in texts_of(core):
            run("INSERT OR IGNORE INTO temp.kept VALUES (?)", (key,))
    run("DELETE FROM texts WHERE digest NOT IN (SELECT digest FROM temp.kept)")
    run("DROP TABLE temp.kept")
