"""The journal: read a session, decide, and write the record and the session in one transaction.

Before anything is stored, the patterns of `[journal] redact` are applied to every text that comes
from outside, including keys and numbers of plain values. Guards see the original value. From the
trace of a decision, only lines that rules and event do not already determine are stored.
"""

from __future__ import annotations

from enum import Enum
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import msgspec
from msgspec import Struct

from bylaw.engine.trace import LateTrace
from bylaw.model.decision import Decision, TraceResult
from bylaw.model.fold import fold
from bylaw.model.wire import encode_event
from bylaw.store.files import absolute
from bylaw.store.journal.database import Connection, Durability
from bylaw.store.journal.errors import corrupt_journal
from bylaw.store.journal.purge import (
    PURGE_SESSION,
    PurgeResult,
    erase,
    purge_event,
    remove_erased_bytes,
)
from bylaw.store.journal.records import GENESIS, NO_RULES, Header, digest, link
from bylaw.store.journal.sessions import Sessions
from bylaw.store.state_folder import IN_MEMORY
from bylaw.store.system import is_alive, now_ms, own_process_name
from bylaw.version import __version__

if TYPE_CHECKING:
    import re
    import sqlite3
    from collections.abc import Callable, Sequence

    from bylaw.model.decision import TraceLine
    from bylaw.model.event import Event
    from bylaw.model.session import Session
    from bylaw.store.journal.database import Anchor
    from bylaw.store.journal.purge import Purge
    from bylaw.store.journal.records import ActiveRuleTexts
    from bylaw.store.journal.sessions import CachedSession

_STORED_RESULTS = frozenset(TraceResult) - {TraceResult.GUARD_FALSE, TraceResult.NOT_LIVE}
_ENCODER = msgspec.json.Encoder()
QUIET = Decision()
_QUIET = (_ENCODER.encode(QUIET), digest(_ENCODER.encode(QUIET)))


def stored_decision(decision: Decision) -> Decision:
    """Return the decision without the trace lines that follow from rules and event."""
    trace: tuple[TraceLine, ...] | LateTrace = decision.trace
    if isinstance(trace, LateTrace):
        quiet = not (trace.held or decision.plans)  # plans: notices are due
        if quiet and not trace.bucket.has_limits:
            return QUIET
    kept = tuple(line for line in trace if is_stored_line(line))
    return msgspec.structs.replace(decision, trace=kept)


def is_stored_line(line: TraceLine) -> bool:
    """Check whether a line of a trace is stored."""
    return line.result in _STORED_RESULTS


def encode_decision(decision: Decision) -> bytes:
    """Encode a decision as it is stored."""
    return _encode(stored_decision(decision))[0]


def encode_with_digest(decision: Decision) -> tuple[bytes, bytes]:
    """Encode a decision as it is stored; return the bytes and their digest."""
    return _encode(stored_decision(decision))


def _encode(told: Decision) -> tuple[bytes, bytes]:
    if told is QUIET:
        return _QUIET
    data = _ENCODER.encode(told)
    return data, digest(data)


REDACTED = "[redacted]"
# Fields with names that rules and hosts choose and that Bylaw compares. They must not hold secrets,
# and a session with changed names would count wrongly.
_NAMES = frozenset(
    {
        *("session", "agent", "call", "cause", "uid", "rule", "group", "fired", "space", "name"),
        *("file", "digest", "hash", "disabled", "enabled", "unknown"),
    }
)
# Fields that may hold any plain value. Numbers in other fields are Bylaw's own.
_PLAIN_FIELDS = frozenset({"result", "value", "message"})


