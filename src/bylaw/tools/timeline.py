"""Read a journal record by record and follow new records: the work behind `bylaw log`."""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import datetime
from enum import StrEnum
from time import sleep
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct, field

from bylaw.model.codes.journal import NO_JOURNAL
from bylaw.model.decision import at_once
from bylaw.model.event import EffectDone
from bylaw.runtime.journal.database import file_identity
from bylaw.runtime.journal.errors import JournalError, unknown_session
from bylaw.runtime.journal.reader import JournalReader
from bylaw.runtime.journal.reading import read_stored
from bylaw.runtime.journal.search import Search, session_names
from bylaw.runtime.owner import is_dead
from bylaw.tools.rule_places import RulePlaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.model.decision import Decision
    from bylaw.model.effects import Step
    from bylaw.runtime.journal.reading import Stored
    from bylaw.runtime.journal.search import Wanted

    Tell: TypeAlias = Callable[[str], None]

POLL_S = 0.2  # between two reads of the journal with `--follow`
MAX_CHAINS = 1_000  # sessions whose chain of causes is kept in memory
MAX_KNOWN = 1_000  # sessions that are searched for a similar name

_MS = 1_000
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhd])")


class Plans(StrEnum):
    """Why plans of a decision are not finished."""

    UNDER_WAY = "under way"
    LEFT = "left unfinished"


class Changed(NamedTuple):
    """A step that took effect together with the decision, and its rule."""

    uid: str
    rule: str
    step: Step


class Entry(Struct, frozen=True):
    """A record with its context.

    `depth` is the length of the chain of records that caused it. `step` is the step whose outcome
    an effect record holds. `places` has the place of each rule by uid.
    """

    stored: Stored
    depth: int = 0
    step: Step | None = None
    changed: tuple[Changed, ...] = ()
    plans: Plans | None = None
    places: Mapping[str, str] = field(default_factory=dict)


class SessionCount(NamedTuple):
    """A session with the number and the times of its records."""

    session: str
    records: int
    denied: int
    first_at: int
    last_at: int


class Scale(NamedTuple):
    """Sizes that the column widths of a journal depend on."""

    newest: int
    sessions: int
    longest_session: int


def moment(text: str, now: int) -> int:
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


def scale_of(path: str) -> Scale:
    """Measure the journal as it is now. All values are 0 if it does not exist yet."""
    try:
        with JournalReader(path) as reader:
            names = session_names(reader, MAX_KNOWN)
            return Scale(reader.newest, len(names), max(map(len, names), default=0))
    except JournalError as problem:
        if problem.code == NO_JOURNAL.name:
            return Scale(0, 0, 0)
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


def timeline(
    path: str, wanted: Wanted, last: int | None = None, *, places: bool = True
) -> Iterator[Entry]:
    """Yield the wanted records, oldest first, or only the `last` newest of them.

    Without `places`, no rules are loaded. Raises JournalError.
    """
    with JournalReader(path) as reader:
        refuse_unknown(reader, wanted.session)
        search = Search(reader, wanted)
        after = 0 if last is None else search.before_last(last)
        yield from _Telling(reader, places=places).entries(search.records(after))


def followed(
    path: str, wanted: Wanted, last: int | None, tell: Tell, *, places: bool = True
) -> Iterator[Entry]:
    """Like `timeline`, then yield every new record. A new journal is read from its start."""
    if not _may_be_stored(wanted.session):
        raise unknown_session(wanted.session or "", ())
    while True:
        file, reader = _when_there(path, tell)
        with reader:
            search, telling = Search(reader, wanted), _Telling(reader, places=places)
            after = 0 if last is None else search.before_last(last)
            while file_identity(path) == file:
                newest = reader.newest
                yield from telling.entries(search.records(after, newest))
                after = max(after, newest)
                sleep(POLL_S)
        tell(f"the journal `{path}` was replaced or removed")
        last = None


def refuse_unknown(reader: JournalReader, session: str | None) -> None:
    """Raise JournalError if the journal has no record of the session."""
    if session is None or (reader.newest and _is_known(reader, session)):
        return
    raise unknown_session(session, session_names(reader, MAX_KNOWN))


def _is_known(reader: JournalReader, session: str) -> bool:
    question = "SELECT 1 FROM records WHERE session = ? LIMIT 1"
    return _may_be_stored(session) and bool(reader.query(question, (session,)))


def _may_be_stored(session: str | None) -> bool:
    """Check that a name from the command line is text: it may be other bytes."""
    try:
        (session or "").encode()
    except UnicodeEncodeError:
        return False
    return True


def _when_there(path: str, tell: Tell) -> tuple[tuple[int, int] | None, JournalReader]:
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


class _Telling:
    """Builds entries: adds depth, step, changes, open plans and places to records."""

    def __init__(self, reader: JournalReader, *, places: bool) -> None:
        self._reader = reader
        self._places = RulePlaces(reader) if places else None
        self._chains: OrderedDict[str, list[tuple[str, ...]]] = OrderedDict()
        self._parent: tuple[int, Decision] | None = None

    def entries(self, found: Iterable[Stored]) -> Iterator[Entry]:
        for one in found:
            yield self._entry(one)

    def _entry(self, one: Stored) -> Entry:
        if one.record is None:
            return Entry(one)
        event, decision = one.record.event, one.record.decision
        return Entry(
            one,
            self._depth(event.session, event.cause),
            self._step(event) if isinstance(event, EffectDone) else None,
            tuple(_changed(decision)),
            open_plans(self._reader, one.header.seq) if decision.plans else None,
            self._places.of(one.record) if self._places else {},
        )

    def _depth(self, session: str, cause: tuple[str, ...]) -> int:
        """Return how many of the records before belong to the chain that caused this one."""
        chain = self._chains.setdefault(session, [])
        self._chains.move_to_end(session)
        if len(self._chains) > MAX_CHAINS:
            self._chains.popitem(last=False)
        while chain and not _goes_on(cause, chain[-1]):
            chain.pop()
        if cause and not chain:
            chain.append(())  # the event that started the chain is not among the records
        chain.append(cause)
        return len(chain) - 1

    def _step(self, effect: EffectDone) -> Step | None:
        if self._parent is None or self._parent[0] != effect.of:
            found = read_stored(self._reader, effect.of)
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


def open_plans(reader: JournalReader, seq: int) -> Plans | None:
    """Return why plans of a decision are not finished, or None if all are."""
    found = reader.query("SELECT owner FROM open_plans WHERE seq = ?", (seq,))
    if not found:
        return None
    return Plans.LEFT if is_dead(found[0][0]) else Plans.UNDER_WAY


def _goes_on(cause: tuple[str, ...], before: tuple[str, ...]) -> bool:
    return len(before) < len(cause) and cause[: len(before)] == before


def _changed(decision: Decision) -> Iterator[Changed]:
    """Yield the steps that took effect with the decision."""
    now = at_once(decision.plans)
    for place, plan in enumerate(decision.plans):
        for number, step in enumerate(plan.steps):
            if (place, number) in now:
                yield Changed(plan.uid, plan.rule, step)
