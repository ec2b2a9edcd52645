"""The journal as one thing: a session is read, decided on and written in one transaction."""

from __future__ import annotations

import os
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import msgspec

from bylaw.model.wire import encode_event
from bylaw.runtime.journal.chain import GENESIS, Header, digest, link
from bylaw.runtime.journal.database import IN_MEMORY, file_identity, open_database
from bylaw.runtime.journal.errors import corrupt_journal, forked_journal, told_plainly
from bylaw.runtime.journal.redaction import Redactor
from bylaw.runtime.journal.sessions import Sessions
from bylaw.runtime.journal.telling import encode_with_digest
from bylaw.runtime.owner import this_process
from bylaw.runtime.settings.tables import Durability
from bylaw.version import __version__

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.model.session import Session
    from bylaw.runtime.journal.anchor import Anchor
    from bylaw.runtime.journal.sessions import Held
    from bylaw.runtime.journal.sources import RulesInForce

# Number and digest of a record.
Head: TypeAlias = tuple[int, bytes]
BEGINNING: Head = (0, GENESIS)
# The owner of plans that were open when a journal was met for the first time.
ADOPTED = ""
# How long records may still go to a file that somebody moved away.
LOOK_AGAIN_S = 1.0


@dataclass(slots=True)
class Entry:
    """An event with its decision, as they may be stored, and the session that comes of them."""

    event: Event
    decision: Decision
    session: Session
    redacted: bool = False
    # Whether plans of it have to be followed, by whom.
    owner: str = ""


