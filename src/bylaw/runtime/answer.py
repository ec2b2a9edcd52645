"""The answer for a host: verdict and reasons, the results of steps, and what the event caused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.engine.plan import Due, Ending
from bylaw.model.verdict import Verdict
from bylaw.runtime.unrecorded import unrecorded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.engine.outcome import StepOutcome
    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.runtime.journal.errors import JournalError


class Answer(Struct):
    """An event as it was recorded, its decision, the results of its steps, and what it caused.

    `verdict` and `deciding` are what the host answers with. They come from the round with the
    stronger verdict. If both are equal, from the second round, which knows what commands did.
    `problem` says why nothing could be recorded; it is empty otherwise.
    """

    event: Event
    decision: Decision
    outcomes: dict[int, StepOutcome] = field(default_factory=dict)
    ending: Ending = field(default_factory=Ending)
    caused: list[Answer] = field(default_factory=list)
    again: Answer | None = None
    problem: str = ""

    @property
    def verdict(self) -> Verdict:
        """The strongest verdict of both rounds; halt if a plan failed that must not fail."""
        return max(self._own, self.again.verdict) if self.again else self._own

    @property
    def deciding(self) -> Decision:
        """The decision of the round whose verdict applies."""
        if self.again and self.again.verdict >= self._own:
            return self.again.deciding
        return self.decision

    @property
    def _own(self) -> Verdict:
        return Verdict.HALT if self.ending.halted else self.decision.verdict

    def steps(self) -> Iterator[tuple[Due, StepOutcome]]:
        """Yield every performed step with its result, those of the second round last."""
        for number, plan, step in self.decision.numbered_steps():
            if number in self.outcomes:
                yield Due(number, plan, step), self.outcomes[number]
        if self.again:
            yield from self.again.steps()


def not_recorded(event: Event, problem: JournalError) -> Answer:
    """Return the answer if the journal fails: a gate denies, and the reason says what to do."""
    return Answer(event, unrecorded(event, problem), problem=problem.message)
