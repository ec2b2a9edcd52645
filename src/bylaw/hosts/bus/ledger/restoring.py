"""Restore a lost ledger from the journal.

Without this, a finished message would run again, and an approval could apply to another text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.messages import is_request
from bylaw.hosts.bus.events import SESSION
from bylaw.hosts.bus.handled import Handled
from bylaw.hosts.bus.intake import is_answered, is_command
from bylaw.hosts.bus.ledger.ledger import Known, MessageState
from bylaw.hosts.bus.messages.subjects import message_id
from bylaw.model.event import Bus
from bylaw.model.vocabulary import Kind
from bylaw.runtime.answer import Answer
from bylaw.runtime.journal.reading import records_since

if TYPE_CHECKING:
    from bylaw.hosts.bus.ledger.ledger import Ledger
    from bylaw.runtime.journal.reading import Record
    from bylaw.runtime.journal.store import Journal


def restore(ledger: Ledger, journal: Journal) -> int:
    """Fill an empty ledger from the journal. Return the number of messages."""
    if any(ledger.counts().values()):
        return 0
    found: dict[str, Known] = {}
    for record in records_since(journal, SESSION, 0, Kind.BUS):
        event = record.event
        if isinstance(event, Bus) and not event.facts.duplicate and is_command(event):
            found[message_id(event)] = _known(record, event)
    ledger.restore(found.values())
    return len(found)


def _known(record: Record, event: Bus) -> Known:
    handled = Handled.of(Answer(event, record.decision), ())
    state = handled.status
    if is_request(event.message) and state is MessageState.DONE and not is_answered(handled):
        state = MessageState.WAITING
    return Known(
        msg_id=message_id(event),
        digest=event.digest,
        state=state,
        file=event.file,
        claim="",
        owner="",
        tries=event.retry,
        fingerprint="",
        why=handled.why,
        first_at=event.at,
        at=event.at,
        after_seq=event.seq,
    )
