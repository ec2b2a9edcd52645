"""Decision and outcomes so far → the step that is due, and the events that steps cause.

The runtime performs each step and returns its outcome. Everything that depends on failures is
decided here. A text is filled in once with earlier outcomes and is plain from then on. The chain of
rules keeps everything finite: the steps of a rule are suppressed on events that it caused, and no
step may make a chain longer than its limit.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from bylaw.model.decision import OnFailure, Plan, immediate_steps
from bylaw.model.effects import (
    AgentRun,
    ApprovalRequest,
    BusWrite,
    CommandRun,
    EntryWrite,
    EventEmit,
    MessageInsert,
    Outcome,
    OutcomePart,
    OutputReplace,
    Step,
    ToolCall,
)
from bylaw.model.event import UNSTAMPED, Custom, HistoryChanged, Message, ToolBefore
from bylaw.model.facts import Facts, LawFacts, WorkFacts
from bylaw.model.values import JSON, as_text
from bylaw.model.vocabulary import EffectStatus, EntryStatus, Op, Role, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.decision import Decision, NumberedSteps
    from bylaw.model.effects import Text
    from bylaw.model.event import Event

# A result may be long and may be used often. Longer texts are cut and end in CUT.
MAX_FILLED_CHARS = 1_000_000
CUT = "…"


class StepOutcome(Struct, frozen=True, forbid_unknown_fields=True):
    """How a step ended, with the `result` of its `effect` event.

    A result that is an object has its parts by name (`error`, `exit_code`, `result`, `count`). Any
    other is the error of a step that failed, or the result of one that did not.
    """

    status: EffectStatus
    result: JSON = None

    @property
    def failed(self) -> bool:
        """Whether the status is anything but ok.

        A step that a host cannot carry out was not done: a command must not run without the lock
        before it, and an entry must not pass without its command.
        """
        return self.status is not EffectStatus.OK

    def says(self, part: OutcomePart) -> JSON:
        """Return one part, or None if this outcome does not have it."""
        if isinstance(self.result, dict):
            said = self.result.get(part.value)
        else:
            whole = OutcomePart.ERROR if self.failed else OutcomePart.RESULT
            said = self.result if part is whole else None
        if said is None and part is OutcomePart.ERROR and self.failed:
            return self.status.value  # every failure has an error text
        return said


DONE = StepOutcome(EffectStatus.OK)

# The outcome of a step that had started when its process died. It is never started again.
INTERRUPTED = StepOutcome(EffectStatus.FAILED, {"error": "interrupted"})


def fill(step: Step, outcomes: Sequence[StepOutcome]) -> Step:
    """Return the step with plain texts. The outcomes are those of its plan, oldest first."""
    match step:
        case MessageInsert() | BusWrite() | ApprovalRequest() | OutputReplace():
            return replace(step, text=fill_text(step.text, outcomes))
        case AgentRun():
            return replace(step, input=fill_text(step.input, outcomes))
        case EntryWrite(result=text) if text is not None:
            return replace(step, result=fill_text(text, outcomes))
    return step


def fill_text(text: Text, outcomes: Sequence[StepOutcome]) -> str:
    """Return a text with its references filled in. A part that no outcome has is empty."""
    if isinstance(text, str):
        return text
    pieces = (text,) if isinstance(text, Outcome) else text
    parts = {part: _newest(part, outcomes) for part in OutcomePart}
    return _join(parts[piece.outcome] if isinstance(piece, Outcome) else piece for piece in pieces)


def _newest(part: OutcomePart, outcomes: Sequence[StepOutcome]) -> str:
    # The newest that has this part: releasing a lock in between must not hide an exit code.
    said = (outcome.says(part) for outcome in reversed(outcomes))
    return next((as_text(value) for value in said if value is not None), "")


def _join(pieces: Iterable[str]) -> str:
    kept: list[str] = []
    room = MAX_FILLED_CHARS
    for piece in pieces:
        kept.append(piece[:room])
        if len(piece) > room:
            kept.append(CUT)
            break
        room -= len(piece)
    return "".join(kept)


class DueStep(Struct, frozen=True):
    """The step to perform now, with its texts filled in, and its plan."""

    number: int
    plan: Plan
    step: Step


class Failure(Struct, frozen=True):
    """A plan that failed, and the outcome that made it fail."""

    plan: Plan
    outcome: StepOutcome


class PlanEnd(Struct, frozen=True):
    """No more steps are due. `failures` are in the order of the plans."""

    failures: tuple[Failure, ...] = ()

    @property
    def halted(self) -> Failure | None:
        """The failure that stopped everything after it. The answer is then halt."""
        halts = (f for f in self.failures if f.plan.on_failure is OnFailure.HALT)
        return next(halts, None)


Outcomes: TypeAlias = Mapping[int, StepOutcome]
NO_OUTCOMES: Outcomes = MappingProxyType({})

DueSteps: TypeAlias = Generator[DueStep, StepOutcome, PlanEnd]
_PlanSteps: TypeAlias = Generator[DueStep, StepOutcome, StepOutcome | None]


def next_step(decision: Decision, outcomes: Outcomes = NO_OUTCOMES) -> DueStep | PlanEnd:
    """Return the step that is due after these outcomes, which are by step number."""
    try:
        return next(follow(decision, outcomes))
    except StopIteration as end:
        ending: PlanEnd = end.value
        return ending


def follow(decision: Decision, outcomes: Outcomes = NO_OUTCOMES) -> DueSteps:
    """Yield each due step, receive its outcome, return the ending.

    Steps with an earlier outcome are not yielded again, so a plan can continue after a crash.
    """
    failures: list[Failure] = []
    ended: set[str] = set()
    folded = immediate_steps(decision.plans)
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
    return PlanEnd(tuple(failures))


def _follow_plan(
    plan: Plan, steps: NumberedSteps, on_error: NumberedSteps, outcomes: Outcomes
) -> _PlanSteps:
    known: list[StepOutcome] = []
    for place, (number, step) in enumerate(steps, 1):
        known.append((yield from _perform(DueStep(number, plan, fill(step, known)), outcomes)))
        if known[-1].failed:
            told = tuple(known)
            yield from _perform_sibling_runs(plan, steps[place - 1 :], known, outcomes)
            yield from _recover(
                plan, (*_failed_entries(plan, steps[place:]), *on_error), told, outcomes
            )
            return told[-1]
    if not plan.broken:
        return None
    known.append(StepOutcome(EffectStatus.FAILED, {"error": plan.broken}))
    yield from _recover(plan, on_error, known, outcomes)
    return known[-1]


def _perform_sibling_runs(
    plan: Plan, steps: NumberedSteps, known: list[StepOutcome], outcomes: Outcomes
) -> Generator[DueStep, StepOutcome, None]:
    """Perform the runs that belong to the same entry as the first of these steps, which failed.

    The runs for one entry are independent: one that fails does not prevent the others. After an
    interruption no other run starts, because it is unknown which of them took place.
    """
    if plan.on_failure is not OnFailure.MARK_ENTRY or not _is_run(steps[0]):
        return
    for number, step in takewhile(_is_run, steps[1:]):
        if known[-1] == INTERRUPTED:
            return
        known.append((yield from _perform(DueStep(number, plan, fill(step, known)), outcomes)))


def _is_run(one: tuple[int, Step]) -> bool:
    return isinstance(one[1], CommandRun)


def _recover(
    plan: Plan, steps: NumberedSteps, known: Sequence[StepOutcome], outcomes: Outcomes
) -> Generator[DueStep, StepOutcome, None]:
    # Each is tried once, and its failure does not stop the others. All report the first failure,
    # not each other's, so their own outcomes are not added to the known ones.
    for number, step in steps:
        yield from _perform(DueStep(number, plan, fill(step, known)), outcomes)


def _failed_entries(plan: Plan, dropped: NumberedSteps) -> NumberedSteps:
    # An entry that the plan would have passed is written as failed, under the same number. Other
    # entries are dropped with the rest: an entry that waits for a promise never fails.
    if plan.on_failure is not OnFailure.MARK_ENTRY:
        return ()
    return tuple(
        (number, replace(step, status=EntryStatus.FAILED))
        for number, step in dropped
        if isinstance(step, EntryWrite) and step.status is EntryStatus.PASSED
    )


def _perform(due: DueStep, outcomes: Outcomes) -> Generator[DueStep, StepOutcome, StepOutcome]:
    recorded = outcomes.get(due.number)
    return recorded if recorded is not None else (yield due)


MAX_CHAIN = 8
# Chains are short, but many rules could make a wide tree of them.
MAX_CAUSED = 1_000

CAUSING_OPS = frozenset(
    {Op.MESSAGE_INSERT, Op.EVENT_EMIT, Op.TOOL_CALL, Op.AGENT_RUN, Op.HISTORY_COMPACT}
)

# The outcome of a step that is refused because of `too_deep`.
TOO_DEEP = StepOutcome(
    EffectStatus.REFUSED, {"error": f"a chain of rules has at most {MAX_CHAIN} links"}
)

# The outcome of a step that would cause one event too many.
TOO_MANY = StepOutcome(
    EffectStatus.REFUSED, {"error": f"one event causes at most {MAX_CAUSED:,} others"}
)

# Facts that a plan cannot change. All others are gathered again for the events that it causes.
_LASTING_FACTS = ("token_budget", "context_window", "user", "project", "scripts", "disabled")

CausedEvent = TypeVar("CausedEvent", Message, Custom, ToolBefore, HistoryChanged)


def is_too_deep(event: Event, op: Op) -> bool:
    """Whether a step with this op, in a decision on this event, is refused."""
    return op in CAUSING_OPS and len(event.cause) >= MAX_CHAIN


class CauseCounter:
    """Counts the steps that cause something after one event, over all chains."""

    def __init__(self) -> None:
        self._made = 0

    def refusal(self, event: Event, op: Op) -> StepOutcome | None:
        """Return the outcome of a refused step, or None. Counts steps that cause something."""
        if op not in CAUSING_OPS:
            return None
        if is_too_deep(event, op):
            return TOO_DEEP
        if self._made >= MAX_CAUSED:
            return TOO_MANY
        self._made += 1
        return None


def chain(event: Event, *uids: str) -> tuple[str, ...]:
    """Return the cause of an event that these rules caused in answer to another.

    Many rules may deny one call. Those that do not fit into the chain cannot act on its answer
    anyway, since no step is performed there.
    """
    return tuple(dict.fromkeys((*event.cause, *uids)))[:MAX_CHAIN]


def caused_event(event: Event, due: DueStep) -> Message | Custom | ToolBefore | None:
    """Return the event that a step causes; for a tool call, the one that is decided first.

    The host adds the other names of a tool, since it knows them. The `history` event of a
    compaction and the events of an agent come from outside, with `chain` as their cause.
    """
    uid, step = due.plan.uid, due.step
    match step:
        case MessageInsert():
            message = Message(role=step.role, text=fill_text(step.text, ()))
            return caused_by_rules(message, event, uid)
        case EventEmit():
            return caused_by_rules(Custom(type=step.type, payload=step.payload), event, uid)
        case ToolCall():
            call = f"rule-{event.seq}-{due.number}"
            return caused_by_rules(
                ToolBefore(tool=step.tool, args=step.args, call=call), event, uid
            )
    return None


def denial_message(event: Event, decision: Decision) -> Message | None:
    """Return the tool's answer to a denied call. It is queued before what the plans cause.

    A halted call has none: the turn ends with the payload. The answer is not a step, so it is never
    too deep: every denied call is answered.
    """
    if not isinstance(event, ToolBefore) or decision.verdict is not Verdict.DENY:
        return None
    denials = [reason for reason in decision.reasons if reason.verdict is Verdict.DENY]
    text = "\n".join(reason.text for reason in denials)
    message = Message(role=Role.TOOL, text=text)
    return caused_by_rules(message, event, *(reason.uid for reason in denials))


def second_round(event: Event, decision: Decision) -> Event | None:
    """Return the event to submit again after all plans, without facts that they may have changed.

    It is submitted even if plans failed, because the first round skipped rules of the last one.
    """
    if event.round > 1 or not decision.needs_second_round:
        return None
    return replace(
        event, round=2, seq=UNSTAMPED, at=UNSTAMPED, facts=_without_gathered(event.facts)
    )


def caused_by_rules(caused: CausedEvent, event: Event, *uids: str) -> CausedEvent:
    """Return an event as one that these rules caused in answer to another."""
    # The actor is not copied: a rule did this, and the cause names it.
    lasting = {name: getattr(event.facts, name) for name in _LASTING_FACTS}
    return replace(
        caused,
        session=event.session,
        agent=event.agent,
        cause=chain(event, *uids),
        facts=replace(caused.facts, **lasting),
    )


def _without_gathered(facts: Facts) -> Facts:
    match facts:
        case WorkFacts():
            return replace(facts, unknown=(), changes=UNSET, entries=UNSET)
        case LawFacts():
            return replace(facts, unknown=(), approvals=UNSET)
    return replace(facts, unknown=())
