"""Check that a journal is intact: the work behind `bylaw verify`.

Order: database file, hash chain and payloads, digests of stored texts, stored rules, sessions
rebuilt from their records, and with `--decisions` a replay of each decision, compared byte for
byte. The anchor is read first, because it is never ahead of the journal. Records whose payload
was purged are counted, not reported as problems.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.model.codes.runtime import JOURNAL_CORRUPT
from bylaw.model.decision import Decision
from bylaw.model.fold import fold
from bylaw.model.session import Session, encode_session
from bylaw.runtime.journal_access import anchor_of
from bylaw.runtime.root import find_root
from bylaw.runtime.rules_in_force import stored_rules
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import encode_decision
from bylaw.store.journal.purge import purge_of_record
from bylaw.store.journal.records import (
    GENESIS,
    LINKED_QUERY,
    NO_RULES,
    STORED_QUERY,
    Header,
    MissingPayload,
    StoredRecord,
    digest,
    link,
    record_from_row,
)
from bylaw.store.journal.search import JournalReader
from bylaw.store.journal.sessions import unpack_session
from bylaw.store.paths import as_bytes
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.store.journal.database import Anchor
    from bylaw.store.journal.purge import Purge
    from bylaw.store.journal.records import Record

# More findings and ranges are counted but not listed.
MAX_FINDINGS = 100
MAX_RANGES = 1_000


class VerifyProblem(StrEnum):
    """Kind of a problem in a journal."""

    FILE = "file"
    GAP = "gap"
    CHAIN = "chain"
    PAYLOAD = "payload"
    MISSING = "missing"
    SESSION = "session"
    RULES = "rules"
    DECISION = "decision"
    CUT = "cut"
    REPLACED = "replaced"


class VerifyFinding(Struct, frozen=True):
    """One problem: its kind, its text, and its record and session if known."""

    flaw: VerifyProblem
    text: str
    record: int | None = None
    session: str | None = None


class ReplaySkip(StrEnum):
    """Why a decision could not be replayed."""

    ERASED = "erased"
    RESTS_ON_ERASED = "rests on what was erased"
    REDACTED = "redacted"
    NO_RULES = "its rules are not stored"


class RecordNumbers(Struct):
    """Record numbers, counted and as ranges."""

    count: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def add(self, seq: int) -> None:
        """Add a record. Numbers must ascend."""
        self.count += 1
        if self.ranges and self.ranges[-1][1] == seq - 1:
            self.ranges[-1] = (self.ranges[-1][0], seq)
        elif len(self.ranges) < MAX_RANGES:
            self.ranges.append((seq, seq))


class ReplayCounts(Struct):
    """The number of decisions that replay the same, and the records not replayed, by reason."""

    same: int = 0
    unchecked: dict[ReplaySkip, RecordNumbers] = field(default_factory=dict)

    def add_skipped(self, seq: int, why: ReplaySkip) -> None:
        """Note a record that could not be replayed."""
        self.unchecked.setdefault(why, RecordNumbers()).add(seq)


class AnchorState(Struct):
    """The anchor of a journal: its path, its record, and whether it matches."""

    path: str
    seq: int
    fits: bool


class VerifyReport(Struct):
    """All findings about a journal."""

    path: str
    records: int = 0
    sessions: int = 0
    # Sessions that were rebuilt and match their stored state.
    folded: int = 0
    erased: RecordNumbers = field(default_factory=RecordNumbers)
    head: tuple[int, bytes] | None = None
    anchor: AnchorState | None = None
    decisions: ReplayCounts | None = None
    findings: list[VerifyFinding] = field(default_factory=list)
    wrong: int = 0

    def find(
        self, flaw: VerifyProblem, text: str, record: int | None = None, session: str | None = None
    ) -> None:
        """Add a problem. Only the first MAX_FINDINGS are listed."""
        self.wrong += 1
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(VerifyFinding(flaw, text, record, session))


MAX_RULE_SETS = 8  # in the cache


class DecisionReplay:
    """Decides records again and compares the decisions byte for byte."""

    def __init__(self, reader: JournalReader, report: VerifyReport) -> None:
        self._reader = reader
        self._report = report
        self._decisions = report.decisions = ReplayCounts()
        self._ready: OrderedDict[bytes, RuleSet | None] = OrderedDict()

    def check(self, one: StoredRecord, written: bytes, state: Session | None) -> None:
        """Replay one record, given its stored decision and the session before it."""
        seq, rules = one.header.seq, None
        if one.record is None:
            self._decisions.add_skipped(seq, ReplaySkip.ERASED)
        elif state is None:
            self._decisions.add_skipped(seq, ReplaySkip.RESTS_ON_ERASED)
        elif one.header.redacted:
            self._decisions.add_skipped(seq, ReplaySkip.REDACTED)
        elif (rules := self._rules(one.header.rules)) is None:
            self._decisions.add_skipped(seq, ReplaySkip.NO_RULES)
        else:
            self._compare(one.record, written, decide(rules, state, one.record.event))

    def _compare(self, record: Record, written: bytes, found: object) -> None:
        if isinstance(found, Decision) and encode_decision(found) == written:
            self._decisions.same += 1
            return
        header = record.header
        now = f"`{found.verdict}`" if isinstance(found, Decision) else "open: facts are missing"
        text = f"replay differs: it was `{header.verdict}` and is {now}"
        if header.version != __version__:
            text += f"; Bylaw {header.version} decided it"
        self._report.find(VerifyProblem.DECISION, text, header.seq, header.session)

    def _rules(self, digest: bytes) -> RuleSet | None:
        if digest not in self._ready:
            books = () if digest == NO_RULES.digest else stored_rules(self._reader, digest)
            self._ready[digest] = None if books is None else RuleSet(books)
            if len(self._ready) > MAX_RULE_SETS:
                self._ready.popitem(last=False)
        return self._ready[digest]


PROGRESS_EVERY = 1_000  # records between two progress messages


def check_links(reader: JournalReader, report: VerifyReport, tell: Callable[[str], None]) -> None:
    """Check the chain from its first record on."""
    walk = _ChainCheck(report, list(_purges(reader)))
    newest = reader.newest
    for chain, *row in reader.each(f"{LINKED_QUERY} ORDER BY r.seq"):
        if report.records % PROGRESS_EVERY == 0:
            tell(f"checking record {report.records:,} of {newest:,}")
        walk.step(
            record_from_row(tuple(row)), chain, digest(row[-2] or b""), digest(row[-1] or b"")
        )
    stray = "SELECT seq FROM payloads WHERE seq NOT IN (SELECT seq FROM records) ORDER BY seq"
    for (seq,) in reader.each(stray):
        report.find(VerifyProblem.PAYLOAD, "payload without a record", seq)


def _purges(reader: JournalReader) -> Iterator[tuple[int, Purge]]:
    """Yield the purges in the journal, with the numbers of their records."""
    for row in reader.each(f"{STORED_QUERY} WHERE r.rules = ? ORDER BY r.seq", (NO_RULES.digest,)):
        record = record_from_row(row).record
        purge = None if record is None else _read_purge(record)
        if purge is not None:
            yield row[0], purge


def _read_purge(record: Record) -> Purge | None:
    try:
        return purge_of_record(record.header, record.event)
    except msgspec.MsgspecError:
        return None


class _ChainCheck:
    def __init__(self, report: VerifyReport, purges: list[tuple[int, Purge]]) -> None:
        self._report = report
        self._purges = purges

    def step(self, one: StoredRecord, chain: bytes, event: bytes, decision: bytes) -> None:
        """Check one record: its link, and the digests of its payload."""
        self._report.records += 1
        self._check_link(one.header, chain)
        if one.lost is MissingPayload.ERASED:
            self._check_erased(one.header)
        else:
            self._check_payload(one, (event, decision))
        self._report.head = one.header.seq, chain

    def _check_link(self, header: Header, chain: bytes) -> None:
        seq, before = self._report.head or (0, GENESIS)
        if header.seq != seq + 1:
            gone = f"{seq + 1}" if header.seq == seq + 2 else f"{seq + 1} to {header.seq - 1}"
            self._find(VerifyProblem.GAP, f"missing before it: {gone}", header)
        elif link(before, header) != chain:
            self._find(VerifyProblem.CHAIN, "it does not match the hash chain", header)

    def _check_erased(self, header: Header) -> None:
        self._report.erased.add(header.seq)
        if not any(seq > header.seq and purge.covers(header) for seq, purge in self._purges):
            self._find(VerifyProblem.MISSING, "its payload is gone, but no purge covers it", header)

    def _check_payload(self, one: StoredRecord, digests: tuple[bytes, bytes]) -> None:
        header = one.header
        if digests != (header.event, header.decision):
            self._find(
                VerifyProblem.PAYLOAD, "its payload does not match the digest of the record", header
            )
        elif one.record is None:
            self._find(VerifyProblem.PAYLOAD, "its payload cannot be read", header)
        elif not _matches_header(one.record):
            self._find(VerifyProblem.PAYLOAD, "its payload belongs to another event", header)

    def _find(self, flaw: VerifyProblem, text: str, header: Header) -> None:
        self._report.find(flaw, text, header.seq, header.session)


def _matches_header(record: Record) -> bool:
    header, event = record.header, record.event
    told = (event.seq, event.session, event.at, event.kind.value, record.decision.verdict.value)
    return told == (header.seq, header.session, header.at, header.kind, header.verdict)


_BY_SESSION = f"{STORED_QUERY} ORDER BY r.session, r.seq"
_STRAY = "SELECT id FROM sessions WHERE id NOT IN (SELECT session FROM records) ORDER BY id"


def check_states(
    reader: JournalReader,
    report: VerifyReport,
    again: DecisionReplay | None,
    tell: Callable[[str], None],
) -> None:
    """Rebuild each session. With `again`, also replay each of its events."""
    done = 0
    for name, rows in groupby(reader.each(_BY_SESSION), key=lambda row: row[1]):
        report.sessions += 1
        folding = _SessionCheck(reader, report, name)
        for row in rows:
            if done % PROGRESS_EVERY == 0:
                tell(f"rebuilding sessions: record {done:,} of {report.records:,}")
            done += 1
            folding.step(record_from_row(row), row[-1], again)
        folding.end()
    if done != report.records:
        report.find(
            VerifyProblem.FILE, f"{report.records:,} records, but {done:,} records of sessions"
        )
    for (name,) in reader.each(_STRAY):
        report.find(VerifyProblem.SESSION, "it is stored, but has no records", session=name)


class _SessionCheck:
    """Rebuilds one session, record by record."""

    def __init__(self, reader: JournalReader, report: VerifyReport, name: str) -> None:
        self._reader = reader
        self._report = report
        self._name = name
        self._state: Session | None = Session(id=name)  # None: it depends on an erased payload
        found = reader.query("SELECT seq, core FROM sessions WHERE id = ?", (name,))
        self._snapshot: tuple[int, bytes] | None = found[0] if found else None
        if not found:
            self._find("it is not stored")

    def step(self, one: StoredRecord, decision: bytes, again: DecisionReplay | None) -> None:
        if self._snapshot is not None and one.header.seq > self._snapshot[0]:
            self.end()
        if again is not None:
            again.check(one, decision, self._state)
        if one.record is None:
            self._state = None
        elif self._state is not None:
            self._state = fold(self._state, one.record.event, one.record.decision)

    def end(self) -> None:
        """Compare with the stored session, which ends here."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None or self._state is None:
            return
        try:
            stored = unpack_session(snapshot[1], self._texts)
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError):
            self._find("its stored state cannot be read")
            return
        if encode_session(stored) == encode_session(self._state):
            self._report.folded += 1
        else:
            parts = ", ".join(_differing_fields(stored, self._state))
            self._find(f"it does not match its records up to {snapshot[0]}: {parts} differs")

    def _texts(self, wanted: Iterable[bytes]) -> Mapping[bytes, str]:
        question = "SELECT digest, text FROM texts WHERE digest = ?"
        return {key: text for one in wanted for key, text in self._reader.query(question, (one,))}

    def _find(self, text: str) -> None:
        self._report.find(VerifyProblem.SESSION, text, session=self._name)


