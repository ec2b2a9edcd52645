"""The current sessions of a journal: load a snapshot and fold the records after it.

Sessions stay in memory and are updated only if another process has written.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.runtime.journal.errors import corrupt_journal
from bylaw.runtime.journal.reading import decoded
from bylaw.runtime.journal.snapshot import Packer, unpacked

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

# Sessions that a process keeps in memory; others are read again.
MAX_AT_HAND = 64
# At most this many records follow a snapshot and must be folded when it is loaded.
SNAPSHOT_EVERY = 128

_STANDS = """
    SELECT (SELECT max(seq) FROM records WHERE session = ?1),
           (SELECT seq FROM sessions WHERE id = ?1)
"""
_BEHIND = """
    SELECT r.seq, p.event, p.decision FROM records r LEFT JOIN payloads p USING (seq)
    WHERE r.session = ? AND r.seq > ? ORDER BY r.seq
"""


class Held(Struct):
    """A session after its record `seq`, and the number of records after its snapshot."""

    session: Session
    seq: int = 0
    snapshot: int = 0
    behind: int = 0
    # The version of the database in which this was certainly the newest state.
    version: int = -1
    packer: Packer = field(default_factory=Packer)


class Sessions:
    """The sessions of one open database. Call every method inside a transaction."""

    def __init__(self, path: str, run: Callable[..., sqlite3.Cursor]) -> None:
        self._path = path
        self._run = run
        self._at_hand: OrderedDict[str, Held] = OrderedDict()

    def newest(self, session: str, version: int) -> Held:
        """Return the newest state of a session in this version of the database."""
        held = self._at_hand.get(session)
        if held is not None and held.version == version:
            return held
        seq, snapshot = self._run(_STANDS, (session,)).fetchone()
        if held is None or held.snapshot != (snapshot or 0):
            held = self._loaded(session) if snapshot else Held(Session(id=session))
        if held.seq < (seq or 0):
            self._catch_up(held)
        held.version = version
        return held

    def read(self, session: str) -> Session:
        """Return the newest state of a session, read again; it is not kept in memory."""
        self.forget(session)
        return self.newest(session, -1).session

    def write(self, held: Held, after: Session, seq: int) -> None:
        """Store the next state of a session; also write a snapshot if one is due."""
        held.session, held.seq, held.behind = after, seq, held.behind + 1
        if held.behind >= SNAPSHOT_EVERY or not held.snapshot:
            self.write_snapshot(held.packer, after, seq)
            held.snapshot, held.behind = seq, 0

    def write_snapshot(self, packer: Packer, session: Session, seq: int) -> None:
        """Write the state that a session has after record `seq`, for any session."""
        core, texts = packer.pack(session)
        self._run(
            "INSERT INTO sessions VALUES (?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, core = excluded.core",
            (session.id, seq, core),
        )
        for key, text in texts.items():
            self._run("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, text))

    def keep(self, session: str, held: Held) -> None:
        """Keep a session in memory after its transaction was committed."""
        self._at_hand[session] = held
        self._at_hand.move_to_end(session)
        if len(self._at_hand) > MAX_AT_HAND:
            self._at_hand.popitem(last=False)

    def forget(self, session: str) -> None:
        """Drop a session from memory."""
        self._at_hand.pop(session, None)

    def forget_all(self) -> None:
        """Drop all sessions from memory: what is stored may differ."""
        self._at_hand.clear()

    def _loaded(self, session: str) -> Held:
        seq, core = self._run("SELECT seq, core FROM sessions WHERE id = ?", (session,)).fetchone()
        try:
            return Held(unpacked(core, self._texts), seq, seq)
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError) as problem:
            why = f"session `{session}` cannot be read"
            raise corrupt_journal(self._path, why) from problem

    def _catch_up(self, held: Held) -> None:
        for seq, event, decision in self._run(_BEHIND, (held.session.id, held.seq)).fetchall():
            if event is None:
                raise corrupt_journal(self._path, f"the payload of record {seq} is missing")
            try:
                held.session = fold(held.session, *decoded(event, decision))
            except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
                raise corrupt_journal(self._path, f"record {seq} cannot be read") from problem
            held.seq, held.behind = seq, held.behind + 1

    def _texts(self, wanted: Iterable[bytes]) -> Mapping[bytes, str]:
        question = "SELECT digest, text FROM texts WHERE digest = ?"
        found = (self._run(question, (key,)).fetchone() for key in wanted)
        return dict(row for row in found if row is not None)
