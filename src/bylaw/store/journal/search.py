"""Open a journal for reading, find records, and fold a session up to one of them.

Records are read in pieces: a journal of any size fits in memory, and a slow reader does not keep
SQLite from writing its log back. Folding needs no rules.
"""

from __future__ import annotations

import json
from contextlib import closing
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec import Struct

from bylaw.model.event import EffectDone
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.vocabulary import Kind
from bylaw.store.journal.database import open_to_read
from bylaw.store.journal.errors import translated_errors
from bylaw.store.journal.records import STORED_QUERY, read_stored_record, record_from_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.model.vocabulary import Verdict
    from bylaw.store.journal.records import Record, StoredRecord

PAGE_SIZE = 500  # records per query
MAX_PARENTS = 256  # records that are remembered while their effects are read
# Step from one name to the next, so that the cost does not grow with the number of records.
_SESSIONS = """
    WITH RECURSIVE names(name) AS (
        SELECT min(session) FROM records
        UNION ALL
        SELECT (SELECT min(session) FROM records WHERE session > name)
        FROM names WHERE name IS NOT NULL
    )
    SELECT name FROM names WHERE name IS NOT NULL LIMIT ?
"""


class RecordFilter(Struct, frozen=True, kw_only=True):
    """Which records to find; None and empty values mean all.

    `rule` is an id or a uid. `with_effects` also finds the effects of every matching record.
    """

    session: str | None = None
    kinds: tuple[Kind, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    rule: str = ""
    since: int | None = None
    until: int | None = None
    with_effects: bool = False


class RecordSearch:
    """The matching records of one journal."""

    def __init__(self, reader: JournalReader, wanted: RecordFilter) -> None:
        self._reader = reader
        self._wanted = wanted
        self._parent_fits = lru_cache(MAX_PARENTS)(self._parent_matches)

    def records(self, after: int = 0, up_to: int | None = None) -> Iterator[StoredRecord]:
        """Yield records with a number above `after`, oldest first."""
        end = self._reader.newest if up_to is None else up_to
        while after < end:
            last = after
            for one in self._page("r.seq > ? AND r.seq <= ?", (after, end), "ASC"):
                last = one.header.seq
                if self._matches(one):
                    yield one
            if last == after:
                return
            after = last

    def start_of_last(self, number: int) -> int:
        """Return the record number after which the newest `number` matching records begin."""
        before = self._reader.newest + 1
        found = islice(self._newest_first(before), number)
        for one in found:
            before = one.header.seq
        return before - 1

    def _newest_first(self, before: int) -> Iterator[StoredRecord]:
        while True:
            last = before
            for one in self._page("r.seq < ?", (before,), "DESC"):
                last = one.header.seq
                if self._matches(one):
                    yield one
            if last == before:
                return
            before = last

    def _page(self, part: str, values: tuple[object, ...], order: str) -> Iterator[StoredRecord]:
        if not self._reader.newest:
            return
        condition, more = self._condition()
        statement = (
            f"{STORED_QUERY} WHERE {part}{condition} ORDER BY r.seq {order} LIMIT {PAGE_SIZE}"
        )
        # Fetch all rows at once: an open query would keep SQLite from writing its log back.
        for row in self._reader.query(statement, (*values, *more)):
            yield record_from_row(row)

    def _condition(self) -> tuple[str, list[object]]:
        """Return the part of the filter that the database can check."""
        wanted, parts, values = self._wanted, [], list[object]()
        for test, value in (
            ("r.session = ?", wanted.session),
            ("r.at >= ?", wanted.since),
            ("r.at <= ?", wanted.until),
        ):
            if value is not None:
                parts.append(test)
                values.append(value)
        own, own_values = self._own_condition()
        if own:
            effects = f" OR r.kind = '{Kind.EFFECT}'" if wanted.with_effects else ""
            parts.append(f"({' AND '.join(own)}{effects})")
            values += own_values
        return "".join(f" AND {part}" for part in parts), values

    def _own_condition(self) -> tuple[list[str], list[object]]:
        """Return the part that an effect need not match if its record does."""
        wanted, parts, values = self._wanted, list[str](), list[object]()
        for column, words in (
            ("kind", [kind.value for kind in wanted.kinds]),
            ("verdict", [verdict.value for verdict in wanted.verdicts]),
        ):
            if words:
                parts.append(f"r.{column} IN ({', '.join('?' * len(words))})")
                values += words
        if wanted.rule:
            # Decode only records whose bytes contain the name.
            parts.append("(instr(p.event, ?) OR instr(p.decision, ?))")
            values += [_as_json(wanted.rule)] * 2
        return parts, values

    def _matches(self, one: StoredRecord) -> bool:
        wanted = self._wanted
        if self._matches_itself(one):
            return True
        effect = None if one.record is None else one.record.event
        return (
            wanted.with_effects and isinstance(effect, EffectDone) and self._parent_fits(effect.of)
        )

    def _matches_itself(self, one: StoredRecord) -> bool:
        wanted, header = self._wanted, one.header
        return (
            (not wanted.kinds or header.kind in {kind.value for kind in wanted.kinds})
            and (not wanted.verdicts or header.verdict in {each.value for each in wanted.verdicts})
            and (
                not wanted.rule
                or (one.record is not None and involves_rule(one.record, wanted.rule))
            )
        )

    def _parent_matches(self, seq: int) -> bool:
        found = read_stored_record(self._reader, seq)
        return found is not None and self._matches_itself(found)


def session_names(reader: JournalReader, most: int) -> list[str]:
    """Return the sessions of a journal in the order of their names, at most `most`."""
    return [name for (name,) in reader.query(_SESSIONS, (most,))] if reader.newest else []


def involves_rule(record: Record, rule: str) -> bool:
    """Check whether the rule with that id or uid fired, failed, was limited, or was the cause."""
    decision = record.decision
    named = [(one.uid, one.rule) for one in decision.reasons]
    named += [(one.uid, one.rule) for one in decision.plans]
    uids = {*record.event.cause, *decision.fired, *(line.uid for line in decision.trace)}
    uids |= {uid for uid, _ in named}
    ids = {id_ for _, id_ in named}
    return rule in uids or rule in ids or any(uid.endswith(f"#{rule}") for uid in uids)


def _as_json(text: str) -> bytes:
    """Return a text as JSON writes it, without its quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


PROGRESS_EVERY = 1_000  # records between two progress messages


class FoldedSession(NamedTuple):
    """A session, and the number of its records without payload, which could not be folded."""

    session: Session
    lost: int


def session_before(
    reader: JournalReader, session: str, seq: int, tell: Callable[[str], None]
) -> FoldedSession:
    """Return the session before the record with that number."""
    found, lost = Session(id=session), 0
    earlier = RecordSearch(reader, RecordFilter(session=session)).records(up_to=seq - 1)
    for number, one in enumerate(earlier):
        if number % PROGRESS_EVERY == 0:
            tell(f"reading record {one.header.seq} of {seq}")
        if one.record is None:
            lost += 1
        else:
            found = fold(found, one.record.event, one.record.decision)
    return FoldedSession(found, lost)


class JournalReader:
    """A journal open for reading only; JournalError if it does not exist."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._connection = open_to_read(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        return list(self.each(statement, values))

    def each(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Run a statement and yield its rows one at a time."""
        with translated_errors(self.path), closing(self._connection.cursor()) as cursor:
            yield from cursor.execute(statement, tuple(values))

    @property
    def newest(self) -> int:
        """The number of the last record; 0 if there is none."""
        if not self.query("PRAGMA user_version")[0][0]:
            return 0  # another process is creating it now
        return int(self.query("SELECT max(seq) FROM records")[0][0] or 0)
