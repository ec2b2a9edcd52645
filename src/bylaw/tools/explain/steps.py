"""Collect the steps of the plans of a record, with outcomes from later effect records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.outcome import StepOutcome
from bylaw.engine.plan import Due, next_step
from bylaw.model.decision import at_once
from bylaw.model.event import EffectDone
from bylaw.model.vocabulary import EffectStatus, Kind
from bylaw.runtime.journal.search import Search, Wanted
from bylaw.tools.explain.values import ExplainedStep
from bylaw.tools.timeline import open_plans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.runtime.journal.reader import JournalReader
    from bylaw.runtime.journal.reading import Record

AT_ONCE = "at once"
NOT_PERFORMED = "not performed"


def explained_steps(reader: JournalReader, record: Record) -> Iterator[ExplainedStep]:
    """Yield every step of a decision in order, even steps that never started.

    `on_error` steps are included if their plan failed.
    """
    decision = record.decision
    if not decision.plans:
        return
    outcomes, now = _outcomes(reader, record), at_once(decision.plans)
    otherwise = open_plans(reader, record.header.seq) or NOT_PERFORMED
    for place, (plan, steps, on_error) in enumerate(decision.numbered_plans()):
        failed = plan.broken or any(_has_failed(outcomes, number) for number, _ in steps)
        for at, (number, step) in enumerate((*steps, *(on_error if failed else ()))):
            done = outcomes.get(number)
            if done is not None:
                yield ExplainedStep(number, plan, step, done.status, done.result, done.ms)
            else:
                status = AT_ONCE if (place, at) in now else otherwise
                yield ExplainedStep(number, plan, step, status)


def _has_failed(outcomes: dict[int, EffectDone], number: int) -> bool:
    done = outcomes.get(number)
    return done is not None and done.status is not EffectStatus.OK


def _outcomes(reader: JournalReader, record: Record) -> dict[int, EffectDone]:
    """Read the effects of the decision, up to the effect of its last step."""
    header, found = record.header, dict[int, EffectDone]()
    wanted = Wanted(session=header.session, kinds=(Kind.EFFECT,))
    later = Search(reader, wanted).records(header.seq)
    while isinstance(next_step(record.decision, _ended(found)), Due):
        effect = next(later, None)
        if effect is None:
            break
        event = None if effect.record is None else effect.record.event
        if isinstance(event, EffectDone) and event.of == header.seq:
            found[event.step] = event
    return found


def _ended(effects: dict[int, EffectDone]) -> dict[int, StepOutcome]:
    return {number: StepOutcome(one.status, one.result) for number, one in effects.items()}
