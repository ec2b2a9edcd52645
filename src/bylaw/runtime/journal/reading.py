"""Turn rows of the journal into records."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from bylaw.model.decision import Decision
from bylaw.model.event import EffectDone, Event
from bylaw.runtime.journal.chain import Header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.vocabulary import Kind

_EVENT: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_DECISION = msgspec.json.Decoder(Decision)
_COLUMNS = "seq, session, at, kind, verdict, event, decision, rules, version, redacted"
# The columns of `Stored` and `Record`; a missing payload is null.
_HEADER = ", ".join(f"r.{name}" for name in _COLUMNS.split(", "))
_PARTS = f"{_HEADER}, p.event, p.decision FROM records r LEFT JOIN payloads p USING (seq)"
STORED = f"SELECT {_PARTS}"
# The same, after the digest of the chain.
LINKED = f"SELECT r.chain, {_PARTS}"


class Rows(Protocol):
    """A database connection that returns rows."""

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""


class Record(Struct, frozen=True):
    """A record with its payload, decoded."""

    header: Header
    event: Event
    decision: Decision


class Lost(StrEnum):
    """Why a record has no payload."""

    ERASED = "erased"
    DAMAGED = "damaged"


class Stored(Struct, frozen=True):
    """A record as it is stored: with its payload, or with the reason why it has none."""

    header: Header
    record: Record | None
    lost: Lost | None = None


def read_stored(rows: Rows, seq: int) -> Stored | None:
    """Read one record, with or without payload; None if it does not exist."""
    found = rows.query(f"{STORED} WHERE r.seq = ?", (seq,))
    return stored(found[0]) if found else None


def read_effects(rows: Rows, session: str, of: int) -> Iterator[EffectDone]:
    """Yield the results of the steps of one decision."""
    found = rows.query(
        "SELECT p.event FROM records r JOIN payloads p USING (seq)"
        " WHERE r.session = ? AND r.seq > ? AND r.kind = 'effect' ORDER BY r.seq",
        (session, of),
    )
    for (data,) in found:
        # Skip payloads that cannot be decoded; `bylaw verify` reports them.
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            event = _EVENT.decode(data)
            if isinstance(event, EffectDone) and event.of == of:
                yield event


def stored(row: tuple[Any, ...]) -> Stored:
    """Decode a row of `STORED`."""
    if row[-2] is None:
        return Stored(_header(row), None, Lost.ERASED)
    try:
        return Stored(_header(row), _record(row))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Stored(_header(row), None, Lost.DAMAGED)


def decoded(event: bytes, decision: bytes) -> tuple[Event, Decision]:
    """Decode a payload; MsgspecError or UnicodeDecodeError if it is damaged."""
    return _EVENT.decode(event), _DECISION.decode(decision)


def _record(row: tuple[Any, ...]) -> Record:
    return Record(_header(row), *decoded(row[-2], row[-1]))


def _header(row: tuple[Any, ...]) -> Header:
    fields = (*row[:-3], bool(row[-3]))
    return Header(*fields)


def records_since(rows: Rows, session: str, seq: int, kind: Kind) -> Iterator[Record]:
    """Yield the readable records of one kind that a session has after a record number."""
    found = rows.query(
        f"{STORED} WHERE r.session = ? AND r.seq > ? AND r.kind = ? ORDER BY r.seq",
        (session, seq, kind),
    )
    for one in map(stored, found):
        if one.record is not None:
            yield one.record
