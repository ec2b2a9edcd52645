"""A ChatMD file → rules that the engine runs, in two groups, and what these rules can start.

The groups are the policy and the rules. Built-in rules report guards and actions that failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.expr.views import guard_reader
from bylaw.languages.base import FixedReason, Launch, LaunchKind, LoadResult, VisitOrder
from bylaw.languages.chatmd import NAME, POLICY_GROUP, RULES_GROUP
from bylaw.languages.chatmd.actions import (
    ActionsNoteMaker,
    AgentRunMaker,
    CallMaker,
    CheckForm,
    CompactMaker,
    ComputedCallMaker,
    ConstraintReason,
    CooldownCheck,
    InsertMaker,
    QuotaCheck,
    RequiresCheck,
    SetMaker,
    ValidateCheck,
    WarningMaker,
    action_label,
    failure_note,
    is_decision,
)
from bylaw.languages.chatmd.elements import ExpressionReader
from bylaw.languages.chatmd.header import AgentTool, CommandTool, McpTools
from bylaw.languages.chatmd.reader import read_file
from bylaw.languages.chatmd.syntax import (
    CallTool,
    Compact,
    Cooldown,
    Deny,
    EventName,
    ExpressionText,
    Insert,
    InvalidBody,
    Level,
    Mode,
    Quota,
    Requires,
    RunAgent,
    SetVariable,
    Stop,
    Validate,
)
from bylaw.model.diagnostic import has_errors
from bylaw.model.effects import MessageInsert
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import (
    BUILT_IN,
    NO_FILTER,
    NO_LIMITS,
    Filter,
    Limits,
    Origin,
    PlanForm,
    Rule,
    RuleVerdict,
    Trigger,
    built_in_uid,
    uid_of,
)
from bylaw.model.session import variable_space
from bylaw.model.vocabulary import Kind, Op, Role, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.languages.base import RuleFile
    from bylaw.languages.chatmd.elements import ElementReader
    from bylaw.languages.chatmd.header import Tool
    from bylaw.languages.chatmd.syntax import (
        Action,
        Constraint,
        ConstraintSyntax,
        FileSyntax,
        RuleSyntax,
    )
    from bylaw.model.decision import Match
    from bylaw.model.diagnostic import FindingList
    from bylaw.model.effects import Step
    from bylaw.model.procedure import Book
    from bylaw.model.rule import Guard, StepMaker, View
    from bylaw.model.source import Span


class GuardErrorReason(Struct, frozen=True):
    """The reason to deny a call if a guard could not be evaluated (CM-A20)."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - names of ReasonMaker
        """Return the text."""
        return f"guard error in {match.values['rule']}"


