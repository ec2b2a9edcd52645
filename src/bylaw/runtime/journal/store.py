"""The journal: read a session, decide, and write the record and the session in one transaction."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import msgspec
from msgspec import Struct

from bylaw.model.fold import fold
from bylaw.model.wire import encode_event
from bylaw.runtime.clock import now_ms
from bylaw.runtime.journal.chain import GENESIS, Header, digest, link
from bylaw.runtime.journal.connection import Connection
from bylaw.runtime.journal.errors import corrupt_journal
from bylaw.runtime.journal.purge import PURGES, Purged, erase, leave_no_bytes, purge_event
from bylaw.runtime.journal.redaction import Redactor
from bylaw.runtime.journal.sessions import Sessions
from bylaw.runtime.journal.sources import NO_RULES
from bylaw.runtime.journal.telling import QUIET, encode_with_digest
from bylaw.runtime.owner import is_alive, this_process
from bylaw.runtime.root import absolute
from bylaw.runtime.settings.tables import Durability
from bylaw.runtime.sqlite_file import IN_MEMORY
from bylaw.version import __version__

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.model.session import Session
    from bylaw.runtime.journal.anchor import Anchor
    from bylaw.runtime.journal.purge import Purge
    from bylaw.runtime.journal.sessions import Held
    from bylaw.runtime.journal.sources import RulesInForce

# Number and digest of the last record.
Head: TypeAlias = tuple[int, bytes]
BEGINNING: Head = (0, GENESIS)
# The owner of plans that were already open in a journal that has no anchor.
ADOPTED = ""


# The number of a decision and of its step that causes an event; step 0 is the answer to a denied
# call.
Debt: TypeAlias = tuple[int, int]


class Entry(Struct):
    """An event with its decision, both as they may be stored, and the session after them."""

    event: Event
    decision: Decision
    session: Session
    redacted: bool = False
    # The process that runs the plans of the decision; empty if there are none.
    owner: str = ""
    # The row that this entry adds to the table `owed`, and the row that it removes.
    owes: Debt | None = None
    pays: Debt | None = None


class Journal:
    """An open journal. Threads may share it; other processes may write it at the same time.

    `vouched` is true if the journal matches its anchor, or has none.
    """

    def __init__(
        self,
        path: str = IN_MEMORY,
        *,
        durability: Durability = Durability.PROCESS,
        redactor: Redactor | None = None,
        anchor: Anchor | None = None,
    ) -> None:
        self.path = path if path == IN_MEMORY else absolute(path)  # for any working folder
        self.redactor = redactor or Redactor()
        self._anchor = anchor
        self._lock = RLock()
        self._database = Connection(self.path, durability)
        try:
            with self._database.plainly:
                self._begin()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal; afterwards nothing can be recorded."""
        with self._lock:
            self._database.close()
            if self._anchor is not None:
                self._anchor.close()

    def transact(
        self,
        session: str,
        rules: RulesInForce,
        judge: Callable[[Session, int], Entry | None],
    ) -> Entry | None:
        """Make the next record of a session from its current state, and write it.

        `judge` gets the session and the number of the record. If it returns None, nothing is
        recorded. Raises JournalError if the record cannot be written; then nothing was written.
        """
        with self._lock, self._database.plainly:
            run = self._ready()
            try:
                run("BEGIN IMMEDIATE")
                head, held = self._stand(session)
                entry = judge(held.session, head[0] + 1)
                if entry is None:
                    run("ROLLBACK")
                    return None
                self._write(head, held, entry, rules)
                run("COMMIT")
            except BaseException:
                self._give_up()
                raise
            self._known_rules.add(rules.digest)
            self._sessions.keep(session, held)
            self._note_head()
        return entry

    def session(self, session: str) -> Session:
        """Return the current state of a session."""
        with self._lock, self._database.plainly:
            run = self._ready()
            run("BEGIN")
            try:
                return self._stand(session)[1].session
            finally:
                run("ROLLBACK")

    def close_plans(self, seq: int) -> None:
        """Mark all plans of a decision as finished."""
        self.query("DELETE FROM open_plans WHERE seq = ?", (seq,))

    def owed(self, seq: int) -> set[int]:
        """Return the steps of a decision whose events are not recorded yet, see `Debt`."""
        return {step for (step,) in self.query("SELECT step FROM owed WHERE of = ?", (seq,))}

    def open_plans(self, session: str) -> list[tuple[int, str]]:
        """Return the decisions of a session whose plans are not finished, with their owners."""
        question = "SELECT seq, CAST(owner AS TEXT) FROM open_plans WHERE session = ? ORDER BY seq"
        return self.query(question, (session,))

    def take_over(self, seq: int, owner: str) -> bool:
        """Become the owner of these plans; False if another process was faster."""
        taken = self.query(
            "UPDATE open_plans SET owner = ? WHERE seq = ? AND owner = ? RETURNING seq",
            (this_process(), seq, owner),
        )
        return bool(taken)

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        with self._lock, self._database.plainly:
            return self._ready()(statement, tuple(values)).fetchall()

    def purge(self, wanted: Purge) -> Purged:
        """Erase payloads and their bytes in the file; JournalError if bytes may be left."""
        purged = Purged()

        def judge(_: Session, seq: int) -> Entry | None:
            nonlocal purged
            purged = erase(self._database.run, self._sessions, wanted, seq)
            return self._purge_entry(wanted, purged, seq) if purged.payloads else None

        with self._lock, self._database.plainly:
            self.transact(PURGES, NO_RULES, judge)
            self._sessions.forget_all()
            leave_no_bytes(self._database.run, self.path)
        return purged

    def _purge_entry(self, wanted: Purge, purged: Purged, seq: int) -> Entry:
        session = self._sessions.read(PURGES)
        event = purge_event(wanted, purged, seq, max(session.at, now_ms()))
        return Entry(event, QUIET, fold(session, event, QUIET))

    def _begin(self) -> None:
        """Start again without any cached data of the database."""
        self._sessions = Sessions(self.path, self._database.run)
        self._known_rules: set[bytes] = set()
        # The cached number and digest of the newest record are valid for one database version.
        self._version = -1
        self._head = BEGINNING
        self.vouched = self._anchor is None or self._fits(self._anchor)

    def _fits(self, anchor: Anchor) -> bool:
        """Check that the journal matches its anchor. If it does not, the anchor stays unchanged."""
        known = anchor.read()
        run = self._database.run
        if known is None:
            # Without an anchor, the journal may have come with the repository, and so may its open
            # plans. Plans of a process that is alive here stay with that process.
            for seq, owner in run("SELECT seq, CAST(owner AS TEXT) FROM open_plans").fetchall():
                if not is_alive(owner):
                    run("UPDATE open_plans SET owner = ? WHERE seq = ?", (ADOPTED, seq))
            return True
        seq, chain = known
        found = run("SELECT chain FROM records WHERE seq = ?", (seq,)).fetchall()
        return found == [(chain,)]

    def _ready(self) -> Callable[..., sqlite3.Cursor]:
        if self._database.renewed():
            self._begin()
        return self._database.run

    def _stand(self, session: str) -> tuple[Head, Held]:
        """Return the last record of the journal and the current state of the session."""
        (version,) = self._database.run("PRAGMA data_version").fetchone()
        if version != self._version:
            self._head = self._newest()
            self._version = version
        return self._head, self._sessions.newest(session, version)

    def _newest(self) -> Head:
        question = "SELECT seq, chain FROM records ORDER BY seq DESC LIMIT 1"
        found = self._database.run(question).fetchone()
        if found is None:
            return BEGINNING
        seq, chain = found
        if not isinstance(chain, bytes) or len(chain) != len(GENESIS):
            raise corrupt_journal(self.path, f"record {seq} has an invalid digest")
        return seq, chain

    def _note_head(self) -> None:
        if self._anchor is not None and self.vouched:
            self._anchor.move(*self._head)

    def _give_up(self) -> None:
        """Roll back, and drop cached data that may be ahead of what is stored."""
        self._sessions.forget_all()
        self._version = -1
        if self._database.in_transaction:
            self._database.run("ROLLBACK")

    def _write(self, head: Head, held: Held, entry: Entry, rules: RulesInForce) -> None:
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
        run = self._database.run
        run(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*msgspec.structs.astuple(header), chain),
        )
        run("INSERT INTO payloads VALUES (?, ?, ?)", (header.seq, event, decision))
        if entry.owner:
            plan = (header.seq, header.session, entry.owner)
            run("INSERT INTO open_plans VALUES (?, ?, ?)", plan)
        if entry.owes:
            run("INSERT OR IGNORE INTO owed VALUES (?, ?)", entry.owes)
        if entry.pays:
            run("DELETE FROM owed WHERE of = ? AND step = ?", entry.pays)
        if rules.digest not in self._known_rules:
            self._write_rules(rules)
        self._sessions.write(held, entry.session, header.seq)
        self._head = header.seq, chain

    def _write_rules(self, rules: RulesInForce) -> None:
        run = self._database.run
        run(
            "INSERT INTO rule_sets VALUES (?1, ?2) ON CONFLICT (digest)"
            " DO UPDATE SET files = ?2 WHERE length(files) < length(?2)",  # had no texts
            (rules.digest, rules.encoded_files()),
        )
        for key, text in rules.texts:
            run("INSERT OR IGNORE INTO sources VALUES (?, ?)", (key, text))
