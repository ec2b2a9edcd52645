"""An answer to `agent.stop` → whether the agent goes on, or is let go although something is wrong.

A gate that nobody can pass would keep an agent busy for ever. So an unchanged violation blocks a
stop only so often; then it is let through with a warning to the person, and that is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bylaw.model.event import AgentStop, EffectDone
from bylaw.model.stops import blocks_stop, stop_digest
from bylaw.model.vocabulary import EffectStatus, Op

if TYPE_CHECKING:
    from bylaw.model.decision import Decision
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.journal.store import Journal


# A violation that is another one each time must come to an end, too.
MAX_IN_A_ROW = 50


@dataclass(frozen=True, slots=True)
class StopAnswer:
    """What a host does at a stop: it `blocks`, or warns the person and lets go (`released`)."""

    decision: Decision
    blocks: bool = False
    released: EffectDone | None = None


def judged_stop(answer: Answer, journal: Journal, max_blocks: int, in_a_row: int) -> StopAnswer:
    """How a stop ends; what has to be recorded of one that is let through is in `released`.

    `in_a_row` is how often it was blocked since a person last said something.
    """
    last = answer.again or answer
    event, decision = last.event, last.decision
    assert isinstance(event, AgentStop)
    if not blocks_stop(decision) or answer.problem:
        return StopAnswer(decision, blocks=blocks_stop(decision))
    times = journal.session(event.session).blocked.times(stop_digest(event, decision))
    if times <= max_blocks and in_a_row < MAX_IN_A_ROW:
        return StopAnswer(decision, blocks=True)
    return StopAnswer(decision, released=_released(event, max(times - 1, in_a_row)))


def _released(event: AgentStop, times: int) -> EffectDone:
    return EffectDone(
        session=event.session,
        agent=event.agent,
        of=event.seq,
        step=0,
        op=Op.ANSWER,
        status=EffectStatus.RELEASED,
        result={"note": f"it blocked {times} times and was not answered"},
    )
