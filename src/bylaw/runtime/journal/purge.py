"""Which records → their payloads erased, and a record that says so; the chain stays whole.

What goes: the payloads; of sessions that ended, all but the chain; of those that go on, the texts
and arguments that no record says any more. That something was erased is itself a record, which no
rule decides: so a payload that is gone without one was taken away by somebody else.
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

# Records of erasing are no session of anybody.
PURGES = "bylaw.journal"
TYPE = "journal.purge"

Run: TypeAlias = "Callable[..., sqlite3.Cursor]"
_PAYLOADS = "FROM records r JOIN payloads p USING (seq)"


class Purge(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is erased: of one session or of all, up to a time in milliseconds or everything."""

    session: str | None = None
    before: int | None = None

    def covers(self, header: Header) -> bool:
        """Whether a record that is older than the purge lost its payload to it."""
        return (
            header.rules != NO_RULES.digest
            and self.session in (None, header.session)
            and (self.before is None or header.at < self.before)
        )

    def where(self) -> tuple[str, tuple[object, ...]]:
        """The same as SQL behind FROM, with its values."""
        asked: dict[str, object] = {
            "r.rules != ?": NO_RULES.digest,
            "r.session = ?": self.session,
            "r.at < ?": self.before,
        }
        given = {part: value for part, value in asked.items() if value is not None}
        return f"{_PAYLOADS} WHERE {' AND '.join(given)}", tuple(given.values())


class Purged(Struct, frozen=True):
    """How many payloads were erased, or would be, and of how many sessions."""

    payloads: int = 0
    sessions: int = 0


def purge_event(wanted: Purge, purged: Purged, seq: int, at: int) -> Event:
    """What is recorded of a purge."""
    payload = {**msgspec.to_builtins(wanted), "payloads": purged.payloads}
    return Custom(session=PURGES, seq=seq, at=at, type=TYPE, payload=payload)


def purge_in(header: Header, event: Event) -> Purge | None:
    """The purge that a record tells of, if it does."""
    if header.rules != NO_RULES.digest or not isinstance(event, Custom) or event.type != TYPE:
        return None
    told = {name: event.payload.get(name) for name in Purge.__struct_fields__}
    return msgspec.convert(told, Purge)


def would_erase(rows: Rows, wanted: Purge) -> Purged:
    """What a purge would erase."""
    return Purged(*rows.query(*_count(wanted))[0])


def _count(wanted: Purge) -> tuple[str, tuple[object, ...]]:
    where, values = wanted.where()
    return f"SELECT count(*), count(DISTINCT r.session) {where}", values


def erase(run: Run, sessions: Sessions, wanted: Purge, seq: int) -> Purged:
    """Erase, in a transaction, before record `seq` is written to say so."""
    purged = Purged(*run(*_count(wanted)).fetchone())
    where, values = wanted.where()
    for (name,) in run(f"SELECT DISTINCT r.session {where}", values).fetchall():
        state = sessions.read(name)
        where, values = Purge(name, wanted.before).where()
        run(f"DELETE FROM payloads WHERE seq IN (SELECT r.seq {where})", values)  # noqa: S608 - ours
        # Under the number of the purge, so that no process goes on with what it has at hand.
        sessions.write_snapshot(Packer(), _left(run, state, wanted.before), seq)
    _sweep(run)
    return purged


def leave_no_bytes(run: Run, path: str) -> None:
    """Write the file anew, without what was erased, and empty its log."""
    try:
        run("VACUUM")
        busy, _, _ = run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as problem:
        raise unfinished_purge(path, str(problem)) from problem
    if busy:
        raise unfinished_purge(path, "another process still reads it as it was")


def _left(run: Run, state: Session, kept_from: int | None) -> Session:
    """What stays of a session after its payloads were erased."""
    if any(True for _ in _payloads(run, state.id)):
        return erased(state, still_said(texts_in(state), _payloads(run, state.id)), kept_from)
    if _has_ended(run, state.id):
        return Session(id=state.id, seq=state.seq, at=state.at)
    return erased(state, (), None)


def _payloads(run: Run, name: str) -> Iterator[bytes]:
    """Events and decisions that are left of a session, one after the other."""
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
    # What the end itself brought about comes behind it.
    found = run(
        "SELECT kind FROM records WHERE session = ? AND kind NOT IN (?, ?, ?)"
        " ORDER BY seq DESC LIMIT 1",
        (name, Kind.EFFECT.value, Kind.MESSAGE.value, Kind.CUSTOM.value),
    )
    return found.fetchall() == [(Kind.SESSION_END.value,)]


def _sweep(run: Run) -> None:
    """Forget texts to which no session refers."""
    run("CREATE TEMP TABLE kept (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID")
    for (name,) in run("SELECT id FROM sessions").fetchall():
        ((core,),) = run("SELECT core FROM sessions WHERE id = ?", (name,)).fetchall()
        for key in texts_of(core):
            run("INSERT OR IGNORE INTO temp.kept VALUES (?)", (key,))
    run("DELETE FROM texts WHERE digest NOT IN (SELECT digest FROM temp.kept)")
    run("DROP TABLE temp.kept")
