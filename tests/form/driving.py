"""A session that is driven: events in, decisions out, steps performed as a script says.

What a plan causes is decided at once, first in, first out. Everything that was decided is kept
with its facts, so that it can be decided again.
"""

from collections import deque
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.engine.plan import (
    DONE,
    TOO_DEEP,
    PlanEnd,
    StepOutcome,
    caused_event,
    chain,
    denial_message,
    follow,
    is_too_deep,
    second_round,
)
from bylaw.model.decision import Decision, Needs
from bylaw.model.effects import HistoryCompact, ToolCall
from bylaw.model.event import EffectDone, HistoryChanged, ToolAfter
from bylaw.model.fold import fold
from bylaw.model.session import Session, encode_session
from bylaw.model.vocabulary import CallStatus, EffectStatus, is_not_allowed
from bylaw.model.wire import decode_event, encode_event

# Facts are asked for this often, then the engine has to answer.
MAX_ASKING = 4

FAILED = StepOutcome(EffectStatus.FAILED, {"error": "it failed"})


@dataclass
class Happened:
    """One event with all that came of it."""

    event: object
    decision: Decision
    performed: list = field(default_factory=list)
    ending: PlanEnd = field(default_factory=PlanEnd)
    caused: list = field(default_factory=list)

    @property
    def verdict(self):
        return self.decision.verdict

    @property
    def reasons(self):
        return [(reason.rule, reason.text) for reason in self.decision.reasons]

    @property
    def trace(self):
        """Rule id and result, line by line."""
        return [(line.uid.partition("#")[2], line.result.value) for line in self.decision.trace]

    @property
    def details(self):
        return [line.detail for line in self.decision.trace if line.detail]

    @property
    def steps(self):
        """Rule id and step, in the order in which they are decided."""
        return [(plan.rule, step) for _, plan, step in self.decision.numbered_steps()]

    @property
    def done(self):
        """The steps that were tried, with the status of their outcome."""
        return [(step, outcome.status.value) for step, outcome in self.performed]


class Driven:
    """A session under some books."""

    def __init__(self, *books, perform=None, gather=None, fast=True, most=1_000):
        self.books = books
        self.rules = RuleSet(books, fast=fast)
        self.session = Session()
        self.perform = perform or (lambda step: DONE)
        self.gather = gather
        self.record = []
        self._queue = deque()
        self._most = most

    def submit(self, *events):
        """Decide the events and everything that they cause; what came of the last is returned."""
        for event in events:
            happened = self._take(event)
            while self._queue:
                parent, queued = self._queue.popleft()
                parent.caused.append(self._take(queued))
        return happened

    def replay(self, *, fast=True):
        """The recorded events, written and read again, decided anew from the same beginning."""
        rules, session = RuleSet(self.books, fast=fast), Session()
        record = []
        for event, _ in self.record:
            read = decode_event(encode_event(event))
            decision = decide(rules, session, read)
            session = fold(session, read, decision)
            record.append((read, decision))
        assert encode_session(session) == encode_session(self.session)
        return record

    def _take(self, event):
        happened = self._decide(event)
        denial = denial_message(happened.event, happened.decision)
        if denial is not None:
            self._queue.append((happened, denial))
        self._follow(happened)
        again = second_round(happened.event, happened.decision)
        if again is not None:
            self._queue.append((happened, again))
        return happened

    def _decide(self, event):
        assert len(self.record) < self._most, "a storm"
        event = replace(event, seq=len(self.record) + 1, at=max(self.session.at + 1, event.at))
        for _ in range(MAX_ASKING):
            decision = decide(self.rules, self.session, event)
            if isinstance(decision, Decision):
                break
            event = self._answer(event, decision)
        assert isinstance(decision, Decision), decision
        self.session = fold(self.session, event, decision)
        self.record.append((event, decision))
        return Happened(event, decision)

    def _answer(self, event, needs: Needs):
        for need in needs.needs:
            facts = self.gather(need, event.facts) if self.gather else None
            if facts is None:
                unknown = (*event.facts.unknown, f"{need.name}:{need.key}")
                facts = replace(event.facts, unknown=unknown)
            event = replace(event, facts=facts)
        return event

    def _follow(self, happened):
        following = follow(happened.decision)
        try:
            due = next(following)
            while True:
                outcome = self._perform(happened, due)
                happened.performed.append((due.step, outcome))
                self._commit(happened, due, outcome)
                due = following.send(outcome)
        except StopIteration as end:
            happened.ending = end.value

    def _perform(self, happened, due):
        if is_too_deep(happened.event, due.step.op):
            return TOO_DEEP
        caused = caused_event(happened.event, due)
        if isinstance(due.step, ToolCall):
            return self._call(happened, caused)
        outcome = self.perform(due.step)
        if caused is not None and not outcome.failed:
            self._queue.append((happened, caused))
        if isinstance(due.step, HistoryCompact) and not outcome.failed:
            cause = chain(happened.event, due.plan.uid)
            changed = HistoryChanged(cause=cause, why="compacted", **outcome.result)
            self._queue.append((happened, changed))
        return outcome

    def _call(self, happened, before):
        judged = self._take(before)
        happened.caused.append(judged)
        if is_not_allowed(judged.verdict):
            return StepOutcome(EffectStatus.REFUSED, {"error": "denied"})
        after = ToolAfter(
            tool=before.tool,
            call=before.call,
            args=before.args,
            cause=before.cause,
            status=CallStatus.OK,
            result="done",
        )
        happened.caused.append(self._take(after))
        return StepOutcome(EffectStatus.OK, {"result": "done"})

    def _commit(self, happened, due, outcome):
        effect = EffectDone(
            of=happened.event.seq,
            step=due.number,
            op=due.step.op,
            status=outcome.status,
            result=outcome.result,
        )
        assert self._decide(effect).decision == Decision()  # no rule is triggered by these


def as_bytes(decision):
    """A decision as bytes, its trace included."""
    return msgspec.json.encode(
        {
            "verdict": decision.verdict.value,
            "reasons": decision.reasons,
            "plans": decision.plans,
            "fired": decision.fired,
            "trace": tuple(decision.trace),
        }
    )


def assert_replays(driven):
    """Replaying gives the same decisions byte by byte, on the fast path and on the slow one."""
    recorded = [(encode_event(event), as_bytes(decision)) for event, decision in driven.record]
    for fast in (True, False):
        again = driven.replay(fast=fast)
        assert [(encode_event(e), as_bytes(d)) for e, d in again] == recorded
