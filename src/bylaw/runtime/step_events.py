"""Build the events that report the result of a step, and those that it causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.engine.causes import caused_event, chain, in_answer
from bylaw.engine.outcome import StepOutcome
from bylaw.model.effects import HistoryCompact, OutcomePart
from bylaw.model.event import EffectDone, HistoryChanged, ToolAfter, ToolBefore
from bylaw.model.values import as_text
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import CallStatus, EffectStatus

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer


def comes_of(answer: Answer, due: Due, outcome: StepOutcome) -> Event | None:
    """Return the event that a performed step causes."""
    if outcome.failed:
        return None
    if isinstance(due.step, HistoryCompact):
        return _history_now(answer.event, due, outcome)
    return caused_event(answer.event, due)


def _history_now(event: Event, due: Due, outcome: StepOutcome) -> HistoryChanged | None:
    """Return the event about the history after a compaction, if the host reports its size."""
    said = outcome.result if isinstance(outcome.result, dict) else {}
    length, tokens = said.get("length"), said.get("tokens")
    if not isinstance(length, int) or not isinstance(tokens, int):
        return None
    changed = HistoryChanged(length=length, tokens=tokens, why="compaction")
    return in_answer(changed, event, due.plan.uid)


_ENDINGS = {
    EffectStatus.OK: CallStatus.OK,
    EffectStatus.TIMEOUT: CallStatus.TIMEOUT,
    EffectStatus.NOT_CARRIED_OUT: CallStatus.CANCELLED,
}


def call_ended(before: Event, outcome: StepOutcome, ms: int) -> ToolAfter:
    """Return the event for the end of a rule's call."""
    assert isinstance(before, ToolBefore)
    return ToolAfter(
        session=before.session,
        agent=before.agent,
        cause=before.cause,
        facts=before.facts,
        tool=before.tool,
        also=before.also,
        args=before.args,
        call=before.call,
        status=_ENDINGS.get(outcome.status, CallStatus.ERROR),
        result=outcome.says(OutcomePart.RESULT),
        error=as_text(outcome.says(OutcomePart.ERROR)) if outcome.failed else "",
        ms=ms,
    )


def call_refused(answer: Answer) -> ToolAfter | None:
    """Return the event that ends a pending call that is not made after all.

    A denied call is never pending. A call that a person would have to allow is, because some hosts
    ask; so is a call that a failed plan halts.
    """
    rounds = filter(None, (answer, answer.again))
    if any(one.decision.verdict >= Verdict.DENY for one in rounds):
        return None
    refused = StepOutcome(EffectStatus.REFUSED, {"error": why_denied(answer)})
    return replace(call_ended(answer.event, refused, 0), status=CallStatus.DENIED)


def why_denied(answer: Answer) -> str:
    """Return the error of a step whose call was denied."""
    reasons = "; ".join(reason.text for reason in answer.deciding.reasons)
    return f"the call was denied: {reasons}"


def effect_done(event: Event, due: Due, outcome: StepOutcome, ms: int) -> EffectDone:
    """Return the event that records the result of a step."""
    return EffectDone(
        session=event.session,
        agent=event.agent,
        cause=chain(event, due.plan.uid),
        of=event.seq,
        step=due.number,
        op=due.step.op,
        status=outcome.status,
        result=outcome.result,
        ms=ms,
    )
