"""Finish plans whose process died: their next step has failed, and the rest is performed.

It is not known whether that step had begun, so it is not repeated: `failed: interrupted`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.engine.causes import caused_event, denial_message
from bylaw.engine.outcome import INTERRUPTED, StepOutcome, fill
from bylaw.engine.plan import Due, next_step
from bylaw.runtime.journal.errors import corrupt_journal
from bylaw.runtime.journal.reading import Lost, read_effects, read_stored
from bylaw.runtime.journal.store import ADOPTED
from bylaw.runtime.owner import is_dead
from bylaw.runtime.recording import DENIAL

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from bylaw.model.decision import Decision
    from bylaw.model.event import EffectDone, Event
    from bylaw.runtime.journal.store import Journal


class Unfinished(Struct):
    """A decision whose plans are not finished, with the known results of its steps.

    Its plans continue only if they are what this machine decided: not if the record was redacted,
    and not if others may have written the journal.
    """

    event: Event
    decision: Decision
    outcomes: dict[int, StepOutcome]
    goes_on: bool

    def interrupted(self) -> Due | None:
        """Return the step that may have begun, and mark it as failed."""
        due = next_step(self.decision, self.outcomes)
        if not isinstance(due, Due):
            return None
        self.outcomes[due.number] = INTERRUPTED
        return due


def unfinished(journal: Journal, session: str, given_up: Container[int]) -> Iterator[Unfinished]:
    """Yield every unfinished decision of a session that no process works on, oldest first.

    Its process is dead, or it is this one: `given_up` are the decisions that this process could
    not finish because the journal failed.
    """
    for seq, owner in journal.open_plans(session):
        left = owner == ADOPTED or seq in given_up or is_dead(owner)
        if not left or not journal.take_over(seq, owner):
            continue
        found = read_stored(journal, seq)
        if found is not None and found.lost is Lost.DAMAGED:
            raise corrupt_journal(journal.path, f"record {seq} cannot be read")
        if found is None or found.record is None:  # payload erased: the plans are unknown
            journal.close_plans(seq)
            continue
        record = found.record
        effects = read_effects(journal, session, seq)
        certain = journal.vouched and owner != ADOPTED and not record.header.redacted
        yield Unfinished(record.event, record.decision, dict(_outcomes(effects)), certain)


def untold(journal: Journal, left: Unfinished) -> Iterator[tuple[int, Event]]:
    """Yield by step the events that the decision caused and its dead process did not record."""
    owed = journal.owed(left.event.seq) if left.goes_on else set()
    denial = denial_message(left.event, left.decision)
    if denial is not None and DENIAL in owed:
        yield DENIAL, denial
    for plan, steps, _ in left.decision.numbered_plans():
        known: list[StepOutcome] = []
        for number, step in steps:
            event = caused_event(left.event, Due(number, plan, fill(step, known)))
            if event is not None and number in owed:
                yield number, event
            known += [left.outcomes[number]] if number in left.outcomes else []


def _outcomes(effects: Iterator[EffectDone]) -> Iterator[tuple[int, StepOutcome]]:
    for effect in effects:
        yield effect.step, StepOutcome(effect.status, effect.result)