class FailureNoteMaker(Struct, frozen=True):
    """Makes a developer message about a guard or an action that failed."""

    what: str
    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the message with the rule and the error."""
        text = f"{self.what.format(match.values['rule'])}: {match.values['error']}"
        return (MessageInsert(role=Role.DEVELOPER, text=text),)


def _failure_rule(rule_id: str, what: str) -> Rule:
    return Rule(
        uid=built_in_uid(NAME, rule_id),
        id=rule_id,
        origin=Origin(BUILT_IN, 1, 1, ""),
        on=Trigger(kinds=tuple(Kind)),
        plan=PlanForm(steps=(FailureNoteMaker(what),)),
        free=True,
    )


_GUARD_ERROR = _failure_rule("guard-error", "guard error in {}")
_STEP_ERROR = _failure_rule("step-error", "action of {} failed")
# Ranks 1 to 4 are requires, validate, quota and cooldown (CM-A36).
POLICY = Procedure(
    order=(SortKey.RANK, SortKey.SOURCE),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.DROP_REST_WITH_NOTE,
    fault_reason=GuardErrorReason(),
)


def rules_procedure(budget: int, call_budget: int) -> Procedure:
    """Return the procedure of the rules, with the limits of actions and calls per event."""
    return Procedure(
        order=(SortKey.PRIORITY_ASCENDING, SortKey.SOURCE),
        flow=Flow.UNTIL_LAST,
        guard_error=GuardFault.SKIP_WITH_NOTE,
        failed_step=StepFault.DROP_REST_WITH_NOTE,
        budget=budget,
        call_budget=call_budget,
        quiet_after_deny=True,
        fault_reason=GuardErrorReason(),
        fault_note=_GUARD_ERROR,
        step_note=_STEP_ERROR,
    )


# CM-A36: the order in which the constraints of a call are evaluated.
_RANKS: dict[type[Constraint], int] = {Requires: 1, Validate: 2, Quota: 3, Cooldown: 4}


TRIGGERS = {
    EventName.TURN_START: Trigger.of_main_agent(Kind.TURN_START),
    EventName.TURN_END: Trigger.of_main_agent(Kind.TURN_END),
    EventName.PRE_TOOL_CALL: Trigger.once(Kind.TOOL_BEFORE),
    EventName.POST_TOOL_RESPONSE: Trigger.once(Kind.TOOL_AFTER),
    EventName.MESSAGE_APPENDED: Trigger.of_main_agent(Kind.MESSAGE),
}


def lower_file(
    written: FileSyntax,
    file: RuleFile,
    findings: FindingList,
    place: Callable[[ElementReader], Span],
) -> tuple[Group, Group]:
    """Lower a file to its groups. Adds findings about its expressions."""
    lowering = _Lowerer(written, file, findings, place)
    procedure = rules_procedure(written.max_actions, written.max_calls)
    policy = tuple(map(lowering.constraint, written.constraints))
    rules = tuple(map(lowering.rule, written.rules))
    return _groups(policy, rules, procedure)


def empty_groups() -> tuple[Group, Group]:
    """Return the groups of a file without rules."""
    return _groups((), (), rules_procedure(1, 1))


def _groups(
    policy: tuple[Rule, ...], rules: tuple[Rule, ...], procedure: Procedure
) -> tuple[Group, Group]:
    return (
        Group(POLICY_GROUP, VisitOrder.CHATMD_POLICY, POLICY, policy),
        Group(RULES_GROUP, VisitOrder.CHATMD_RULES, procedure, rules),
    )


class _Lowerer:
    """Lowers one file."""

    def __init__(
        self,
        written: FileSyntax,
        file: RuleFile,
        findings: FindingList,
        place: Callable[[ElementReader], Span],
    ) -> None:
        self._file = file
        self._place = place
        self._trace = written.trace
        self._space = variable_space(NAME, file.path)
        reader = guard_reader(self._space, uid_of(NAME, file.path, ""))
        ids = frozenset(rule.id for rule in written.rules)
        self._formulas = ExpressionReader(findings, written.variables, ids, reader)

    def rule(self, rule: RuleSyntax) -> Rule:
        has_call = rule.event.has_call
        makers = (
            self._maker(one, has_call=has_call) for one in rule.actions if not is_decision(one)
        )
        return Rule(
            uid=uid_of(NAME, self._file.path, rule.id),
            id=rule.id,
            origin=self._origin(rule.element),
            on=TRIGGERS[rule.event],
            filter=Filter(tools=(rule.tool,)) if rule.tool else NO_FILTER,
            limits=_limits(rule),
            guard=self._guard(rule),
            judgement=_verdict_of_rule(rule),
            plan=PlanForm(
                steps=tuple(makers),
                on_error=(failure_note(rule.id),),
                summary=ActionsNoteMaker.of(rule) if self._trace else None,
            ),
            priority=rule.priority,
            last=any(isinstance(action, Stop) for action in rule.actions),
            about=_about(rule),
        )

    def _guard(self, rule: RuleSyntax) -> Guard | None:
        if rule.guard is None:
            return None  # the rule always matches (CM-021)
        return self._formulas.guard(rule.guard, has_call=rule.event.has_call)

    def constraint(self, written: ConstraintSyntax) -> Rule:
        warns = _is_warning(written.constraint)
        return Rule(
            uid=uid_of(NAME, self._file.path, written.id),
            id=written.id,
            origin=self._origin(written.element),
            on=TRIGGERS[EventName.PRE_TOOL_CALL],
            filter=Filter(tools=(written.tool,)),
            guard=self._check(written),
            judgement=RuleVerdict(Verdict.WARN if warns else Verdict.DENY, ConstraintReason()),
            plan=PlanForm(steps=(WarningMaker(),) if warns else ()),
            rank=_RANKS[type(written.constraint)],
            free=True,
            about={"constraint": written.element.name},
        )

    def _origin(self, element: ElementReader) -> Origin:
        span, source = self._place(element), self._file.source
        first, last = source.position(span.start), source.position(span.end)
        return Origin(self._file.path, first.line, first.column, self._file.digest, last.line)

    def _maker(self, action: Action, *, has_call: bool) -> StepMaker:
        match action:
            case Insert():
                return InsertMaker(Role(action.role), action.text)
            case CallTool():
                return self._call(action, has_call=has_call)
            case RunAgent():
                return AgentRunMaker(action)
            case Compact():
                return CompactMaker(action)
            case SetVariable():
                value = self._formulas.value(action.value, has_call=has_call)
                return SetMaker(self._space, action.var, value)
        raise AssertionError(action)

    def _call(self, action: CallTool, *, has_call: bool) -> StepMaker:
        match action.arguments:
            case ExpressionText() as formula:
                arguments = self._formulas.arguments(formula, has_call=has_call)
                return ComputedCallMaker(action.tool, arguments)
            case InvalidBody() as body:
                return CallMaker(action.tool, body.why)
            case args:
                return CallMaker(action.tool, args)

    def _check(self, written: ConstraintSyntax) -> Guard:
        match written.constraint:
            case Requires() as requires:
                return RequiresCheck(written.tool, requires)
            case Validate() as validate:
                checks = (
                    CheckForm(self._formulas.guard(one.formula, has_call=True), one.message)
                    for one in validate.checks
                )
                return ValidateCheck(written.tool, written.id, tuple(checks))
            case Quota() as quota:
                return QuotaCheck(written.tool, quota)
            case Cooldown() as cooldown:
                return CooldownCheck(written.tool, cooldown)


def _verdict_of_rule(rule: RuleSyntax) -> RuleVerdict | None:
    reasons = [action.reason for action in rule.actions if isinstance(action, Deny)]
    return RuleVerdict(Verdict.DENY, FixedReason("\n".join(reasons))) if reasons else None


def _limits(rule: RuleSyntax) -> Limits:
    limits = Limits(
        once=rule.once, cooldown_turns=rule.cooldown_turns, cooldown_ms=rule.cooldown_ms
    )
    return NO_LIMITS if limits == NO_LIMITS else limits  # the engine compares by identity


def _is_warning(constraint: Constraint) -> bool:
    match constraint:
        case Requires(mode=mode):
            return mode is Mode.WARN
        case Validate(level=level):
            return level is Level.WARN
    return False


def _about(rule: RuleSyntax) -> dict[str, str]:
    actions = ", ".join(map(action_label, rule.actions))
    return {"event": rule.event.value, "actions": actions}


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the policy and the rules of a file."""
    if not files:
        return LoadResult(empty_groups())
    (file,) = files
    reading = read_file(file)
    groups: tuple[Group, ...] = lower_file(
        reading.written, file, reading.findings, reading.places.span
    )
    found = [reading.places.relocated(one) for one in reading.findings.told()]
    if has_errors(found):
        groups = tuple(replace(group, rules=()) for group in groups)
    return LoadResult(groups, tuple(found))


def list_launches(book: Book, files: Sequence[RuleFile]) -> list[Launch]:
    """List what rules call and run, then the tools that the files declare."""
    called = [
        started
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        for started in _launches_of_action(maker, rule.uid)
    ]
    declared = [
        started
        for file in files
        for tool in read_file(file).declared.tools
        for started in _launches_of_tool(tool, uid_of(NAME, file.path, "tool:"))
    ]
    return [*called, *declared]


def _launches_of_action(maker: StepMaker, uid: str) -> Iterator[Launch]:
    match maker:
        case CallMaker() | ComputedCallMaker():
            yield Launch(LaunchKind.TOOL, maker.tool, uid)
        case AgentRunMaker():
            yield Launch(LaunchKind.AGENT, maker.written.src, uid)


def _launches_of_tool(tool: Tool, uid: str) -> Iterator[Launch]:
    match tool:
        case CommandTool():
            yield Launch(LaunchKind.PROGRAM, tool.command, uid + tool.name)
        case AgentTool():
            yield Launch(LaunchKind.AGENT, tool.path, uid + tool.name)
        case McpTools():
            yield Launch(LaunchKind.SERVER, tool.address, uid + tool.address)
