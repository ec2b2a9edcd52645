"""The journal as one thing: a session is read, decided on and written in one transaction."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import msgspec

from bylaw.model.session import Session
from bylaw.model.wire import encode_event
from bylaw.runtime.journal.chain import GENESIS, Header, digest, link
from bylaw.runtime.journal.database import IN_MEMORY, Durability, open_database
from bylaw.runtime.journal.errors import corrupt_journal, told_plainly
from bylaw.runtime.journal.redaction import Redactor
from bylaw.runtime.journal.snapshot import WINDOWS, Change, Kept, change, restore
from bylaw.runtime.journal.telling import encode_decision
from bylaw.runtime.owner import this_process
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.runtime.journal.anchor import Anchor
    from bylaw.runtime.journal.sources import RulesInForce

# Sessions that a process keeps at hand; the others are read again.
MAX_AT_HAND = 64

# Number and digest of a record.
Head: TypeAlias = tuple[int, bytes]
BEGINNING: Head = (0, GENESIS)
_HEADS = """
    SELECT r.seq, r.chain, s.seq FROM records r LEFT JOIN sessions s ON s.id = ?
    ORDER BY r.seq DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
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
        self._anchor = anchor
        self._lock = RLock()
        self._connection = open_database(path, durability)
        self._at_hand: OrderedDict[str, Kept] = OrderedDict()
        self._known_rules: set[bytes] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing can be recorded any more."""
        with self._lock:
            self._connection.close()

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
        with self._lock, told_plainly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                head, kept = self._load(session)
                entry = judge(kept.session, head[0] + 1)
                if entry is None:
                    self._connection.execute("ROLLBACK")
                    return None
                changed = change(kept, entry.session, head[0] + 1)
                head = self._write(head, entry, rules, changed)
                self._connection.execute("COMMIT")
            except BaseException:
                self._at_hand.pop(session, None)
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._known_rules.add(rules.digest)
            self._keep(session, changed.kept)
        if self._anchor is not None:
            self._anchor.move(*head)
        return entry

    def session(self, session: str) -> Session:
        """The session as it stands."""
        with self._lock, told_plainly(self.path):
            return self._load(session)[1].session

    def close_plans(self, seq: int) -> None:
        """All plans of a decision were followed to their end."""
        with self._lock, told_plainly(self.path):
            self._connection.execute("DELETE FROM open_plans WHERE seq = ?", (seq,))

    def open_plans(self, session: str) -> list[tuple[int, str]]:
        """Decisions of a session whose plans did not come to their end, with their owners."""
        with self._lock, told_plainly(self.path):
            found = self._connection.execute(
                "SELECT seq, owner FROM open_plans WHERE session = ? ORDER BY seq", (session,)
            )
            return found.fetchall()

    def take_over(self, seq: int, owner: str) -> bool:
        """Become the one who follows these plans; False if somebody else was quicker."""
        with self._lock, told_plainly(self.path):
            done = self._connection.execute(
                "UPDATE open_plans SET owner = ? WHERE seq = ? AND owner = ?",
                (this_process(), seq, owner),
            )
            return done.rowcount == 1

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows of a question to the database."""
        with self._lock, told_plainly(self.path):
            return self._connection.execute(statement, tuple(values)).fetchall()

    def _load(self, session: str) -> tuple[Head, Kept]:
        """The last record of the journal, and the session as it stands."""
        found = self._connection.execute(_HEADS, (session,)).fetchone()
        if found is None:
            return BEGINNING, Kept(Session(id=session))
        *head, seq = found
        kept = self._at_hand.get(session)
        if seq is None:
            kept = Kept(Session(id=session))
        elif kept is None or kept.seq != seq:
            kept = self._restore(session, seq)
        return (head[0], head[1]), kept

    def _restore(self, session: str, seq: int) -> Kept:
        (core,) = self._connection.execute(
            "SELECT core FROM sessions WHERE id = ?", (session,)
        ).fetchone()
        items = {name: self._items(session, name) for name in WINDOWS}
        try:
            return restore(core, seq, items, self._texts)
        except (msgspec.MsgspecError, ValueError) as problem:
            raise corrupt_journal(self.path, f"session `{session}` cannot be read") from problem

    def _items(self, session: str, name: str) -> list[bytes]:
        rows = self._connection.execute(
            "SELECT item FROM windows WHERE session = ? AND name = ? ORDER BY number",
            (session, name),
        )
        return [item for (item,) in rows]

    def _texts(self, wanted: Iterable[bytes]) -> Mapping[bytes, str]:
        found: dict[bytes, str] = {}
        for key in wanted:
            row = self._connection.execute(
                "SELECT text FROM texts WHERE digest = ?", (key,)
            ).fetchone()
            if row:
                found[key] = row[0]
        return found

    def _keep(self, session: str, kept: Kept) -> None:
        self._at_hand[session] = kept
        self._at_hand.move_to_end(session)
        if len(self._at_hand) > MAX_AT_HAND:
            self._at_hand.popitem(last=False)

    def _write(self, head: Head, entry: Entry, rules: RulesInForce, changed: Change) -> Head:
        event, decision = encode_event(entry.event), encode_decision(entry.decision)
        header = Header(
            seq=head[0] + 1,
            session=entry.event.session,
            at=entry.event.at,
            kind=entry.event.kind.value,
            verdict=entry.decision.verdict.value,
            event=digest(event),
            decision=digest(decision),
            rules=rules.digest,
            version=__version__,
            redacted=entry.redacted,
        )
        chain = link(head[1], header)
        run = self._connection.execute
        run(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*msgspec.structs.astuple(header), chain),
        )
        run("INSERT INTO payloads VALUES (?, ?, ?)", (header.seq, event, decision))
        if entry.owner:
            run(
                "INSERT INTO open_plans VALUES (?, ?, ?)", (header.seq, header.session, entry.owner)
            )
        self._write_session(header, changed)
        if rules.digest not in self._known_rules:
            self._write_rules(rules)
        return header.seq, chain

    def _write_session(self, header: Header, changed: Change) -> None:
        run = self._connection.execute
        run(
            "INSERT INTO sessions VALUES (?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, core = excluded.core",
            (header.session, header.seq, changed.core),
        )
        for name, number, item in changed.items:
            run(
                "INSERT INTO windows VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET item = excluded.item",
                (header.session, name, number, item),
            )
        for name, first in changed.gone_before.items():
            run(
                "DELETE FROM windows WHERE session = ? AND name = ? AND number < ?",
                (header.session, name, first),
            )
        for key, text in changed.texts.items():
            run(
                "INSERT INTO texts VALUES (?, ?, ?)"
                " ON CONFLICT (digest) DO UPDATE SET seq = excluded.seq",
                (key, header.seq, text),
            )

    def _write_rules(self, rules: RulesInForce) -> None:
        run = self._connection.execute
        run("INSERT OR IGNORE INTO rule_sets VALUES (?, ?)", (rules.digest, rules.encoded_files()))
        for key, text in rules.texts:
            run("INSERT OR IGNORE INTO sources VALUES (?, ?)", (key, text))
