"""Submit an event: decide it, record it, perform its plans, and submit the events they cause.

    record (decide and commit)
          → perform plans step by step, with an `effect` record for each step
          → submit the caused events, first in, first out → a second round if a plan asks for it

If an event cannot be recorded, a gate denies it. A dry run follows the same order and performs
nothing: every step succeeds, except those that Bylaw itself refuses.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.engine.plan import (
    DONE,
    INTERRUPTED,
    TOO_DEEP,
    CauseCounter,
    DueStep,
    StepOutcome,
    caused_by_rules,
    caused_event,
    denial_message,
    follow,
    second_round,
)
from bylaw.model.codes.runtime import TOO_MANY_SESSIONS
from bylaw.model.decision import Decision
from bylaw.model.effects import SESSION_STEPS, EventEmit, MessageInsert, ToolCall
from bylaw.model.event import UNSTAMPED, EffectDone, Message, ToolBefore
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.values import as_text
from bylaw.model.vocabulary import EffectStatus, Role, Verdict, is_not_allowed
from bylaw.model.wire import EventError
from bylaw.runtime.answer import (
    Answer,
    call_end_event,
    denial_text,
    effect_event,
    event_of_step,
    refused_call_event,
    unrecorded_answer,
)
from bylaw.runtime.effects import NO_PERFORMERS, perform_step
from bylaw.runtime.needs import NO_GATHERERS, decide_with_facts
from bylaw.runtime.recorder import (
    DENIAL,
    Recorder,
    is_unfinished,
    unfinished_plans,
    unrecorded_events,
)
from bylaw.store.journal.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import DueSteps
    from bylaw.model.event import Event
    from bylaw.runtime.effects import Performers
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.recorder import UnfinishedPlan
    from bylaw.store.journal.journal import Debt, Journal
    from bylaw.store.journal.records import ActiveRuleTexts

# Sessions known to have no unfinished decision.
MAX_RECOVERED = 10_000


class Runtime:
    """The active rules, a journal, and the code that gathers facts and performs steps."""

    def __init__(
        self,
        rules: RuleSet,
        in_force: ActiveRuleTexts,
        journal: Journal,
        *,
        gatherers: Gatherers = NO_GATHERERS,
        performers: Performers = NO_PERFORMERS,
        scribe: TranscriptWriter | None = None,
    ) -> None:
        self._recorder = Recorder(rules, in_force, journal, gatherers)
        self.journal = journal
        self.performers = performers
        self.scribe = scribe
        self._recovered: set[str] = set()
        self._unfinished: set[int] = set()

    def renew(self, rules: RuleSet, in_force: ActiveRuleTexts) -> None:
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
            return unrecorded_answer(event, problem)

    def mark_unfinished(self, decisions: Iterable[int]) -> None:
        """Note decisions left open by a journal error, to finish them before the next event."""
        self._unfinished.update(decisions)

    def recover(self, session: str, *, again: bool = False) -> None:
        """Finish what a dead process left undone in a session; JournalError if that fails.

        A process checks a session once, or `again` if other processes work on it.
        """
        if session in self._recovered and not again:
            return
        for one in unfinished_plans(self.journal, session, self._unfinished):
            _Submission(self).finish(one)
            self._unfinished.discard(one.event.seq)
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
        self._causing = CauseCounter()
        # Rules for which a too long chain was already reported.
        self._too_deep: set[str] = set()
        # Decisions that are not finished.
        self._open: list[int] = []

    def run(self, answer: Answer) -> Answer:
        """Perform everything that a decision causes, then its second round."""
        with self._finish_all():
            self._perform_plans(answer)
        again = second_round(answer.event, answer.decision)
        if again is not None:
            answer.again = self._runtime.submit(again)
        return answer

    def finish(self, left: UnfinishedPlan) -> None:
        """Continue plans that another process had begun, and submit events it did not record."""
        answer = Answer(left.event, left.decision)
        with self._finish_all():
            self._open.append(left.event.seq)
            for step, event in unrecorded_events(self._runtime.journal, left):
                if step == DENIAL:
                    self._write_denial(answer)
                self._cause(answer, event, step)
            due = left.interrupted()
            if due is not None:
                self._record_effect(answer, due, INTERRUPTED, 0)
            if left.goes_on:
                self._follow(answer, follow(left.decision, left.outcomes))

    @contextmanager
    def _finish_all(self) -> Iterator[None]:
        """Finally submit caused events and close the plans; on a journal error keep them open."""
        try:
            yield
            while self._queue:
                self._queue.popleft()()
        except JournalError:
            self._runtime.mark_unfinished(self._open)
            raise
        for seq in self._open:
            self._runtime.journal.close_plans(seq)

    def _submit(self, event: Event, owes: Debt | None = None, pays: Debt | None = None) -> Answer:
        answer = self._runtime.record(event, owes, pays)
        self._perform_plans(answer)
        return answer

    def _perform_plans(self, answer: Answer) -> None:
        if is_unfinished(answer.event, answer.decision):
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

    def _follow(self, answer: Answer, following: DueSteps) -> None:
        """Perform step after step; commit each result before the next step begins."""
        due = _next_due(answer, following.__next__)
        while due is not None:
            outcome, ms = self._perform(answer, due)
            answer.outcomes[due.number] = outcome
            self._record_effect(answer, due, outcome, ms)
            due = _next_due(answer, partial(following.send, outcome))

    def _record_effect(self, answer: Answer, due: DueStep, outcome: StepOutcome, ms: int) -> None:
        causes = not outcome.failed and isinstance(due.step, MessageInsert | EventEmit)
        owes = (answer.event.seq, due.number) if causes else None
        told = self._submit(effect_event(answer.event, due, outcome, ms), owes=owes)
        if told.decision.plans:
            answer.caused.append(told)

    def _perform(self, answer: Answer, due: DueStep) -> tuple[StepOutcome, int]:
        refused = self._causing.refusal(answer.event, due.step.op)
        if refused is TOO_DEEP:
            self._cause(answer, self._too_deep_message(answer, due), due.number)
        if refused is not None:
            return refused, 0
        if isinstance(due.step, ToolCall):
            return self._call(answer, due)
        outcome, ms = perform_step(due, answer.event, self._runtime.performers)
        self._cause(answer, event_of_step(answer, due, outcome), due.number)
        return outcome, ms

    def _too_deep_message(self, answer: Answer, due: DueStep) -> Message | None:
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
        return caused_by_rules(Message(role=Role.DEVELOPER, text=text), answer.event, due.plan.uid)

    def _call(self, answer: Answer, due: DueStep) -> tuple[StepOutcome, int]:
        """Decide a call of a rule like a call of the model, within its step."""
        before = caused_event(answer.event, due)
        assert isinstance(before, ToolBefore)
        scribe = self._runtime.scribe
        if scribe is not None:
            before = scribe.named(before)
            scribe.call_begins(before, due.plan.rule)
        judged = self._submit(before)
        answer.caused.append(judged)
        if is_not_allowed(judged.verdict):
            self._refuse(answer, due, judged)
            return StepOutcome(EffectStatus.REFUSED, {"error": denial_text(judged)}), 0
        outcome, ms = perform_step(due, judged.event, self._runtime.performers)
        ended = call_end_event(judged.event, outcome, ms)
        answer.caused.append(self._submit(ended))
        if scribe is not None:
            text = as_text(ended.result) or ended.error
            response = Message(role=Role.TOOL, text=text)
            self._cause(answer, caused_by_rules(response, answer.event, due.plan.uid), due.number)
        return outcome, ms

    def _refuse(self, answer: Answer, due: DueStep, judged: Answer) -> None:
        """Answer a rule's call that was refused without a denial; a denial answers it itself."""
        ended = refused_call_event(judged)
        if ended is not None:
            answer.caused.append(self._submit(ended))
        scribe = self._runtime.scribe
        if scribe is None or denial_message(judged.event, judged.decision) is not None:
            return
        assert isinstance(judged.event, ToolBefore)
        text = denial_text(judged)
        scribe.call_refused(judged.event, text, due.plan.rule)
        response = Message(role=Role.TOOL, text=text)
        self._cause(answer, caused_by_rules(response, answer.event, due.plan.uid), due.number)

    def _cause(self, answer: Answer, event: Event | None, step: int) -> None:
        if event is None:
            return

        def submit() -> None:
            answer.caused.append(self._submit(event, pays=(answer.event.seq, step)))

        self._queue.append(submit)


