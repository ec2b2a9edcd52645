"""Rules and constraints as written → rules that the engine runs, in two groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import FixedReason, Visit
from bylaw.dialects.chatmd.actions import (
    Calls,
    Compacts,
    ComputesCall,
    Inserts,
    RunsAgent,
    Sets,
    failure_note,
)
from bylaw.dialects.chatmd.actions_note import ActionsNote, action_label, is_decision
from bylaw.dialects.chatmd.constraints import (
    CheckForm,
    CooldownCheck,
    FoundReason,
    QuotaCheck,
    RequiresCheck,
    ValidateCheck,
    Warns,
)
from bylaw.dialects.chatmd.formulas import Formulas
from bylaw.dialects.chatmd.names import NAME, POLICY_GROUP, RULES_GROUP
from bylaw.dialects.chatmd.procedures import POLICY, rules_procedure
from bylaw.dialects.chatmd.written import (
    CallTool,
    Compact,
    Cooldown,
    Deny,
    EventName,
    Formula,
    Insert,
    Level,
    Mode,
    Quota,
    Requires,
    RunAgent,
    SetVariable,
    Stop,
    Unreadable,
    Validate,
)
from bylaw.expr.guard_reader import guard_reader
from bylaw.model.procedure import Group
from bylaw.model.rule import (
    NO_FILTER,
    NO_LIMITS,
    Filter,
    Judgement,
    Limits,
    Origin,
    PlanForm,
    Rule,
    Trigger,
)
from bylaw.model.slate import variable_space
from bylaw.model.uid import uid_of
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.chatmd.elements import ElementReader
    from bylaw.dialects.chatmd.written import (
        Action,
        Constraint,
        WrittenConstraint,
        WrittenFile,
        WrittenRule,
    )
    from bylaw.model.findings import FindingList
    from bylaw.model.procedure import Procedure
    from bylaw.model.rule import Guard, StepMaker
    from bylaw.model.source import Span

# CM-A36: the order in which the constraints of a call are evaluated.
_RANKS: dict[type[Constraint], int] = {Requires: 1, Validate: 2, Quota: 3, Cooldown: 4}


TRIGGERS = {
    EventName.TURN_START: Trigger.of_main_agent(Kind.TURN_START),
    EventName.TURN_END: Trigger.of_main_agent(Kind.TURN_END),
    EventName.PRE_TOOL_CALL: Trigger.once(Kind.TOOL_BEFORE),
    EventName.POST_TOOL_RESPONSE: Trigger.once(Kind.TOOL_AFTER),
    EventName.MESSAGE_APPENDED: Trigger.of_main_agent(Kind.MESSAGE),
}


def lowered(
    written: WrittenFile,
    file: RuleFile,
    findings: FindingList,
    place: Callable[[ElementReader], Span],
) -> tuple[Group, Group]:
    """Lower a file to its groups. Adds findings about its expressions."""
    lowering = _Lowering(written, file, findings, place)
    procedure = rules_procedure(written.max_actions, written.max_calls)
    policy = tuple(map(lowering.constraint, written.constraints))
    rules = tuple(map(lowering.rule, written.rules))
    return _groups(policy, rules, procedure)


def no_rules() -> tuple[Group, Group]:
    """Return the groups of a file without rules."""
    return _groups((), (), rules_procedure(1, 1))


def _groups(
    policy: tuple[Rule, ...], rules: tuple[Rule, ...], procedure: Procedure
) -> tuple[Group, Group]:
    return (
        Group(POLICY_GROUP, Visit.CHATMD_POLICY, POLICY, policy),
        Group(RULES_GROUP, Visit.CHATMD_RULES, procedure, rules),
    )


class _Lowering:
    """Lowers one file."""

    def __init__(
        self,
        written: WrittenFile,
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
        self._formulas = Formulas(findings, written.variables, ids, reader)

    def rule(self, rule: WrittenRule) -> Rule:
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
            judgement=_judgement(rule),
            plan=PlanForm(
                steps=tuple(makers),
                on_error=(failure_note(rule.id),),
                summary=ActionsNote.of(rule) if self._trace else None,
            ),
            priority=rule.priority,
            last=any(isinstance(action, Stop) for action in rule.actions),
            about=_about(rule),
        )

    def _guard(self, rule: WrittenRule) -> Guard | None:
        if rule.guard is None:
            return None  # the rule always matches (CM-021)
        return self._formulas.guard(rule.guard, has_call=rule.event.has_call)

    def constraint(self, written: WrittenConstraint) -> Rule:
        warns = _warns(written.constraint)
        return Rule(
            uid=uid_of(NAME, self._file.path, written.id),
            id=written.id,
            origin=self._origin(written.element),
            on=TRIGGERS[EventName.PRE_TOOL_CALL],
            filter=Filter(tools=(written.tool,)),
            guard=self._check(written),
            judgement=Judgement(Verdict.WARN if warns else Verdict.DENY, FoundReason()),
            plan=PlanForm(steps=(Warns(),) if warns else ()),
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
                return Inserts(Role(action.role), action.text)
            case CallTool():
                return self._call(action, has_call=has_call)
            case RunAgent():
                return RunsAgent(action)
            case Compact():
                return Compacts(action)
            case SetVariable():
                value = self._formulas.value(action.value, has_call=has_call)
                return Sets(self._space, action.var, value)
        raise AssertionError(action)

    def _call(self, action: CallTool, *, has_call: bool) -> StepMaker:
        match action.arguments:
            case Formula() as formula:
                arguments = self._formulas.arguments(formula, has_call=has_call)
                return ComputesCall(action.tool, arguments)
            case Unreadable() as body:
                return Calls(action.tool, body.why)
            case args:
                return Calls(action.tool, args)

    def _check(self, written: WrittenConstraint) -> Guard:
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


def _judgement(rule: WrittenRule) -> Judgement | None:
    reasons = [action.reason for action in rule.actions if isinstance(action, Deny)]
    return Judgement(Verdict.DENY, FixedReason("\n".join(reasons))) if reasons else None


def _limits(rule: WrittenRule) -> Limits:
    limits = Limits(
        once=rule.once, cooldown_turns=rule.cooldown_turns, cooldown_ms=rule.cooldown_ms
    )
    return NO_LIMITS if limits == NO_LIMITS else limits  # the engine compares by identity


def _warns(constraint: Constraint) -> bool:
    match constraint:
        case Requires(mode=mode):
            return mode is Mode.WARN
        case Validate(level=level):
            return level is Level.WARN
    return False


def _about(rule: WrittenRule) -> dict[str, str]:
    actions = ", ".join(map(action_label, rule.actions))
    return {"event": rule.event.value, "actions": actions}