def _differing_fields(stored: Session, folded: Session) -> list[str]:
    names = [name for name in stored.__struct_fields__ if _field_differs(stored, folded, name)]
    return [f"`{name}`" for name in names] or ["the order of entries"]


def _field_differs(stored: Session, folded: Session, name: str) -> bool:
    return bool(getattr(stored, name) != getattr(folded, name))


def verify(path: str, *, decisions: bool, tell: Callable[[str], None]) -> VerifyReport:
    """Check a journal as it is now, with `decisions` also replay it. Raises JournalError."""
    report = VerifyReport(path)
    anchor = anchor_of(find_root(), path)
    # Read the anchor first: it is never ahead of the journal.
    noted = None if anchor is None else anchor.read()
    try:
        with JournalReader(path) as reader:
            reader.query("BEGIN")
            if reader.newest:
                _check_all(reader, report, tell, decisions=decisions)
            if anchor is not None and noted is not None:
                _check_anchor(reader, report, anchor, noted)
    except JournalError as problem:
        if problem.code != JOURNAL_CORRUPT.name:
            raise
        report.find(VerifyProblem.FILE, problem.message)
    return report


def _check_all(
    reader: JournalReader, report: VerifyReport, tell: Callable[[str], None], *, decisions: bool
) -> None:
    tell("checking the file")
    damages = [words for (words,) in reader.query("PRAGMA integrity_check") if words != "ok"]
    for words in damages:
        report.find(VerifyProblem.FILE, f"the file is damaged: {words}")
    if damages:
        return  # further findings would only follow from the damage
    check_links(reader, report, tell)
    _check_texts(reader, report, "texts", VerifyProblem.SESSION)
    _check_texts(reader, report, "sources", VerifyProblem.RULES)
    _check_rules(reader, report)
    check_states(reader, report, DecisionReplay(reader, report) if decisions else None, tell)


