"""Plans whose process died → their next step has failed, and what is left is followed.

Whether the step had begun is not known, so it is never begun again: `failed: interrupted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bylaw.engine.outcome import INTERRUPTED, StepOutcome
from bylaw.engine.plan import Due, next_step
from bylaw.runtime.journal.reading import read_effects, read_record
from bylaw.runtime.journal.store import ADOPTED
from bylaw.runtime.owner import is_dead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.decision import Decision
    from bylaw.model.event import EffectDone, Event
    from bylaw.runtime.journal.store import Journal


@dataclass(slots=True)
class Unfinished:
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


def unfinished(journal: Journal, session: str) -> Iterator[Unfinished]:
    """Every decision of a session that a dead process left behind, oldest first."""
    for seq, owner in journal.open_plans(session):
        if not (owner == ADOPTED or is_dead(owner)) or not journal.take_over(seq, owner):
            continue
        record = read_record(journal, seq)
        if record is None:  # erased meanwhile: what it wanted is not known any more
            journal.close_plans(seq)
            continue
        effects = read_effects(journal, session, seq)
        certain = journal.vouched and owner != ADOPTED and not record.header.redacted
        yield Unfinished(record.event, record.decision, dict(_outcomes(effects)), certain)


def _outcomes(effects: Iterator[EffectDone]) -> Iterator[tuple[int, StepOutcome]]:
    for effect in effects:
        yield effect.step, StepOutcome(effect.status, effect.result)
