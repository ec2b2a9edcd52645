"""Fold the records of a session up to one of them. No rules are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.runtime.journal.search import Search, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.runtime.journal.reader import JournalReader

EVERY = 1_000  # records between two progress messages


class Folded(NamedTuple):
    """A session, and the number of its records without payload, which could not be folded."""

    session: Session
    lost: int


def folded_before(
    reader: JournalReader, session: str, seq: int, tell: Callable[[str], None]
) -> Folded:
    """Return the session before the record with that number."""
    found, lost = Session(id=session), 0
    earlier = Search(reader, Wanted(session=session)).records(up_to=seq - 1)
    for number, one in enumerate(earlier):
        if number % EVERY == 0:
            tell(f"reading record {one.header.seq} of {seq}")
        if one.record is None:
            lost += 1
        else:
            found = fold(found, one.record.event, one.record.decision)
    return Folded(found, lost)
