"""Read a journal record by record and follow new records: the work behind `bylaw log`.

An entry adds to a record the depth of its causes, its step, changes that took effect at once,
unfinished plans, and the places of its rules in the rule texts stored with it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import datetime
from enum import StrEnum
from functools import lru_cache, partial
from time import sleep
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct, field

from bylaw.model.codes.runtime import NO_JOURNAL
from bylaw.model.decision import immediate_steps
from bylaw.model.event import EffectDone
from bylaw.model.rule import BUILT_IN, path_of
from bylaw.store.journal.database import file_identity
from bylaw.store.journal.errors import JournalError, unknown_session
from bylaw.store.journal.records import read_stored_record
from bylaw.store.journal.search import JournalReader, RecordSearch, session_names
from bylaw.store.system import is_dead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.model.decision import Decision
    from bylaw.model.effects import Step
    from bylaw.store.journal.records import Record, RowSource, StoredRecord
    from bylaw.store.journal.search import RecordFilter

    Tell: TypeAlias = Callable[[str], None]


MAX_CACHED = 16  # cached sets of rules


class RulePlaces:
    """Places of rules in one journal. A set of rules is loaded at its first use."""

    def __init__(self, rows: RowSource) -> None:
        self._load_set = lru_cache(MAX_CACHED)(partial(_load_places, rows))

    def of(self, record: Record) -> dict[str, str]:
        """Return `file:line` by uid, without built-in rules. Only the file if rules do not load."""
        wanted = {uid for uid in _rule_uids(record.decision) if path_of(uid) != BUILT_IN}
        known = self._load_set(record.header.rules) if wanted else {}
        return {uid: known.get(uid) or path_of(uid) for uid in wanted}


def _load_places(rows: RowSource, digest: bytes) -> dict[str, str]:
    from bylaw.runtime.rules_in_force import (  # noqa: PLC0415 - only for rules
        named_rules,
        stored_rules,
    )

    books = stored_rules(rows, digest) or ()
    return {uid: rule.place for uid, rule in named_rules(books).items()}


def _rule_uids(decision: Decision) -> Iterator[str]:
    """Yield the rules of plans and trace. A reason has its own place."""
    yield from (plan.uid for plan in decision.plans)
    yield from (line.uid for line in decision.trace)


POLL_S = 0.2  # between two reads of the journal with `--follow`
MAX_CHAINS = 1_000  # sessions whose chain of causes is kept in memory
MAX_KNOWN = 1_000  # sessions that are searched for a similar name

_MS = 1_000
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhd])")


class OpenPlanReason(StrEnum):
    """Why plans of a decision are not finished."""

    UNDER_WAY = "under way"
    LEFT = "left unfinished"


class AppliedStep(NamedTuple):
    """A step that took effect together with the decision, and its rule."""

    uid: str
    rule: str
    step: Step


class LogEntry(Struct, frozen=True):
    """A record with its context.

    `depth` is the length of the chain of records that caused it. `step` is the step whose outcome
    an effect record holds. `places` has the place of each rule by uid.
    """

    stored: StoredRecord
    depth: int = 0
    step: Step | None = None
    changed: tuple[AppliedStep, ...] = ()
    plans: OpenPlanReason | None = None
    places: Mapping[str, str] = field(default_factory=dict)


class SessionCount(NamedTuple):
    """A session with the number and the times of its records."""

    session: str
    records: int
    denied: int
    first_at: int
    last_at: int


class ColumnWidths(NamedTuple):
    """Sizes that the column widths of a journal depend on."""

    newest: int
    sessions: int
    longest_session: int


def to_milliseconds(text: str, now: int) -> int:
    """Parse an ISO time, or a duration ago such as `90s`, `5m`, `2h` or `1d`, into milliseconds.

    Raises ValueError.
    """
    ago = _AGO.fullmatch(text)
    if ago:
        return now - int(float(ago[1]) * _SECONDS[ago[2]] * _MS)
    try:
        return int(datetime.fromisoformat(text).timestamp() * _MS)
    except OverflowError as wrong:
        raise ValueError(str(wrong)) from None


def measure_columns(path: str) -> ColumnWidths:
    """Measure the journal as it is now. All values are 0 if it does not exist yet."""
    try:
        with JournalReader(path) as reader:
            names = session_names(reader, MAX_KNOWN)
            return ColumnWidths(reader.newest, len(names), max(map(len, names), default=0))
    except JournalError as problem:
        if problem.code == NO_JOURNAL.name:
            return ColumnWidths(0, 0, 0)
        raise


def session_counts(path: str) -> Iterator[SessionCount]:
    """Yield the counts of each session of a journal, by name."""
    with JournalReader(path) as reader:
        if reader.newest:
            for row in reader.each(
                "SELECT session, count(*), sum(verdict IN ('deny', 'halt')), min(at), max(at)"
                " FROM records GROUP BY session"
            ):
                yield SessionCount(*row)


def read_entries(
    path: str, wanted: RecordFilter, last: int | None = None, *, places: bool = True
) -> Iterator[LogEntry]:
    """Yield the wanted records, oldest first, or only the `last` newest of them.

    Without `places`, no rules are loaded. Raises JournalError.
    """
    with JournalReader(path) as reader:
        require_session(reader, wanted.session)
        search = RecordSearch(reader, wanted)
        after = 0 if last is None else search.start_of_last(last)
        yield from _TimelineBuilder(reader, places=places).entries(search.records(after))


def follow_entries(
    path: str, wanted: RecordFilter, last: int | None, tell: Tell, *, places: bool = True
) -> Iterator[LogEntry]:
    """Like `read_entries`, then yield every new record. A new journal is read from its start."""
    if not _is_text(wanted.session):
        raise unknown_session(wanted.session or "", ())
    while True:
        file, reader = _wait_for_journal(path, tell)
        with reader:
            search, telling = RecordSearch(reader, wanted), _TimelineBuilder(reader, places=places)
            after = 0 if last is None else search.start_of_last(last)
            while file_identity(path) == file:
                newest = reader.newest
                yield from telling.entries(search.records(after, newest))
                after = max(after, newest)
                sleep(POLL_S)
        tell(f"the journal `{path}` was replaced or removed")
        last = None


def require_session(reader: JournalReader, session: str | None) -> None:
    """Raise JournalError if the journal has no record of the session."""
    if session is None or (reader.newest and _is_known(reader, session)):
        return
    raise unknown_session(session, session_names(reader, MAX_KNOWN))


def _is_known(reader: JournalReader, session: str) -> bool:
    question = "SELECT 1 FROM records WHERE session = ? LIMIT 1"
    return _is_text(session) and bool(reader.query(question, (session,)))


def _is_text(session: str | None) -> bool:
    """Check that a name from the command line is text: it may be other bytes."""
    try:
        (session or "").encode()
    except UnicodeEncodeError:
        return False
    return True


def _wait_for_journal(path: str, tell: Tell) -> tuple[tuple[int, int] | None, JournalReader]:
    """Wait until the journal exists. Return the identity of its file, and the open journal.

    The caller notices a file that is replaced in between.
    """
    told = False
    while True:
        file = file_identity(path)
        try:
            return file, JournalReader(path)
        except JournalError as problem:
            if problem.code != NO_JOURNAL.name:
                raise
        if not told:
            tell(f"waiting for the journal `{path}`")
        told = True
        sleep(POLL_S)


class _TimelineBuilder:
    """Builds entries: adds depth, step, changes, open plans and places to records."""

    def __init__(self, reader: JournalReader, *, places: bool) -> None:
        self._reader = reader
        self._places = RulePlaces(reader) if places else None
        self._chains: OrderedDict[str, list[tuple[str, ...]]] = OrderedDict()
        self._parent: tuple[int, Decision] | None = None

    def entries(self, found: Iterable[StoredRecord]) -> Iterator[LogEntry]:
        for one in found:
            yield self._entry(one)

    def _entry(self, one: StoredRecord) -> LogEntry:
        if one.record is None:
            return LogEntry(one)
        event, decision = one.record.event, one.record.decision
        return LogEntry(
            one,
            self._depth(event.session, event.cause),
            self._step(event) if isinstance(event, EffectDone) else None,
            tuple(_applied_steps(decision)),
            open_plan_reason(self._reader, one.header.seq) if decision.plans else None,
            self._places.of(one.record) if self._places else {},
        )

    def _depth(self, session: str, cause: tuple[str, ...]) -> int:
        """Return how many of the records before belong to the chain that caused this one."""
        chain = self._chains.setdefault(session, [])
        self._chains.move_to_end(session)
        if len(self._chains) > MAX_CHAINS:
            self._chains.popitem(last=False)
        while chain and not _continues(cause, chain[-1]):
            chain.pop()
        if cause and not chain:
            chain.append(())  # the event that started the chain is not among the records
        chain.append(cause)
        return len(chain) - 1

    def _step(self, effect: EffectDone) -> Step | None:
        if self._parent is None or self._parent[0] != effect.of:
            found = read_stored_record(self._reader, effect.of)
            parent = None if found is None else found.record
            self._parent = None if parent is None else (effect.of, parent.decision)
        if self._parent is None:
            return None
        return next(
            (
                step
                for _, steps, on_error in self._parent[1].numbered_plans()
                for number, step in (*steps, *on_error)
                if number == effect.step
            ),
            None,
        )


def open_plan_reason(reader: JournalReader, seq: int) -> OpenPlanReason | None:
    """Return why plans of a decision are not finished, or None if all are."""
    found = reader.query("SELECT owner FROM open_plans WHERE seq = ?", (seq,))
    if not found:
        return None
    return OpenPlanReason.LEFT if is_dead(found[0][0]) else OpenPlanReason.UNDER_WAY


def _continues(cause: tuple[str, ...], before: tuple[str, ...]) -> bool:
    return len(before) < len(cause) and cause[: len(before)] == before


def _applied_steps(decision: Decision) -> Iterator[AppliedStep]:
    """Yield the steps that took effect with the decision."""
    now = immediate_steps(decision.plans)
    for place, plan in enumerate(decision.plans):
        for number, step in enumerate(plan.steps):
            if (place, number) in now:
                yield AppliedStep(plan.uid, plan.rule, step)