def _next_due(answer: Answer, following: Callable[[], DueStep]) -> DueStep | None:
    """Return the next step; None at the end, which is stored in the answer."""
    try:
        return following()
    except StopIteration as end:
        answer.ending = end.value
        return None


# Sessions stay in memory during a dry run; a stream with a new name each time must not fill it.
MAX_SESSIONS = 100_000

NOT_DONE = StepOutcome(EffectStatus.NOT_CARRIED_OUT)
DENIED = StepOutcome(EffectStatus.REFUSED, {"error": "the call was denied"})


class DryRunResult(Struct):
    """An event with its facts, its decision, and the events that it causes, in order.

    `outcomes` are the results of its steps by number. A step without one was dropped, or only
    changes the session. `on_error` lists the steps of `on_error` that were due.
    """

    event: Event
    decision: Decision = field(default_factory=Decision)
    outcomes: dict[int, StepOutcome] = field(default_factory=dict)
    on_error: list[DueStep] = field(default_factory=list)
    caused: list[DryRunResult] = field(default_factory=list)


class DryRun:
    """A dry run with its sessions by id, in memory."""

    def __init__(self, rules: RuleSet, gatherers: Gatherers = NO_GATHERERS) -> None:
        self.rules = rules
        self.gatherers = gatherers
        self.sessions: dict[str, Session] = {}
        self._seq = 0

    def session(self, name: str) -> Session:
        """Return the current state of a session; a new one if it has no events."""
        return self.sessions.get(name) or Session(id=name)

    def submit(self, event: Event) -> DryRunResult:
        """Decide an event and all that it causes; EventError if there are too many sessions."""
        if event.session not in self.sessions and len(self.sessions) >= MAX_SESSIONS:
            message = f"the events have more than {MAX_SESSIONS:,} sessions"
            raise EventError(TOO_MANY_SESSIONS.name, message)
        return _DrySubmission(self, self._stamp(event)).run()

    def _stamp(self, event: Event) -> Event:
        """Add a number among all events, and a time not before the last one of the session."""
        seq = self._seq + 1 if event.seq == UNSTAMPED else event.seq
        self._seq = max(self._seq, seq)
        last = self.session(event.session).at
        at = last + 1 if event.at == UNSTAMPED else max(last, event.at)
        return replace(event, seq=seq, at=at)


