"""Session, event and decision → the next session. The counterpart of `decide`.

`observe` is what guards see while an event is decided; `fold` is what remains afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.model.calls import NEVER_HAPPENED
from bylaw.model.decision import immediate_steps
from bylaw.model.effects import SESSION_STEPS, Notify
from bylaw.model.event import (
    AgentStop,
    EffectDone,
    HistoryChanged,
    Message,
    Prompt,
    ToolAfter,
    ToolBefore,
    TurnEnd,
    TurnStart,
)
from bylaw.model.session import (
    MAX_BLOCKED,
    MAX_BLOCKED_AS_ONE,
    DeferredStep,
    FiringCount,
    Session,
    blocks_stop,
    violations,
)
from bylaw.model.values import as_text
from bylaw.model.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.model.decision import Decision
    from bylaw.model.effects import Step
    from bylaw.model.event import Event
    from bylaw.model.history import History

_OBSERVED_EVENTS = frozenset({ToolAfter, EffectDone, TurnStart, Message, HistoryChanged})


def observe(session: Session, event: Event) -> Session:
    """Return the session as guards read it during this event, part of which has already happened.

    A message is in the history, the call of a `tool.after` is counted, and a `turn.start` has
    completed the turn that was open.
    """
    if event.round > 1:
        return session  # the same event again: it was observed in round 1
    if event.__class__ not in _OBSERVED_EVENTS and event.tokens is UNSET:
        return session  # most events change nothing before they are decided
    return _set_size(_apply_event(_stamp(session, event), event), event)


def is_repeated_report(session: Session, event: Event) -> bool:
    """Whether an event repeats how a call ended. It then changes nothing."""
    if event.__class__ is not ToolAfter or event.round > 1:
        return False
    return event.status not in NEVER_HAPPENED and session.calls.has_ended(event)


def _stamp(session: Session, event: Event) -> Session:
    if session.seq >= event.seq and session.at >= event.at:
        return session
    return replace(session, seq=max(session.seq, event.seq), at=max(session.at, event.at))


def fold(session: Session, event: Event, decision: Decision) -> Session:
    """Return the session after an event and its decision."""
    return fold_observed(observe(session, event), event, decision)


def fold_observed(observed: Session, event: Event, decision: Decision) -> Session:
    """As `fold`, for a session that has observed the event."""
    session = _stamp(observed, event)
    if decision.plans or decision.fired:
        session = _apply_plans(session, event, decision)
    return _apply_decision(session, event, decision)


def _apply_event(session: Session, event: Event) -> Session:
    match event:
        case ToolAfter():
            return session if is_repeated_report(session, event) else _end_call(session, event)
        case EffectDone():
            return _apply_outcome(session, event)
        case TurnStart() if event.by_main_agent:
            started = _complete_turn(session) if session.turns.open else session
            return replace(started, turns=replace(started.turns, open=True))
        case Message() if event.by_main_agent:
            return replace(session, history=session.history.append(event.role, event.text))
        case HistoryChanged() if event.by_main_agent:
            return replace(session, history=_change_history(session.history, event))
    return session


def _change_history(history: History, event: HistoryChanged) -> History:
    if event.newest:
        return history.replaced(event.length, event.newest)
    return history.resize(event.length)


def _apply_outcome(session: Session, effect: EffectDone) -> Session:
    deferred, due = session.deferred.settle(effect)
    notices, blocked = session.notices.settle(effect), session.blocked.take_back(effect)
    session = replace(session, notices=notices, deferred=deferred, blocked=blocked)
    return session if due is None else _apply_step(session, due.step, due.uid, due.rule)


def _set_size(session: Session, event: Event) -> Session:
    if event.tokens is UNSET or not event.by_main_agent:
        return session
    return replace(session, history=replace(session.history, tokens=event.tokens))


def _end_call(session: Session, event: ToolAfter) -> Session:
    calls = session.calls.end(event, session.at, session.turn)
    if not event.by_main_agent or event.status in NEVER_HAPPENED:
        return replace(session, calls=calls)
    text = as_text(event.result) or event.error
    return replace(session, calls=calls, history=replace(session.history, last_tool=text))


def _complete_turn(session: Session, *, final: bool = True) -> Session:
    calls = session.calls.end_turn(session.turn)
    answered = session.turn if final else session.turns.answered
    turns = replace(session.turns, completed=session.turn, open=False, answered=answered)
    return replace(session, calls=calls, turns=turns)


def _apply_plans(session: Session, event: Event, decision: Decision) -> Session:
    now = immediate_steps(decision.plans)
    for place, (plan, steps, _) in enumerate(decision.numbered_plans()):
        for number, (numbered, step) in enumerate(steps):
            if (place, number) in now:
                session = _apply_step(session, step, plan.uid, plan.rule)
            elif isinstance(step, SESSION_STEPS):
                waits = DeferredStep(
                    of=event.seq,
                    number=numbered,
                    first=steps[0][0],
                    uid=plan.uid,
                    rule=plan.rule,
                    step=step,
                )
                session = replace(session, deferred=session.deferred.put(waits))
    notices = session.notices
    # A notice can be sent with the decision that made it, so all are made first.
    for number, plan, _ in decision.numbered_steps():
        if plan.delivers:
            notices = notices.send(plan.delivers, event.seq, number)
    firings = _record_firings(session, decision)
    return replace(session, notices=notices, firings=firings)


def _apply_step(session: Session, step: Step, uid: str, rule: str) -> Session:
    if isinstance(step, Notify):
        return replace(session, notices=session.notices.put(step, uid, rule))
    return replace(session, slate=session.slate.after(step))


def _record_firings(session: Session, decision: Decision) -> Mapping[str, FiringCount]:
    if not decision.fired:
        return session.firings
    firings = dict(session.firings)
    for uid in decision.fired:
        before = firings.get(uid)
        count = before.count + 1 if before else 1
        firings[uid] = FiringCount(count=count, turn=session.turn, at=session.at)
    return firings


def _apply_decision(session: Session, event: Event, decision: Decision) -> Session:
    match event:
        case ToolBefore():
            return _begin_call(session, event, decision)
        case Prompt() if event.by_main_agent and decision.verdict < Verdict.DENY:
            turns = replace(session.turns, before_prompt=session.turns.begun)
            return replace(session, turns=turns)
        case TurnEnd() if event.by_main_agent and event.round == 1:
            return _complete_turn(session, final=event.final)
        case AgentStop() if blocks_stop(decision) and not (
            event.round == 1 and decision.needs_second_round
        ):
            # Count in the last round only, so that one stop never counts twice.
            most = MAX_BLOCKED if event.each else MAX_BLOCKED_AS_ONE
            blocked = session.blocked.add(violations(event, decision), most)
            return replace(session, blocked=blocked)
    return session


def _begin_call(session: Session, event: ToolBefore, decision: Decision) -> Session:
    if decision.verdict >= Verdict.DENY:
        return replace(session, calls=session.calls.drop(event)) if event.round > 1 else session
    if event.round > 1:
        return session  # what round 1 denied stays denied
    return replace(session, calls=session.calls.begin(event, session.at, session.turn))
