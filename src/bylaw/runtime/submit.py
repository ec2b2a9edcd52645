"""Submit an event: decide it, record it, perform its plans, and submit the events they cause.

    record (decide and commit)
          → perform plans step by step, with an `effect` record for each step
          → submit the caused events, first in, first out → a second round if a plan asks for it

This module decides nothing itself. If an event cannot be recorded, a gate denies it.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from bylaw.engine.causes import (
    TOO_DEEP,
    Causing,
    caused_event,
    denial_message,
    in_answer,
    second_round,
)
from bylaw.engine.outcome import INTERRUPTED, StepOutcome
from bylaw.engine.plan import follow
from bylaw.model.effects import EventEmit, MessageInsert, ToolCall
from bylaw.model.event import Message, ToolBefore
from bylaw.model.values import as_text
from bylaw.model.verdict import Verdict, is_refused
from bylaw.model.vocabulary import EffectStatus, Role
from bylaw.runtime.answer import Answer, not_recorded
from bylaw.runtime.journal.errors import JournalError
from bylaw.runtime.needs import NO_GATHERERS
from bylaw.runtime.performing import NO_PERFORMERS, carried_out
from bylaw.runtime.recording import DENIAL, Recorder, is_open
from bylaw.runtime.recovery import unfinished, untold
from bylaw.runtime.step_events import call_ended, call_refused, comes_of, effect_done, why_denied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import Due, Following
    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.runtime.journal.sources import RulesInForce
    from bylaw.runtime.journal.store import Debt, Journal
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performers
    from bylaw.runtime.recovery import Unfinished
    from bylaw.runtime.scribe import Scribe

# Sessions known to have no unfinished decision.
MAX_RECOVERED = 10_000


class Runtime:
    """The active rules, a journal, and the code that gathers facts and performs steps."""

    def __init__(
        self,
        rules: RuleSet,
        in_force: RulesInForce,
        journal: Journal,
        *,
        gatherers: Gatherers = NO_GATHERERS,
        performers: Performers = NO_PERFORMERS,
        scribe: Scribe | None = None,
    ) -> None:
        self._recorder = Recorder(rules, in_force, journal, gatherers)
        self.journal = journal
        self.performers = performers
        self.scribe = scribe
        self._recovered: set[str] = set()
        self._given_up: set[int] = set()

    def renew(self, rules: RuleSet, in_force: RulesInForce) -> None:
        """Use these rules from now on."""
        self._recorder.renew(rules, in_force)

    def preview(self, event: Event) -> Decision:
        """Decide an event without recording it."""
        return self._recorder.preview(event)

    def record(self, event: Event, owes: Debt | None = None, pays: Debt | None = None) -> Answer:
        """Decide an event and commit it; `owes` and `pays` change the table `owed`."""
        return Answer(*self._recorder.record(event, owes, pays))

    def submit(self, event: Event) -> Answer:
        """Record, decide and perform one event and everything that it causes."""
        try:
            self.recover(event.session)
            answer = self.record(event)
            return _Submission(self).run(answer) if has_consequences(answer) else answer
        except JournalError as problem:
            self._recovered.discard(event.session)
            return not_recorded(event, problem)

    def give_up(self, decisions: Iterable[int]) -> None:
        """Note decisions left open by a journal error, to finish them before the next event."""
        self._given_up.update(decisions)

    def recover(self, session: str, *, again: bool = False) -> None:
        """Finish what a dead process left undone in a session; JournalError if that fails.

        A process checks a session once, or `again` if other processes work on it.
        """
        if session in self._recovered and not again:
            return
        for one in unfinished(self.journal, session, self._given_up):
            _Submission(self).finish(one)
            self._given_up.discard(one.event.seq)
        if len(self._recovered) >= MAX_RECOVERED:
            self._recovered.clear()  # checking twice does no harm
        self._recovered.add(session)


def has_consequences(answer: Answer) -> bool:
    """Check whether there are plans to perform, or a denied call to answer."""
    return bool(answer.decision.plans) or answer.decision.verdict is Verdict.DENY


class _Submission:
    """One event from a host, with everything that it causes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._queue: deque[Callable[[], None]] = deque()
        self._causing = Causing()
        # Rules for which a too long chain was already reported.
        self._too_deep: set[str] = set()
        # Decisions that are not finished.
        self._open: list[int] = []

    def run(self, answer: Answer) -> Answer:
        """Perform everything that a decision causes, then its second round."""
        with self._seen_to():
            self._carry_out(answer)
        again = second_round(answer.event, answer.decision)
        if again is not None:
            answer.again = self._runtime.submit(again)
        return answer

    def finish(self, left: Unfinished) -> None:
        """Continue plans that another process had begun, and submit events it did not record."""
        answer = Answer(left.event, left.decision)
        with self._seen_to():
            self._open.append(left.event.seq)
            for step, event in untold(self._runtime.journal, left):
                if step == DENIAL:
                    self._write_denial(answer)
                self._cause(answer, event, step)
            due = left.interrupted()
            if due is not None:
                self._record_effect(answer, due, INTERRUPTED, 0)
            if left.goes_on:
                self._follow(answer, follow(left.decision, left.outcomes))

    @contextmanager
    def _seen_to(self) -> Iterator[None]:
        """Finally submit caused events and close the plans; on a journal error keep them open."""
        try:
            yield
            while self._queue:
                self._queue.popleft()()
        except JournalError:
            self._runtime.give_up(self._open)
            raise
        for seq in self._open:
            self._runtime.journal.close_plans(seq)

    def _submit(self, event: Event, owes: Debt | None = None, pays: Debt | None = None) -> Answer:
        answer = self._runtime.record(event, owes, pays)
        self._carry_out(answer)
        return answer

    def _carry_out(self, answer: Answer) -> None:
        if is_open(answer.event, answer.decision):
            self._open.append(answer.event.seq)
        denial = denial_message(answer.event, answer.decision)
        if denial is not None:
            self._write_denial(answer)
            self._cause(answer, denial, DENIAL)
        if answer.decision.plans:
            self._follow(answer, follow(answer.decision))

    def _write_denial(self, answer: Answer) -> None:
        if self._runtime.scribe is not None:
            assert isinstance(answer.event, ToolBefore)
            self._runtime.scribe.call_denied(answer.event, answer.decision)

    def _follow(self, answer: Answer, following: Following) -> None:
        """Perform step after step; commit each result before the next step begins."""
        due = _ask(answer, following.__next__)
        while due is not None:
            outcome, ms = self._perform(answer, due)
            answer.outcomes[due.number] = outcome
            self._record_effect(answer, due, outcome, ms)
            due = _ask(answer, partial(following.send, outcome))

    def _record_effect(self, answer: Answer, due: Due, outcome: StepOutcome, ms: int) -> None:
        causes = not outcome.failed and isinstance(due.step, MessageInsert | EventEmit)
        owes = (answer.event.seq, due.number) if causes else None
        told = self._submit(effect_done(answer.event, due, outcome, ms), owes=owes)
        if told.decision.plans:
            answer.caused.append(told)

    def _perform(self, answer: Answer, due: Due) -> tuple[StepOutcome, int]:
        refused = self._causing.refusal(answer.event, due.step.op)
        if refused is TOO_DEEP:
            self._cause(answer, self._told(answer, due), due.number)
        if refused is not None:
            return refused, 0
        if isinstance(due.step, ToolCall):
            return self._call(answer, due)
        outcome, ms = carried_out(due, answer.event, self._runtime.performers)
        self._cause(answer, comes_of(answer, due, outcome), due.number)
        return outcome, ms

    def _told(self, answer: Answer, due: Due) -> Message | None:
        """Report a chain that is too long; the report is not a step (CM-A32).

        Only once for each rule, because the report is a message, which the rule may answer again.
        """
        scribe, steps = self._runtime.scribe, sum(1 for _ in answer.decision.numbered_steps())
        if scribe is None or due.number > steps:  # steps of `on_error` would only repeat it
            return None
        if due.plan.uid in self._too_deep:
            return None
        self._too_deep.add(due.plan.uid)
        text = scribe.too_deep(answer.event, due)
        return in_answer(Message(role=Role.DEVELOPER, text=text), answer.event, due.plan.uid)

    def _call(self, answer: Answer, due: Due) -> tuple[StepOutcome, int]:
        """Decide a call of a rule like a call of the model, within its step."""
        before = caused_event(answer.event, due)
        assert isinstance(before, ToolBefore)
        scribe = self._runtime.scribe
        if scribe is not None:
            before = scribe.named(before)
            scribe.call_begins(before, due.plan.rule)
        judged = self._submit(before)
        answer.caused.append(judged)
        if is_refused(judged.verdict):
            self._refuse(answer, due, judged)
            return StepOutcome(EffectStatus.REFUSED, {"error": why_denied(judged)}), 0
        outcome, ms = carried_out(due, judged.event, self._runtime.performers)
        ended = call_ended(judged.event, outcome, ms)
        answer.caused.append(self._submit(ended))
        if scribe is not None:
            text = as_text(ended.result) or ended.error
            response = Message(role=Role.TOOL, text=text)
            self._cause(answer, in_answer(response, answer.event, due.plan.uid), due.number)
        return outcome, ms

    def _refuse(self, answer: Answer, due: Due, judged: Answer) -> None:
        """Answer a rule's call that was refused without a denial; a denial answers it itself."""
        ended = call_refused(judged)
        if ended is not None:
            answer.caused.append(self._submit(ended))
        scribe = self._runtime.scribe
        if scribe is None or denial_message(judged.event, judged.decision) is not None:
            return
        assert isinstance(judged.event, ToolBefore)
        text = why_denied(judged)
        scribe.call_refused(judged.event, text, due.plan.rule)
        response = Message(role=Role.TOOL, text=text)
        self._cause(answer, in_answer(response, answer.event, due.plan.uid), due.number)

    def _cause(self, answer: Answer, event: Event | None, step: int) -> None:
        if event is None:
            return

        def submit() -> None:
            answer.caused.append(self._submit(event, pays=(answer.event.seq, step)))

        self._queue.append(submit)


def _ask(answer: Answer, following: Callable[[], Due]) -> Due | None:
    """Return the next step; None at the end, which is stored in the answer."""
    try:
        return following()
    except StopIteration as end:
        answer.ending = end.value
        return None