def _check_rules(reader: JournalReader, report: VerifyReport) -> None:
    """Check that the rules of each record are stored."""
    missing = reader.query(
        "SELECT min(seq), rules FROM records"
        " WHERE rules NOT IN (SELECT digest FROM rule_sets) GROUP BY rules ORDER BY 1"
    )
    for seq, rules in missing:
        if rules != NO_RULES.digest:
            report.find(VerifyProblem.RULES, f"the rules of record {seq} are no longer stored")


def _check_texts(
    reader: JournalReader, report: VerifyReport, table: str, flaw: VerifyProblem
) -> None:
    for key, text in reader.each(f"SELECT digest, text FROM {table}"):  # noqa: S608 - constants
        if digest(as_bytes(text)) != key:
            report.find(flaw, f"the text stored as {key.hex()[:12]} does not match its digest")


def _check_anchor(
    reader: JournalReader, report: VerifyReport, anchor: Anchor, noted: tuple[int, bytes]
) -> None:
    seq, chain = noted
    newest = reader.newest
    found = reader.query("SELECT chain FROM records WHERE seq = ?", (seq,)) if newest else []
    report.anchor = AnchorState(anchor.path, seq, fits=found == [(chain,)])
    if report.anchor.fits:
        return
    way_out = f"if you know the reason, remove `{anchor.path}`"
    if seq > newest:
        text = f"record {seq} was written, but the journal ends at {newest}: its end was cut off,"
        report.find(VerifyProblem.CUT, f"{text} or lost in a power failure; {way_out}")
    else:
        text = f"record {seq} is not the one that was written: the journal was replaced"
        report.find(VerifyProblem.REPLACED, f"{text}; {way_out}", seq)
