"""Decision and outcomes so far → the step that is due. Plans are followed here, not performed.

The runtime performs each step and returns its outcome. Everything that depends on failures is
decided here, so the runtime decides nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bylaw.engine.outcome import INTERRUPTED, StepOutcome, fill
from bylaw.model.decision import OnFailure, Plan, at_once
from bylaw.model.effects import CommandRun, EntryWrite, Step
from bylaw.model.vocabulary import EffectStatus, EntryStatus

if TYPE_CHECKING:
    from bylaw.model.decision import Decision, NumberedSteps


class Due(Struct, frozen=True):
    """The step to perform now, with its texts filled in, and its plan."""

    number: int
    plan: Plan
    step: Step


class Failure(Struct, frozen=True):
    """A plan that failed, and the outcome that made it fail."""

    plan: Plan
    outcome: StepOutcome


class Ending(Struct, frozen=True):
    """No more steps are due. `failures` are in the order of the plans."""

    failures: tuple[Failure, ...] = ()

    @property
    def halted(self) -> Failure | None:
        """The failure that stopped everything after it. The answer is then halt."""
        halts = (f for f in self.failures if f.plan.on_failure is OnFailure.HALT)
        return next(halts, None)


Outcomes: TypeAlias = Mapping[int, StepOutcome]
NO_OUTCOMES: Outcomes = MappingProxyType({})

Following: TypeAlias = Generator[Due, StepOutcome, Ending]
_Followed: TypeAlias = Generator[Due, StepOutcome, StepOutcome | None]


def next_step(decision: Decision, outcomes: Outcomes = NO_OUTCOMES) -> Due | Ending:
    """Return the step that is due after these outcomes, which are by step number."""
    try:
        return next(follow(decision, outcomes))
    except StopIteration as end:
        ending: Ending = end.value
        return ending


def follow(decision: Decision, outcomes: Outcomes = NO_OUTCOMES) -> Following:
    """Yield each due step, receive its outcome, return the ending.

    Steps with an earlier outcome are not yielded again, so a plan can continue after a crash.
    """
    failures: list[Failure] = []
    ended: set[str] = set()
    folded = at_once(decision.plans)
    for place, (plan, steps, on_error) in enumerate(decision.numbered_plans()):
        if plan.group in ended:
            continue
        due = tuple(one for number, one in enumerate(steps) if (place, number) not in folded)
        outcome = yield from _follow_plan(plan, due, on_error, outcomes)
        if outcome is None:
            continue
        failures.append(Failure(plan, outcome))
        if plan.on_failure is OnFailure.HALT:
            break
        if plan.ends_group_on_failure:
            ended.add(plan.group)
    return Ending(tuple(failures))


def _follow_plan(
    plan: Plan, steps: NumberedSteps, on_error: NumberedSteps, outcomes: Outcomes
) -> _Followed:
    known: list[StepOutcome] = []
    for place, (number, step) in enumerate(steps, 1):
        known.append((yield from _perform(Due(number, plan, fill(step, known)), outcomes)))
        if known[-1].failed:
            told = tuple(known)
            yield from _go_on_beside(plan, steps[place - 1 :], known, outcomes)
            yield from _recover(plan, (*_marks(plan, steps[place:]), *on_error), told, outcomes)
            return told[-1]
    if not plan.broken:
        return None
    known.append(StepOutcome(EffectStatus.FAILED, {"error": plan.broken}))
    yield from _recover(plan, on_error, known, outcomes)
    return known[-1]


def _go_on_beside(
    plan: Plan, steps: NumberedSteps, known: list[StepOutcome], outcomes: Outcomes
) -> Generator[Due, StepOutcome, None]:
    """Perform the runs that belong to the same entry as the first of these steps, which failed.

    The runs for one entry are independent: one that fails does not prevent the others. After an
    interruption no other run starts, because it is unknown which of them took place.
    """
    if plan.on_failure is not OnFailure.MARK_ENTRY or not _is_run(steps[0]):
        return
    for number, step in takewhile(_is_run, steps[1:]):
        if known[-1] == INTERRUPTED:
            return
        known.append((yield from _perform(Due(number, plan, fill(step, known)), outcomes)))


def _is_run(one: tuple[int, Step]) -> bool:
    return isinstance(one[1], CommandRun)


def _recover(
    plan: Plan, steps: NumberedSteps, known: Sequence[StepOutcome], outcomes: Outcomes
) -> Generator[Due, StepOutcome, None]:
    # Each is tried once, and its failure does not stop the others. All report the first failure,
    # not each other's, so their own outcomes are not added to the known ones.
    for number, step in steps:
        yield from _perform(Due(number, plan, fill(step, known)), outcomes)


def _marks(plan: Plan, dropped: NumberedSteps) -> NumberedSteps:
    # An entry that the plan would have passed is written as failed, under the same number. Other
    # entries are dropped with the rest: an entry that waits for a promise never fails.
    if plan.on_failure is not OnFailure.MARK_ENTRY:
        return ()
    return tuple(
        (number, replace(step, status=EntryStatus.FAILED))
        for number, step in dropped
        if isinstance(step, EntryWrite) and step.status is EntryStatus.PASSED
    )


def _perform(due: Due, outcomes: Outcomes) -> Generator[Due, StepOutcome, StepOutcome]:
    recorded = outcomes.get(due.number)
    return recorded if recorded is not None else (yield due)
