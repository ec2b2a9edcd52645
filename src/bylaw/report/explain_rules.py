"""Explain single rules: result types, limits, gates, and the facts that guards read.

The event is decided again by the slow path, because it evaluates every guard. Guards of the
selected rules are wrapped to record each evaluation. Texts are not escaped yet. `LimitState`,
`GateState` and `NumberedText` are printed as JSON with these field names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.engine.decide import decide_slow
from bylaw.engine.gates import approving_authorities, is_open
from bylaw.engine.index import RuleSet
from bylaw.engine.view import MissingFact, View
from bylaw.model.calls import NEVER_HAPPENED
from bylaw.model.decision import Decision, Needs
from bylaw.model.event import ToolAfter, ToolBefore
from bylaw.model.fold import observe
from bylaw.model.rule import (
    ApprovalGate,
    CategoryGate,
    EnabledGate,
    PhaseGate,
    Rounds,
    message_field,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from bylaw.expr.evaluation_trace import ExpressionTrace
    from bylaw.model.decision import Match, Need, Plan, Reason, TraceLine, TraceResult
    from bylaw.model.effects import Step
    from bylaw.model.event import Event
    from bylaw.model.procedure import Book, Group
    from bylaw.model.rule import Gate, Guard, Rule
    from bylaw.model.rule import View as AnyView
    from bylaw.model.session import Session
    from bylaw.model.values import JSON
    from bylaw.store.journal.records import StoredRecord


class NumberedText(Struct, frozen=True):
    """Lines of a stored file, from `line` on."""

    path: str
    line: int
    lines: tuple[str, ...]


class FactRead(Struct, frozen=True):
    """A fact that a guard read, and the answer. For a script, also its text and its input."""

    name: str
    key: str
    found: JSON
    known: bool
    script: NumberedText | None = None
    input: JSON = None


class LimitState(Struct, frozen=True):
    """A limit of a rule. `counted`: turns or milliseconds since the rule fired last."""

    name: str
    value: int
    fired: int
    last_at: int
    last_turn: int
    counted: int
    closed: bool


class GateState(Struct, frozen=True):
    """A gate of a rule: what it needs and what it found."""

    name: str
    wants: str
    found: str
    open: bool


class ExplainedRule(Struct, frozen=True, kw_only=True):
    """A rule at a record. Without `result` it was not evaluated, and `detail` gives the reason."""

    uid: str
    id: str
    file: str
    line: int
    result: TraceResult | None
    detail: str
    text: NumberedText | None = None
    guard: ExpressionTrace | None = None
    checks: tuple[ExpressionTrace, ...] = ()
    asked: tuple[FactRead, ...] = ()
    match: dict[str, JSON] | None = None
    limits: tuple[LimitState, ...] = ()
    gates: tuple[GateState, ...] = ()


class ExplainedStep(Struct, frozen=True):
    """A step of a plan with its number and outcome. `status` also covers unfinished steps."""

    number: int
    plan: Plan
    step: Step
    status: str
    result: JSON = None
    ms: int | None = None


class Explanation(Struct, frozen=True):
    """A record with its reasons, rules and steps. `notes` say what is missing or uncertain.

    If one rule is selected, reasons and steps are those of that rule.
    """

    stored: StoredRecord
    reasons: tuple[Reason, ...] = ()
    rules: tuple[ExplainedRule, ...] = ()
    steps: tuple[ExplainedStep, ...] = ()
    notes: tuple[str, ...] = ()


def limit_states(rule: Rule, view: View) -> Iterator[LimitState]:
    """Yield each limit. `closed` says whether it applies now."""
    limits, last = rule.limits, view.session.firings.get(rule.uid)
    fired = (0, 0, 0) if last is None else (last.count, last.at, last.turn)
    turns = 0 if last is None else view.session.turn - last.turn
    passed = 0 if last is None else view.now - last.at
    if limits.once:
        yield LimitState("once", 1, *fired, 0, last is not None)
    if limits.cooldown_turns:
        # The turn in which the rule fired is not one of the turns to wait.
        closed = last is not None and turns <= limits.cooldown_turns
        counted = max(turns - 1, 0)
        yield LimitState("cooldown_turns", limits.cooldown_turns, *fired, counted, closed)
    if limits.cooldown_ms:
        closed = last is not None and passed < limits.cooldown_ms
        yield LimitState("cooldown_ms", limits.cooldown_ms, *fired, passed, closed)


def gate_states(rule: Rule, view: View) -> Iterator[GateState]:
    """Yield each gate, open or closed."""
    for gate in rule.gates:
        try:
            yield GateState(*_describe_gate(gate, view), is_open(gate, view))
        except MissingFact:
            yield GateState("approval", "an approval", "not in the record", open=False)


def _describe_gate(gate: Gate, view: View) -> tuple[str, str, str]:
    match gate:
        case EnabledGate():
            enabled = getattr(view.slate.enabled, gate.within.value)
            return f"enabled {gate.within.value}", gate.id, _comma_list(enabled)
        case PhaseGate():
            phase = getattr(view.event.facts, "phase", None)
            return (
                "phase",
                _comma_list(gate.phases),
                str(phase) if isinstance(phase, int) else "none",
            )
        case CategoryGate():
            return (
                "category",
                _comma_list(gate.categories),
                str(message_field(view.event, "category")),
            )
        case ApprovalGate():
            return (
                "approval",
                f"{gate.mode} of {_comma_list(gate.authorities)}",
                _approvals(gate, view),
            )


def _approvals(gate: ApprovalGate, view: View) -> str:
    return _comma_list(sorted(approving_authorities(gate, view)))


def _comma_list(values: Sequence[object]) -> str:
    return ", ".join(map(str, values)) or "none"


def reason_inactive(rule: Rule, event: Event) -> str:
    """Return the reason why a rule is not active for an event."""
    if not rule.enabled:
        return "it is disabled in its file"
    if rule.uid in (event.facts.disabled or ()):
        return "it is disabled"
    return "the event gets another round, and the rule runs only in the last one"


def reason_not_evaluated(rule: Rule, event: Event) -> str:
    """Return the reason why a rule was not evaluated for an event."""
    if event.kind not in rule.on.kinds:
        return f"it fires on {_comma_list(rule.on.kinds)}, and this event is {event.kind}"
    if isinstance(event, ToolAfter) and event.status in NEVER_HAPPENED:
        return f"the call was {event.status} and did not run, so it triggers no rule"
    if isinstance(event, ToolAfter) and rule.on.status and event.status not in rule.on.status:
        return (
            f"it fires on calls that ended with {_comma_list(rule.on.status)}, not {event.status}"
        )
    if rule.on.rounds is Rounds.FIRST and event.round > 1:
        return "it fires in the first round of an event, and this is the second"
    if isinstance(event, ToolBefore | ToolAfter) and not _matches_tool(rule, event):
        return f"it fires on the tool {_comma_list(rule.filter.tools)}, not {event.tool}"
    return "an earlier rule ended its group, or its filter does not match the event"


def _matches_tool(rule: Rule, event: ToolBefore | ToolAfter) -> bool:
    names = {event.tool, *event.also}
    return not rule.filter.tools or not names.isdisjoint(rule.filter.tools)


class FactAnswer(NamedTuple):
    """A fact that a guard asked for. `found` is None if there was no answer."""

    need: Need
    found: object


class GuardQuestion(NamedTuple):
    """One evaluation of a guard: its view, the facts that it read, and the result."""

    rule: Rule
    view: View
    answered: tuple[FactAnswer, ...]
    match: Match | None
    failed: bool


class GuardTrace(Struct, frozen=True):
    """The trace of an event that was decided again, and the evaluations of guards by uid.

    `missing` are facts that are not recorded. If there are any, the decision is unknown.
    """

    view: View
    trace: dict[str, TraceLine]
    questions: dict[str, GuardQuestion]
    missing: tuple[Need, ...] = ()


class _RecordingView(View):
    """A view that records which facts are read."""

    answered: dict[Need, FactAnswer] = field(default_factory=dict)

    def fact(self, need: Need) -> object:
        """Record the fact and return it."""
        self.answered[need] = FactAnswer(need, None)
        found = View.fact(self, need)
        self.answered[need] = FactAnswer(need, found)
        return found


class _RecordingGuard(Struct):
    """A guard that records each of its evaluations."""

    rule: Rule
    guard: Guard
    questions: list[GuardQuestion]

    def test(self, view: AnyView) -> Match | Needs | None:
        """Record the evaluation and return its result."""
        assert isinstance(view, View)
        seen = _RecordingView(
            view.session, view.event, view.slate, view.now, view.line, view.visited, {}
        )
        found: Match | Needs | None = None
        failed = True
        try:
            # Read every declared fact: a guard with a cached result does not ask for them again.
            for need in self.rule.needs:
                seen.fact(need)
            found = self.guard.test(seen)
            failed = False
        finally:
            match = None if isinstance(found, Needs) else found
            answered = tuple(seen.answered.values())
            self.questions.append(GuardQuestion(self.rule, seen, answered, match, failed))
        return found


class _GuardRecorder(Struct):
    uids: Container[str]
    questions: list[GuardQuestion] = field(default_factory=list)

    def book(self, book: Book) -> Book:
        return replace(book, groups=tuple(map(self._group, book.groups)))

    def _group(self, group: Group) -> Group:
        closing = tuple(map(self._rule, group.procedure.closing))
        procedure = replace(group.procedure, closing=closing)
        return replace(group, procedure=procedure, rules=tuple(map(self._rule, group.rules)))

    def _rule(self, rule: Rule) -> Rule:
        if rule.guard is None or rule.uid not in self.uids:
            return rule
        return replace(rule, guard=_RecordingGuard(rule, rule.guard, self.questions))


def decide_again(
    books: Iterable[Book], session: Session, event: Event, uids: Container[str]
) -> GuardTrace:
    """Decide an event with a session, and record the guards of the rules with these uids."""
    witness = _GuardRecorder(uids)
    rules = RuleSet(map(witness.book, books), fast=False)
    observed = observe(session, event)
    answer = decide_slow(rules, observed, event)
    trace = answer.trace if isinstance(answer, Decision) else ()
    return GuardTrace(
        View.of(observed, event),
        {line.uid: line for line in trace},
        _decisive_questions(witness.questions),
        answer.needs if isinstance(answer, Needs) else (),
    )


def _decisive_questions(askings: Iterable[GuardQuestion]) -> dict[str, GuardQuestion]:
    """Keep for each uid the first evaluation that matched or failed, else the last one."""
    found: dict[str, GuardQuestion] = {}
    for one in askings:
        before = found.get(one.rule.uid)
        if before is None or (before.match is None and not before.failed):
            found[one.rule.uid] = one
    return found
