"""Ops → who carries them out: what a host offers, and what Bylaw settles itself.

A performer is given a finished step and says how it ended. What nobody offers is not carried out,
and that is recorded like every other outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.model.effects import SESSION_STEPS, EventEmit
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import EffectStatus, Op

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.model.event import Event

# The step that is due, and the event in whose answer it stands.
Performer: TypeAlias = "Callable[[Due, Event], StepOutcome]"
Performers: TypeAlias = Mapping[Op, Performer]
NO_PERFORMERS: Performers = MappingProxyType({})

NOT_OFFERED = StepOutcome(EffectStatus.NOT_CARRIED_OUT, {"error": "the host cannot do this"})
MS = 1_000_000


def carried_out(due: Due, event: Event, performers: Performers) -> tuple[StepOutcome, int]:
    """How a step ended, in how many milliseconds; a performer that breaks has failed."""
    if isinstance(due.step, (*SESSION_STEPS, EventEmit)):
        return DONE, 0  # the session, or the queue of events, takes it over
    performer = performers.get(due.step.op)
    if performer is None:
        return NOT_OFFERED, 0
    begun = monotonic_ns()
    try:
        outcome = _plain(performer(due, event))
    except BylawError as problem:
        outcome = StepOutcome(EffectStatus.FAILED, {"error": str(problem)})
    except Exception as problem:  # noqa: BLE001 - whatever a host's code raises is its failure
        outcome = StepOutcome(
            EffectStatus.FAILED, {"error": f"{type(problem).__name__}: {problem}"}
        )
    return outcome, (monotonic_ns() - begun) // MS


def _plain(outcome: StepOutcome) -> StepOutcome:
    """The outcome as a record will have it, so that nobody goes by anything else."""
    if outcome.result is None:
        return outcome
    return StepOutcome(outcome.status, msgspec.json.decode(msgspec.json.encode(outcome.result)))
