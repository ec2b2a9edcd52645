"""An event from a host → its decision, recorded and carried out, and all that comes of it.

    stamp → decide (facts that are missing are gathered in between) → fold → commit
          → perform plans step by step, an `effect` record each
          → submit what they caused, first in, first out → a second round if a plan asks for it

The runtime decides nothing itself. A gate that cannot record stays closed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from time import time_ns
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.engine.causes import caused_event, chain, denial_message, second_round
from bylaw.engine.decide import decide
from bylaw.engine.outcome import INTERRUPTED, StepOutcome
from bylaw.engine.plan import Due, Ending, follow, next_step
from bylaw.engine.view import NO_MORE_FACTS
from bylaw.model.decision import Decision, Needs
from bylaw.model.effects import EventEmit, MessageInsert, OutcomePart, ToolCall
from bylaw.model.event import EffectDone, ToolAfter, ToolBefore
from bylaw.model.fold import fold
from bylaw.model.values import as_text
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import CallStatus, EffectStatus
from bylaw.runtime.journal.errors import JournalError
from bylaw.runtime.journal.store import Entry
from bylaw.runtime.needs import MAX_ASKING, NO_GATHERERS, gathered, with_unknown
from bylaw.runtime.owner import this_process
from bylaw.runtime.performing import MS, NO_PERFORMERS, perform
from bylaw.runtime.recovery import unfinished
from bylaw.runtime.unrecorded import unrecorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import Following
    from bylaw.model.event import Event
    from bylaw.model.session import Session
    from bylaw.runtime.journal.sources import RulesInForce
    from bylaw.runtime.journal.store import Journal
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performers
    from bylaw.runtime.recovery import Unfinished

# What one event may cause, over all links of its chains.
MAX_CAUSED = 1_000
# While a process gathers facts, others may change the session; then it has to ask again.
MAX_TRIES = 100

TOO_MANY = StepOutcome(
    EffectStatus.REFUSED, {"error": f"one event causes at most {MAX_CAUSED:,} others"}
)


@dataclass(slots=True)
class Answer:
    """An event as it was recorded, its decision, how its steps ended, and what it caused.

    `verdict` and `reasons` are those that the host answers with: of the stronger round.
    `problem` says why nothing could be recorded, if so.
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
        """The strongest of both rounds; halt if a plan failed that may not fail."""
        own = Verdict.HALT if self.ending.halted else self.decision.verdict
        return max(own, self.again.verdict) if self.again else own

    @property
    def deciding(self) -> Decision:
        """The decision of the round whose verdict stands."""
        if self.again and self.again.verdict > self.decision.verdict:
            return self.again.decision
        return self.decision

    def steps(self) -> Iterator[tuple[Due, StepOutcome]]:
        """Every step that was performed, with its outcome, those of the second round last."""
        for number, plan, step in self.decision.numbered_steps():
            if number in self.outcomes:
                yield Due(number, plan, step), self.outcomes[number]
        if self.again:
            yield from self.again.steps()


class Runtime:
    """Rules in force, a journal, and who finds out facts and carries out steps."""

    def __init__(
        self,
        rules: RuleSet,
        in_force: RulesInForce,
        journal: Journal,
        *,
        gatherers: Gatherers = NO_GATHERERS,
        performers: Performers = NO_PERFORMERS,
    ) -> None:
        self.rules = rules
        self.in_force = in_force
        self.journal = journal
        self.gatherers = gatherers
        self.performers = performers
        self._recovered: set[str] = set()

    def renew(self, rules: RuleSet, in_force: RulesInForce) -> None:
        """Other rules are in force from now on."""
        self.rules, self.in_force = rules, in_force

    def submit(self, event: Event) -> Answer:
        """Record, decide and carry out one event and everything that comes of it."""
        try:
            if event.session not in self._recovered:
                self._recovered.add(event.session)
                for one in unfinished(self.journal, event.session):
                    _Submission(self).finish(one)
            return _Submission(self).run(event)
        except JournalError as problem:
            return Answer(event, unrecorded(event, problem), problem=problem.message)

    def record(self, event: Event) -> tuple[Event, Decision]:
        """Decide an event and commit it; the facts that it lacks are gathered outside."""
        asked, seen = 0, -1
        for _ in range(MAX_TRIES):
            desk = _Desk(self, event)
            self.journal.transact(event.session, self.in_force, desk.judge)
            if desk.decision is not None:
                return desk.event, desk.decision
            # A session that others moved on has questions of its own: they do not count.
            asked, seen = asked + (desk.seen == seen), desk.seen
            if asked < MAX_ASKING:
                event = gathered(event, desk.needs.needs, self.gatherers)
            else:
                event = with_unknown(event, NO_MORE_FACTS)
        raise AssertionError("asking ends, because what is unknown is a fact, too")


