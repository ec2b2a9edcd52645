"""Plans whose process died → their next step has failed, and what is left is followed.

Whether the step had begun is not known, so it is never begun again: `failed: interrupted`.
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
    """A decision whose plans did not come to their end, with the outcomes that are known.

    Its plans go on only if they are what was decided here: not what was taken out of the record,
    nor what a journal says that somebody else may have written.
    """

    event: Event
    decision: Decision
    outcomes: dict[int, StepOutcome]
    goes_on: bool

    def interrupted(self) -> Due | None:
        """The step that may have begun; from now on it has failed."""
        due = next_step(self.decision, self.outcomes)
        if not isinstance(due, Due):
            return None
        self.outcomes[due.number] = INTERRUPTED
        return due


def unfinished(journal: Journal, session: str, given_up: Container[int]) -> Iterator[Unfinished]:
    """Every decision of a session that was left behind, oldest first.

    By a process that is dead, or by this one: `given_up` are the decisions that it could not
    see through because the journal failed.
    """
    for seq, owner in journal.open_plans(session):
        left = owner == ADOPTED or seq in given_up or is_dead(owner)
        if not left or not journal.take_over(seq, owner):
            continue
        found = read_stored(journal, seq)
        if found is not None and found.lost is Lost.DAMAGED:
            raise corrupt_journal(journal.path, f"record {seq} cannot be read")
        if found is None or found.record is None:  # erased: what it wanted is not known any more
            journal.close_plans(seq)
            continue
        record = found.record
        effects = read_effects(journal, session, seq)
        certain = journal.vouched and owner != ADOPTED and not record.header.redacted
        yield Unfinished(record.event, record.decision, dict(_outcomes(effects)), certain)


def untold(journal: Journal, left: Unfinished) -> Iterator[tuple[int, Event]]:
    """What the decision caused and nobody recorded, by step: its process died before."""
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