class _DrySubmission:
    """One event from outside with everything that it causes."""

    def __init__(self, rehearsal: DryRun, event: Event) -> None:
        self._rehearsal = rehearsal
        self._first = DryRunResult(event)
        self._queue: deque[DryRunResult] = deque()
        self._numbered = 0
        self._made = 0
        self._causing = CauseCounter()

    def run(self) -> DryRunResult:
        self._decide(self._first)
        while self._queue:
            self._decide(self._queue.popleft())
        return self._first

    def _decide(self, one: DryRunResult) -> None:
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

    def _follow(self, one: DryRunResult) -> None:
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
                self._fold_result(one.event, due, outcome)
            due = _send_outcome(following, outcome)

    def _outcome(self, one: DryRunResult, due: DueStep, before: int) -> StepOutcome:
        if isinstance(due.step, SESSION_STEPS):
            # A dry run does not apply steps of `on_error`: what they would change stays as it is.
            in_plan = any(step is due.step for step in due.plan.steps)
            return DONE if in_plan else NOT_DONE
        refused = self._causing.refusal(one.event, due.step.op)
        if refused is not None:
            return refused
        made_by = replace(one.event, seq=self._first.event.seq)
        event = caused_event(made_by, DueStep(before + due.number, due.plan, due.step))
        if event is None:
            return DONE
        caused = self._cause(one, event)
        if not isinstance(due.step, ToolCall):
            self._queue.append(caused)
            return DONE
        self._decide(caused)
        if not is_not_allowed(caused.decision.verdict):
            return DONE
        self._end_refused_call(caused)
        return DENIED

    def _end_refused_call(self, caused: DryRunResult) -> None:
        """Close a pending call that is refused because a person would have to allow it."""
        ended = refused_call_event(Answer(caused.event, caused.decision))
        if ended is not None:
            name = ended.session
            session = self._rehearsal.session(name)
            self._rehearsal.sessions[name] = fold(session, ended, Decision())

    def _fold_result(self, event: Event, due: DueStep, outcome: StepOutcome) -> None:
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

    def _cause(self, one: DryRunResult, event: Event) -> DryRunResult:
        self._made += 1
        # The number is never printed. It only distinguishes the effects within the session.
        caused = DryRunResult(replace(event, at=one.event.at, seq=-1 - self._made))
        one.caused.append(caused)
        return caused


def _count_steps(decision: Decision) -> int:
    return sum(len(plan.steps) + len(plan.on_error) for plan in decision.plans)


def _send_outcome(following: DueSteps, outcome: StepOutcome) -> DueStep | None:
    try:
        return following.send(outcome)
    except StopIteration:
        return None


class TranscriptWriter(Protocol):
    """Writes transcript entries that are not steps."""

    def named(self, before: ToolBefore) -> ToolBefore:
        """Return the call of a rule with the other names of its tool."""

    def call_begins(self, before: ToolBefore, rule: str) -> None:
        """Write that a rule calls a tool; the call is not decided yet."""

    def call_denied(self, before: ToolBefore, decision: Decision) -> None:
        """Write the answer to a denied call, before anything else happens.

        Called again after a process died, which may already have written it.
        """

    def call_refused(self, before: ToolBefore, text: str, rule: str) -> None:
        """Write that the call of a rule was not made, and that no denial has answered it."""

    def too_deep(self, event: Event, due: DueStep) -> str:
        """Write that a step was refused because its chain is too long; return the text."""
