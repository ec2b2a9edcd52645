"""Rows of the journal → records again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bylaw.model.decision import Decision
from bylaw.model.event import EffectDone, Event
from bylaw.runtime.journal.chain import Header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EVENT: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_DECISION = msgspec.json.Decoder(Decision)
_COLUMNS = "seq, session, at, kind, verdict, event, decision, rules, version, redacted"


class Rows(Protocol):
    """Whoever can be asked for rows."""

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows of a question."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record with its payload."""

    header: Header
    event: Event
    decision: Decision


def read_record(rows: Rows, seq: int) -> Record | None:
    """One record; None if it is not there, or if its payload was erased."""
    found = rows.query(
        f"SELECT {_of_records()}, p.event, p.decision FROM records r"  # noqa: S608 - our own columns
        " JOIN payloads p USING (seq) WHERE r.seq = ?",
        (seq,),
    )
    return _record(found[0]) if found else None


def read_effects(rows: Rows, session: str, of: int) -> Iterator[EffectDone]:
    """The outcomes of the steps of one decision."""
    found = rows.query(
        "SELECT p.event FROM records r JOIN payloads p USING (seq)"
        " WHERE r.session = ? AND r.seq > ? AND r.kind = 'effect' ORDER BY r.seq",
        (session, of),
    )
    for (data,) in found:
        effect = _EVENT.decode(data)
        if isinstance(effect, EffectDone) and effect.of == of:
            yield effect


def _of_records() -> str:
    return ", ".join(f"r.{name}" for name in _COLUMNS.split(", "))


def _record(row: tuple[Any, ...]) -> Record:
    *header, event, decision = row
    fields = (*header[:-1], bool(header[-1]))
    return Record(Header(*fields), _EVENT.decode(event), _DECISION.decode(decision))
