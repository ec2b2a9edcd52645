"""Perform steps: with the performers that a host offers, or by Bylaw itself.

A performer gets a complete step and returns its result. A step that the host does not offer is not
carried out; that is recorded like every other result.
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

# Takes the step that is due and the event that caused it.
Performer: TypeAlias = "Callable[[Due, Event], StepOutcome]"
Performers: TypeAlias = Mapping[Op, Performer]
NO_PERFORMERS: Performers = MappingProxyType({})

NOT_OFFERED = StepOutcome(EffectStatus.NOT_CARRIED_OUT, {"error": "the host cannot do this"})
MS = 1_000_000


def carried_out(due: Due, event: Event, performers: Performers) -> tuple[StepOutcome, int]:
    """Perform a step; return its result and the milliseconds. An exception is a failed step."""
    if isinstance(due.step, (*SESSION_STEPS, EventEmit)):
        return DONE, 0  # done by the session or by the queue of events
    performer = performers.get(due.step.op)
    if performer is None:
        return NOT_OFFERED, 0
    begun = monotonic_ns()
    try:
        outcome = _plain(performer(due, event))
    except BylawError as problem:
        outcome = StepOutcome(EffectStatus.FAILED, {"error": str(problem)})
    except Exception as problem:  # noqa: BLE001 - any exception of a host's code fails the step
        outcome = StepOutcome(
            EffectStatus.FAILED, {"error": f"{type(problem).__name__}: {problem}"}
        )
    return outcome, (monotonic_ns() - begun) // MS


def _plain(outcome: StepOutcome) -> StepOutcome:
    """Return the result as a record will store it, so that all code sees the same value."""
    if outcome.result is None:
        return outcome
    return StepOutcome(outcome.status, msgspec.json.decode(msgspec.json.encode(outcome.result)))
