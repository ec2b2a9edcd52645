"""Dry run: decide events and everything that they cause, and perform nothing.

Plans are followed as if they were performed. Every step succeeds, except those that Bylaw itself
refuses: a step that causes too much, and a call that is not allowed. A call is decided within its
step and stays pending until an event reports its end. All other caused events are decided after the
plans, first in, first out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.engine.causes import Causing, caused_event, denial_message
from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.engine.plan import Due, follow
from bylaw.model.codes.events import TOO_MANY_SESSIONS
from bylaw.model.decision import Decision
from bylaw.model.effects import SESSION_STEPS, ToolCall
from bylaw.model.event import UNSTAMPED, EffectDone
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.verdict import is_refused
from bylaw.model.vocabulary import EffectStatus
from bylaw.model.wire import EventError
from bylaw.runtime.answer import Answer
from bylaw.runtime.needs import NO_GATHERERS, decide_with_facts
from bylaw.runtime.step_events import call_refused

if TYPE_CHECKING:
    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import Following
    from bylaw.model.event import Event
    from bylaw.runtime.needs import Gatherers

# Sessions stay in memory during a dry run; a stream with a new name each time must not fill it.
MAX_SESSIONS = 100_000

NOT_DONE = StepOutcome(EffectStatus.NOT_CARRIED_OUT)
DENIED = StepOutcome(EffectStatus.REFUSED, {"error": "the call was denied"})


class Rehearsed(Struct):
    """An event with its facts, its decision, and the events that it causes, in order.

    `outcomes` are the results of its steps by number. A step without one was dropped, or only
    changes the session. `on_error` lists the steps of `on_error` that were due.
    """

    event: Event
    decision: Decision = field(default_factory=Decision)
    outcomes: dict[int, StepOutcome] = field(default_factory=dict)
    on_error: list[Due] = field(default_factory=list)
    caused: list[Rehearsed] = field(default_factory=list)


class Rehearsal:
    """A dry run with its sessions by id, in memory."""

    def __init__(self, rules: RuleSet, gatherers: Gatherers = NO_GATHERERS) -> None:
        self.rules = rules
        self.gatherers = gatherers
        self.sessions: dict[str, Session] = {}
        self._seq = 0

    def session(self, name: str) -> Session:
        """Return the current state of a session; a new one if it has no events."""
        return self.sessions.get(name) or Session(id=name)

    def submit(self, event: Event) -> Rehearsed:
        """Decide an event and all that it causes; EventError if there are too many sessions."""
        if event.session not in self.sessions and len(self.sessions) >= MAX_SESSIONS:
            message = f"the events have more than {MAX_SESSIONS:,} sessions"
            raise EventError(TOO_MANY_SESSIONS.name, message)
        return _Submission(self, self._stamped(event)).rehearsed()

    def _stamped(self, event: Event) -> Event:
        """Add a number among all events, and a time not before the last one of the session."""
        seq = self._seq + 1 if event.seq == UNSTAMPED else event.seq
        self._seq = max(self._seq, seq)
        last = self.session(event.session).at
        at = last + 1 if event.at == UNSTAMPED else max(last, event.at)
        return replace(event, seq=seq, at=at)


class _Submission:
    """One event from outside with everything that it causes."""

    def __init__(self, rehearsal: Rehearsal, event: Event) -> None:
        self._rehearsal = rehearsal
        self._first = Rehearsed(event)
        self._queue: deque[Rehearsed] = deque()
        self._numbered = 0
        self._made = 0
        self._causing = Causing()

    def rehearsed(self) -> Rehearsed:
        self._take(self._first)
        while self._queue:
            self._take(self._queue.popleft())
        return self._first

    def _take(self, one: Rehearsed) -> None:
        rehearsal, name = self._rehearsal, one.event.session
        session = rehearsal.session(name)
        one.event, one.decision = decide_with_facts(
            rehearsal.rules, session, one.event, rehearsal.gatherers
        )
        rehearsal.sessions[name] = fold(session, one.event, one.decision)
        denial = denial_message(one.event, one.decision)
        if denial is not None:
            self._queue.append(self._cause(one, denial))
        if one.decision.plans:
            self._follow(one)

    def _follow(self, one: Rehearsed) -> None:
        steps = sum(len(plan.steps) for plan in one.decision.plans)
        # Number the steps across all decisions, so that every call has its own id.
        before, self._numbered = self._numbered, self._numbered + _count_steps(one.decision)
        following = follow(one.decision)
        due = next(following, None)
        while due is not None:
            outcome = one.outcomes[due.number] = self._outcome(one, due, before)
            if due.number > steps:
                one.on_error.append(due)
            if outcome.failed or isinstance(due.step, SESSION_STEPS):
                self._settle(one.event, due, outcome)
            due = _next(following, outcome)

    def _outcome(self, one: Rehearsed, due: Due, before: int) -> StepOutcome:
        if isinstance(due.step, SESSION_STEPS):
            # A dry run does not apply steps of `on_error`: what they would change stays as it is.
            in_plan = any(step is due.step for step in due.plan.steps)
            return DONE if in_plan else NOT_DONE
        refused = self._causing.refusal(one.event, due.step.op)
        if refused is not None:
            return refused
        made_by = replace(one.event, seq=self._first.event.seq)
        event = caused_event(made_by, Due(before + due.number, due.plan, due.step))
        if event is None:
            return DONE
        caused = self._cause(one, event)
        if not isinstance(due.step, ToolCall):
            self._queue.append(caused)
            return DONE
        self._take(caused)
        if not is_refused(caused.decision.verdict):
            return DONE
        self._never_made(caused)
        return DENIED

    def _never_made(self, caused: Rehearsed) -> None:
        """Close a pending call that is refused because a person would have to allow it."""
        ended = call_refused(Answer(caused.event, caused.decision))
        if ended is not None:
            name = ended.session
            session = self._rehearsal.session(name)
            self._rehearsal.sessions[name] = fold(session, ended, Decision())

    def _settle(self, event: Event, due: Due, outcome: StepOutcome) -> None:
        """Fold a result that Bylaw itself knows; the host reports other results later."""
        effect = EffectDone(
            session=event.session,
            seq=event.seq,
            at=event.at,
            of=event.seq,
            step=due.number,
            op=due.step.op,
            status=outcome.status,
        )
        sessions = self._rehearsal.sessions
        sessions[event.session] = fold(sessions[event.session], effect, Decision())

    def _cause(self, one: Rehearsed, event: Event) -> Rehearsed:
        self._made += 1
        # The number is never printed. It only distinguishes the effects within the session.
        caused = Rehearsed(replace(event, at=one.event.at, seq=-1 - self._made))
        one.caused.append(caused)
        return caused


def _count_steps(decision: Decision) -> int:
    return sum(len(plan.steps) + len(plan.on_error) for plan in decision.plans)


def _next(following: Following, outcome: StepOutcome) -> Due | None:
    try:
        return following.send(outcome)
    except StopIteration:
        return None