class Journal:
    """An open journal. Safe to share between threads; other processes may write beside it."""

    def __init__(
        self,
        path: str = IN_MEMORY,
        *,
        durability: Durability = Durability.PROCESS,
        redactor: Redactor | None = None,
        anchor: Anchor | None = None,
    ) -> None:
        self.path = path
        self.redactor = redactor or Redactor()
        self._durability = durability
        self._anchor = anchor
        self._lock = RLock()
        self._plainly = told_plainly(path)
        self._process = os.getpid()
        with self._plainly:
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing can be recorded any more."""
        with self._lock:
            self._connection.close()
            if self._anchor is not None:
                self._anchor.close()

    def transact(
        self,
        session: str,
        rules: RulesInForce,
        judge: Callable[[Session, int], Entry | None],
    ) -> Entry | None:
        """Have the next record of a session made from what the session is now, and write it.

        `judge` is given the session and the number of the record. If it gives none, nothing
        happened. JournalError if nothing can be written: then nothing was.
        """
        with self._lock, self._plainly:
            run = self._ready()
            try:
                run("BEGIN IMMEDIATE")
                head, held = self._stand(session)
                entry = judge(held.session, head[0] + 1)
                if entry is None:
                    run("ROLLBACK")
                    return None
                self._head = self._write(head, entry, rules)
                self._sessions.write(held, entry.session, self._head[0])
                run("COMMIT")
            except BaseException:
                self._forget(session)
                raise
            self._known_rules.add(rules.digest)
            self._sessions.keep(session, held)
            if self._anchor is not None and self.vouched:
                self._anchor.move(*self._head)
        return entry

    def session(self, session: str) -> Session:
        """The session as it stands."""
        with self._lock, self._plainly:
            run = self._ready()
            run("BEGIN")
            try:
                return self._stand(session)[1].session
            finally:
                run("ROLLBACK")

    def close_plans(self, seq: int) -> None:
        """All plans of a decision were followed to their end."""
        with self._lock, self._plainly:
            self._ready()("DELETE FROM open_plans WHERE seq = ?", (seq,))

    def open_plans(self, session: str) -> list[tuple[int, str]]:
        """Decisions of a session whose plans did not come to their end, with their owners."""
        return self.query(
            "SELECT seq, owner FROM open_plans WHERE session = ? ORDER BY seq", (session,)
        )

    def take_over(self, seq: int, owner: str) -> bool:
        """Become the one who follows these plans; False if somebody else was quicker."""
        with self._lock, self._plainly:
            done = self._ready()(
                "UPDATE open_plans SET owner = ? WHERE seq = ? AND owner = ?",
                (this_process(), seq, owner),
            )
            return done.rowcount == 1

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows of a question to the database."""
        with self._lock, self._plainly:
            return self._ready()(statement, tuple(values)).fetchall()

    def _open(self) -> None:
        self._connection: sqlite3.Connection = open_database(self.path, self._durability)
        self._run = self._connection.cursor().execute  # one for all: it is never read late
        self._file = file_identity(self.path)
        self._looked = monotonic()
        self._plainly.broken = False
        self._sessions = Sessions(self.path, self._run)
        self._known_rules: set[bytes] = set()
        # What is known of the newest record holds in one version of the database.
        self._version = -1
        self._head = BEGINNING
        self.vouched = self._anchor is None or self._fits(self._anchor)

    def _fits(self, anchor: Anchor) -> bool:
        """Whether this is the journal that was noted. If it is not, the note stays as it is."""
        known = anchor.read()
        run = self._run
        if known is None:
            # Nobody knows it: it may have come with the repository.
            if run("SELECT 1 FROM open_plans LIMIT 1").fetchone():
                run("UPDATE open_plans SET owner = ?", (ADOPTED,))
            return True
        seq, chain = known
        found = run("SELECT chain FROM records WHERE seq = ?", (seq,)).fetchall()
        return found == [(chain,)]

    def _ready(self) -> Callable[..., sqlite3.Cursor]:
        """How statements are run; the file is opened again if it is broken, or another by now."""
        if self._process != os.getpid():
            raise forked_journal(self.path)
        if self._looked + LOOK_AGAIN_S < monotonic() or self._plainly.broken:
            self._look()
        return self._run

    def _look(self) -> None:
        is_other = self._plainly.broken or file_identity(self.path) != self._file
        if is_other and self.path != IN_MEMORY:
            self._connection.close()
            self._open()
        self._looked = monotonic()

    def _stand(self, session: str) -> tuple[Head, Held]:
        """The last record of the journal, and the session as it stands."""
        (version,) = self._run("PRAGMA data_version").fetchone()
        if version != self._version:
            self._head = self._newest()
            self._version = version
        return self._head, self._sessions.newest(session, version)

    def _newest(self) -> Head:
        found = self._run("SELECT seq, chain FROM records ORDER BY seq DESC LIMIT 1").fetchone()
        if found is None:
            return BEGINNING
        seq, chain = found
        if not isinstance(chain, bytes) or len(chain) != len(GENESIS):
            raise corrupt_journal(self.path, f"record {seq} is no link of a chain")
        return seq, chain

    def _forget(self, session: str) -> None:
        self._sessions.forget(session)
        self._version = -1
        if self._connection.in_transaction:
            self._run("ROLLBACK")

    def _write(self, head: Head, entry: Entry, rules: RulesInForce) -> Head:
        event = encode_event(entry.event)
        decision, decision_digest = encode_with_digest(entry.decision)
        header = Header(
            head[0] + 1,
            entry.event.session,
            entry.event.at,
            entry.event.kind.value,
            entry.decision.verdict.value,
            digest(event),
            decision_digest,
            rules.digest,
            __version__,
            entry.redacted,
        )
        chain = link(head[1], header)
        run = self._run
        run(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*msgspec.structs.astuple(header), chain),
        )
        run("INSERT INTO payloads VALUES (?, ?, ?)", (header.seq, event, decision))
        if entry.owner:
            run(
                "INSERT INTO open_plans VALUES (?, ?, ?)", (header.seq, header.session, entry.owner)
            )
        if rules.digest not in self._known_rules:
            self._write_rules(rules)
        return header.seq, chain

    def _write_rules(self, rules: RulesInForce) -> None:
        run = self._run
        run(
            "INSERT INTO rule_sets VALUES (?1, ?2) ON CONFLICT (digest)"
            " DO UPDATE SET files = ?2 WHERE length(files) < length(?2)",  # known without texts
            (rules.digest, rules.encoded_files()),
        )
        for key, text in rules.texts:
            run("INSERT OR IGNORE INTO sources VALUES (?, ?)", (key, text))