class Redactor:
    """Removes secrets from what is stored."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = tuple(patterns)

    def event(self, event: Event) -> Event:
        """Return the event as it may be stored; the same object if nothing is redacted."""
        clean: Event = self._clean(event) if self._patterns else event
        return clean

    def decision(self, decision: Decision) -> Decision:
        """Return the decision as it may be stored; the same object if nothing is redacted."""
        if not self._patterns:
            return decision
        told = stored_decision(decision)
        clean: Decision = self._clean(told)
        return decision if clean is told else clean

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def _clean(self, value: Any, *, plain: bool = False) -> Any:
        """Return the value without secrets; the same object if it has none."""
        match value:
            case Enum() | bool():
                return value
            case str():
                text = self.text(value)
                return value if text == value else text
            case int() | float():
                written = msgspec.json.encode(value).decode() if plain else ""
                return value if self.text(written) == written else REDACTED
            case Struct():
                return self._clean_fields(value)
            case dict():
                items = {
                    self.text(key): self._clean(item, plain=True) for key, item in value.items()
                }
                return value if _is_unchanged(items, value) else items
            case list() | tuple():
                kept = [self._clean(item, plain=plain) for item in value]
                same = all(new is old for new, old in zip(kept, value, strict=True))
                return value if same else type(value)(kept)
        return value

    def _clean_fields(self, value: Struct) -> Struct:
        changed = {}
        for name in value.__struct_fields__:
            if name not in _NAMES:
                before = getattr(value, name)
                after = self._clean(before, plain=name in _PLAIN_FIELDS)
                if after is not before:
                    changed[name] = after
        return msgspec.structs.replace(value, **changed) if changed else value


def _is_unchanged(items: dict[str, Any], before: dict[str, Any]) -> bool:
    return items.keys() == before.keys() and all(items[key] is before[key] for key in before)


# Number and digest of the last record.
Head: TypeAlias = tuple[int, bytes]
EMPTY_HEAD: Head = (0, GENESIS)
# The owner of plans that were already open in a journal that has no anchor.
NO_OWNER = ""


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
            with self._database.error_context:
                self._reset_cache()
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
        rules: ActiveRuleTexts,
        judge: Callable[[Session, int], Entry | None],
    ) -> Entry | None:
        """Make the next record of a session from its current state, and write it.

        `judge` gets the session and the number of the record. If it returns None, nothing is
        recorded. Raises JournalError if the record cannot be written; then nothing was written.
        """
        with self._lock, self._database.error_context:
            run = self._ready()
            try:
                run("BEGIN IMMEDIATE")
                head, held = self._current(session)
                entry = judge(held.session, head[0] + 1)
                if entry is None:
                    run("ROLLBACK")
                    return None
                self._write(head, held, entry, rules)
                run("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            self._known_rules.add(rules.digest)
            self._sessions.keep(session, held)
            self._update_anchor()
        return entry

    def session(self, session: str) -> Session:
        """Return the current state of a session."""
        with self._lock, self._database.error_context:
            run = self._ready()
            run("BEGIN")
            try:
                return self._current(session)[1].session
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
            (own_process_name(), seq, owner),
        )
        return bool(taken)

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        with self._lock, self._database.error_context:
            return self._ready()(statement, tuple(values)).fetchall()

    def purge(self, wanted: Purge) -> PurgeResult:
        """Erase payloads and their bytes in the file; JournalError if bytes may be left."""
        purged = PurgeResult()

        def judge(_: Session, seq: int) -> Entry | None:
            nonlocal purged
            purged = erase(self._database.run, self._sessions, wanted, seq)
            return self._purge_entry(wanted, purged, seq) if purged.payloads else None

        with self._lock, self._database.error_context:
            self.transact(PURGE_SESSION, NO_RULES, judge)
            self._sessions.forget_all()
            remove_erased_bytes(self._database.run, self.path)
        return purged

    def _purge_entry(self, wanted: Purge, purged: PurgeResult, seq: int) -> Entry:
        session = self._sessions.read(PURGE_SESSION)
        event = purge_event(wanted, purged, seq, max(session.at, now_ms()))
        return Entry(event, QUIET, fold(session, event, QUIET))

    def _reset_cache(self) -> None:
        """Start again without any cached data of the database."""
        self._sessions = Sessions(self.path, self._database.run)
        self._known_rules: set[bytes] = set()
        # The cached number and digest of the newest record are valid for one database version.
        self._version = -1
        self._head = EMPTY_HEAD
        self.matches_anchor = self._anchor is None or self._check_anchor(self._anchor)

    def _check_anchor(self, anchor: Anchor) -> bool:
        """Check that the journal matches its anchor. If it does not, the anchor stays unchanged."""
        known = anchor.read()
        run = self._database.run
        if known is None:
            # Without an anchor, the journal may have come with the repository, and so may its open
            # plans. Plans of a process that is alive here stay with that process.
            for seq, owner in run("SELECT seq, CAST(owner AS TEXT) FROM open_plans").fetchall():
                if not is_alive(owner):
                    run("UPDATE open_plans SET owner = ? WHERE seq = ?", (NO_OWNER, seq))
            return True
        seq, chain = known
        found = run("SELECT chain FROM records WHERE seq = ?", (seq,)).fetchall()
        return found == [(chain,)]

    def _ready(self) -> Callable[..., sqlite3.Cursor]:
        if self._database.reopen_if_replaced():
            self._reset_cache()
        return self._database.run

    def _current(self, session: str) -> tuple[Head, CachedSession]:
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
            return EMPTY_HEAD
        seq, chain = found
        if not isinstance(chain, bytes) or len(chain) != len(GENESIS):
            raise corrupt_journal(self.path, f"record {seq} has an invalid digest")
        return seq, chain

    def _update_anchor(self) -> None:
        if self._anchor is not None and self.matches_anchor:
            self._anchor.move(*self._head)

    def _roll_back(self) -> None:
        """Roll back, and drop cached data that may be ahead of what is stored."""
        self._sessions.forget_all()
        self._version = -1
        if self._database.in_transaction:
            self._database.run("ROLLBACK")

    def _write(self, head: Head, held: CachedSession, entry: Entry, rules: ActiveRuleTexts) -> None:
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

    def _write_rules(self, rules: ActiveRuleTexts) -> None:
        run = self._database.run
        run(
            "INSERT INTO rule_sets VALUES (?1, ?2) ON CONFLICT (digest)"
            " DO UPDATE SET files = ?2 WHERE length(files) < length(?2)",  # had no texts
            (rules.digest, rules.encode_files()),
        )
        for key, text in rules.texts:
            run("INSERT OR IGNORE INTO sources VALUES (?, ?)", (key, text))
