"""A checked document → rules: commands that act, checks that halt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Visit
from bylaw.dialects.context.calls import called_name
from bylaw.dialects.context.checks import (
    ConstraintCheck,
    HaltPayload,
    OutputCheck,
    ToolCheck,
)
from bylaw.dialects.context.commands import (
    COMMAND,
    CallGuard,
    CallMistake,
    FaultPayload,
    MistakePayload,
    NearMiss,
    Suggestion,
    effects_of,
)
from bylaw.dialects.context.declared import CheckType, Constraints
from bylaw.dialects.context.names import CHECKS, COMMANDS, NAME
from bylaw.model.codes.context import CONFLICT, INVALID_COMMAND
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault, Writes
from bylaw.model.rule import (
    EnabledGate,
    EnabledSet,
    Filter,
    Judgement,
    Origin,
    PlanForm,
    Rule,
    Trigger,
)
from bylaw.model.uid import BUILT_IN, built_in_uid, uid_of
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bylaw.dialects.context.declared import Check
    from bylaw.dialects.context.document import CommandForm, Document, ResponseForm, RuleForm
    from bylaw.dialects.context.problems import Place
    from bylaw.dialects.context.symbols import Symbol
    from bylaw.model.rule import Guard, ReasonMaker

_PROMPT = Trigger.of_main_agent(Kind.PROMPT)
_OUTPUT = Trigger.of_main_agent(Kind.TURN_END)
_TOOL = Trigger.once(Kind.TOOL_BEFORE)

CHECKING = Procedure(
    order=(SortKey.RANK, SortKey.FILE, SortKey.SOURCE),
    flow=Flow.FIRST,  # the output of a turn is at most one error (AC-126, AC-132)
    guard_error=GuardFault.HALT,
    failed_step=StepFault.HALT,
    writes=Writes.TOGETHER,
    fault_reason=FaultPayload(CONFLICT.name, "PROTOCOL"),
)


def lowered(document: Document, digests: Mapping[str, str]) -> tuple[Group, Group]:
    """Return the groups of commands and checks. `digests` are the digests of the files."""
    lowering = _Lowering(document, digests)
    commands = tuple(map(lowering.command, document.commands.by_qualified.values()))
    checks = tuple(lowering.checks())
    return (
        Group(COMMANDS, Visit.CONTEXT_COMMANDS, _calling(document), commands),
        Group(CHECKS, Visit.CONTEXT_CHECKS, CHECKING, checks),
    )


def no_rules() -> tuple[Group, Group]:
    """Return the groups of an empty document: no line is a call."""
    calling = Procedure(
        order=(SortKey.SOURCE,),
        flow=Flow.ALL,
        guard_error=GuardFault.HALT,
        failed_step=StepFault.HALT,
    )
    return (
        Group(COMMANDS, Visit.CONTEXT_COMMANDS, calling, ()),
        Group(CHECKS, Visit.CONTEXT_CHECKS, CHECKING, ()),
    )


def _calling(document: Document) -> Procedure:
    return Procedure(
        order=(SortKey.FILE, SortKey.SOURCE),
        flow=Flow.ALL,
        guard_error=GuardFault.HALT,
        failed_step=StepFault.HALT,
        writes=Writes.TOGETHER,
        split_lines=True,
        line_key=called_name,
        fault_reason=FaultPayload(INVALID_COMMAND.name, COMMAND),
        closing=(
            _built_in("call", CallMistake(document), Verdict.HALT, MistakePayload()),
            _built_in("near", NearMiss(document), Verdict.WARN, Suggestion()),
        ),
    )


def _built_in(rule_id: str, guard: Guard, verdict: Verdict, reason: ReasonMaker) -> Rule:
    return Rule(
        uid=built_in_uid(NAME, rule_id),
        id=rule_id,
        origin=Origin(BUILT_IN, 1, 1, ""),
        on=_PROMPT,
        guard=guard,
        judgement=Judgement(verdict, reason),
        free=True,
    )


class _Lowering:
    def __init__(self, document: Document, digests: Mapping[str, str]) -> None:
        self._document = document
        self._digests = digests

    def command(self, symbol: Symbol[CommandForm]) -> Rule:
        """Return the rule of a command. Its short name works only if no other module has it."""
        qualified = symbol.qualified
        is_unique = self._document.commands.find(symbol.name) is symbol
        names = (qualified, symbol.name) if is_unique else (qualified,)
        form = symbol.what
        return Rule(
            uid=uid_of(NAME, form.place.source.path, qualified),
            id=qualified,
            origin=self._origin(form.place),
            on=_PROMPT,
            filter=Filter(line_keys=names),
            guard=CallGuard(form, names),
            plan=PlanForm(steps=tuple(effects_of(form, self._document, symbol.module))),
            about=_about(form),
        )

    def checks(self) -> Iterator[Rule]:
        """Yield the rules for the checks of protocols and the constraints of responses."""
        for name, symbol in self._document.protocols.by_qualified.items():
            for rule in symbol.what.rules:
                for check in rule.checks:
                    yield self._check(name, symbol.name, rule, check)
        for name, response in self._document.responses.by_qualified.items():
            if response.what.constraints != Constraints():
                yield self._constraints(name, response)

    def _check(self, qualified: str, protocol: str, rule: RuleForm, check: Check) -> Rule:
        id_ = f"{qualified}.{rule.id}"
        # A preset becomes several rules, so their uids need the subject of the check.
        unique = f"{id_}/{check.about}" if rule.preset else id_
        forbids_tool = check.type is CheckType.FORBID_TOOL
        guard: Guard = ToolCheck(check) if forbids_tool else OutputCheck(check, self._document)
        reason = HaltPayload("PROTOCOL", f"{protocol}.{rule.id}", rule.place.line)
        return Rule(
            uid=uid_of(NAME, rule.place.source.path, unique),
            id=id_,
            origin=self._origin(rule.place),
            on=_TOOL if forbids_tool else _OUTPUT,
            filter=Filter(tools=(check.about,)) if forbids_tool else Filter(),
            gates=(EnabledGate(EnabledSet.PROTOCOLS, qualified),),
            guard=guard,
            judgement=Judgement(Verdict.HALT, reason),
            about=_said({"check": f"{check.type} {check.about}", "preset": rule.preset}),
        )

    def _constraints(self, qualified: str, symbol: Symbol[ResponseForm]) -> Rule:
        form = symbol.what
        unique = f"{qualified}/constraints"  # a command may have the same name
        reason = HaltPayload("RESPONSE", symbol.name, form.place.line)
        return Rule(
            uid=uid_of(NAME, form.place.source.path, unique),
            id=qualified,
            origin=self._origin(form.place),
            on=_OUTPUT,
            gates=(EnabledGate(EnabledSet.RESPONSES, qualified),),
            guard=ConstraintCheck(qualified, form.constraints, self._document),
            judgement=Judgement(Verdict.HALT, reason),
            rank=1,
        )

    def _origin(self, place: Place) -> Origin:
        at = place.source.position(place.span.start)
        path = place.source.path
        return Origin(path, at.line, at.column, self._digests.get(path, ""))


def _about(form: CommandForm) -> dict[str, str]:
    arguments = ", ".join(f"{one.name}: {one.type}" for one in form.parameters)
    return _said({"description": form.description, "arguments": arguments})


def _said(about: dict[str, str]) -> dict[str, str]:
    return {key: text for key, text in about.items() if text}