class _Desk:
    """One try to decide an event on the session as it is now."""

    def __init__(self, runtime: Runtime, event: Event) -> None:
        self._runtime = runtime
        self.event = event
        self.decision: Decision | None = None
        self.needs: Needs = Needs(())
        self.seen = 0

    def judge(self, session: Session, seq: int) -> Entry | None:
        self.seen = session.seq
        event = replace(self.event, seq=seq, at=max(session.at, time_ns() // MS))
        answer = decide(self._runtime.rules, session, event)
        if isinstance(answer, Needs):
            self.needs = answer
            return None
        self.event, self.decision = event, answer
        redactor = self._runtime.journal.redactor
        kept_event, kept_decision = redactor.event(event), redactor.decision(answer)
        redacted = kept_event is not event or kept_decision is not answer
        due = next_step(answer) if answer.plans else None
        owner = this_process() if isinstance(due, Due) else ""
        folded = fold(session, kept_event, kept_decision)
        return Entry(kept_event, kept_decision, folded, redacted, owner)


class _Submission:
    """One event from a host, with everything that comes of it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._queue: deque[Callable[[], None]] = deque()
        self._made = 0

    def run(self, event: Event) -> Answer:
        answer = self._submit(event)
        while self._queue:
            self._queue.popleft()()
        again = second_round(answer.event, answer.decision)
        if again is not None:
            answer.again = _Submission(self._runtime).run(again)
        return answer

    def finish(self, left: Unfinished) -> None:
        """Go on with plans that another process had begun."""
        answer = Answer(left.event, left.decision)
        due = left.interrupted()
        if due is not None:
            self._runtime.record(_effect(left.event, due, INTERRUPTED, 0))
        self._follow(answer, follow(left.decision, left.outcomes))
        self._runtime.journal.close_plans(left.event.seq)
        while self._queue:
            self._queue.popleft()()

    def _submit(self, event: Event) -> Answer:
        answer = Answer(*self._runtime.record(event))
        denial = denial_message(answer.event, answer.decision)
        if denial is not None:
            self._cause(answer, denial)
        if answer.decision.plans:
            self._follow(answer, follow(answer.decision))
        return answer

    def _follow(self, answer: Answer, following: Following) -> None:
        """Perform step after step; each outcome is committed before the next begins."""
        performed = False
        try:
            due = next(following)
            while True:
                performed = True
                outcome, ms = self._perform(answer, due)
                answer.outcomes[due.number] = outcome
                self._runtime.record(_effect(answer.event, due, outcome, ms))
                due = following.send(outcome)
        except StopIteration as end:
            answer.ending = end.value
        if performed:
            self._runtime.journal.close_plans(answer.event.seq)

    def _perform(self, answer: Answer, due: Due) -> tuple[StepOutcome, int]:
        if self._made >= MAX_CAUSED and isinstance(due.step, MessageInsert | EventEmit | ToolCall):
            return TOO_MANY, 0
        if isinstance(due.step, ToolCall):
            return self._call(answer, due)
        outcome, ms = perform(due, answer.event, self._runtime.performers)
        if not outcome.failed:
            event = caused_event(answer.event, due)
            if event is not None:
                self._cause(answer, event)
        return outcome, ms

    def _call(self, answer: Answer, due: Due) -> tuple[StepOutcome, int]:
        """A call of a rule is judged like one of the model, inside its step."""
        before = caused_event(answer.event, due)
        assert before is not None
        judged = self._submit(before)
        answer.caused.append(judged)
        if judged.verdict >= Verdict.ASK:
            return StepOutcome(EffectStatus.REFUSED, {"error": _why(judged)}), 0
        outcome, ms = perform(due, judged.event, self._runtime.performers)
        answer.caused.append(self._submit(_call_ended(judged.event, outcome, ms)))
        return outcome, ms

    def _cause(self, answer: Answer, event: Event) -> None:
        self._made += 1

        def submit() -> None:
            answer.caused.append(self._submit(event))

        self._queue.append(submit)


_ENDINGS = {
    EffectStatus.OK: CallStatus.OK,
    EffectStatus.TIMEOUT: CallStatus.TIMEOUT,
    EffectStatus.NOT_CARRIED_OUT: CallStatus.CANCELLED,
}


def _call_ended(before: Event, outcome: StepOutcome, ms: int) -> ToolAfter:
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


def _why(answer: Answer) -> str:
    reasons = "; ".join(reason.text for reason in answer.deciding.reasons)
    return f"the call was denied: {reasons}"


def _effect(event: Event, due: Due, outcome: StepOutcome, ms: int) -> EffectDone:
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
