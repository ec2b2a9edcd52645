"""A checked document → rules: commands that act, checks that halt.

`load` reads all files as one document. The checks of protocols and the constraints of responses
are guards that match a violation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.base import LoadResult, VisitOrder
from bylaw.languages.context import CHECKS, COMMANDS, NAME
from bylaw.languages.context.blocks import DocumentError
from bylaw.languages.context.commands import (
    COMMAND,
    CallGuard,
    CallMistake,
    FaultPayload,
    MistakePayload,
    NearMiss,
    Suggestion,
    called_name,
    step_makers,
)
from bylaw.languages.context.declarations import CheckType, Constraints
from bylaw.languages.context.output import (
    ERROR_RESPONSE,
    Payload,
    has_block,
    is_payload,
    violations,
)
from bylaw.languages.context.reader import read_document
from bylaw.languages.context.references import Symbol
from bylaw.model.codes.context import CONFLICT, INVALID_COMMAND
from bylaw.model.decision import Match
from bylaw.model.event import TurnEnd
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault, Writes
from bylaw.model.rule import (
    BUILT_IN,
    EnabledGate,
    EnabledSet,
    Filter,
    Origin,
    PlanForm,
    Rule,
    RuleVerdict,
    Trigger,
    built_in_uid,
    uid_of,
)
from bylaw.model.vocabulary import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.languages.base import RuleFile
    from bylaw.languages.context.blocks import Place
    from bylaw.languages.context.declarations import (
        Check,
        CommandForm,
        Document,
        ResponseForm,
        RuleForm,
    )
    from bylaw.model.rule import Guard, ReasonMaker, View

WHY = "why"


class ToolCheck(Struct, frozen=True):
    """The check `forbid_tool`. The index passes only calls of that tool to it."""

    check: Check

    def test(self, view: View) -> Match | None:  # noqa: ARG002 - signature of `Guard`
        """Match every call: each one is a violation."""
        return Match({WHY: f"the tool '{self.check.about}' is forbidden"})


class OutputCheck(Struct, frozen=True):
    """A check of an output."""

    check: Check
    document: Document

    def test(self, view: View) -> Match | None:
        """Match if the output violates the check."""
        event = output_to_check(view)
        # People see each part of an output, so `forbid_block` also applies to parts.
        if event is None or not (event.final or self.check.type is CheckType.FORBID_BLOCK):
            return None
        why = self._why(view, event)
        return Match({WHY: why}) if why else None

    def _why(self, view: View, event: TurnEnd) -> str:
        about = self.check.about
        match self.check.type:
            case CheckType.REQUIRE_TOOL:
                called = view.session.called_for_answer(about)
                return "" if called else f"the tool '{about}' was not called"
            case CheckType.FORBID_BLOCK:
                return (
                    f"the block '{about}' is forbidden"
                    if has_block(full_text(event), about)
                    else ""
                )
            case CheckType.REQUIRE_BLOCK:
                return (
                    "" if has_block(full_text(event), about) else f"the block '{about}' is missing"
                )
            case CheckType.REQUIRE_RESPONSE_ID:
                used = used_response(view, event, self.document)
                return "" if used == about else f"the output does not use the response '{about}'"
        raise AssertionError(self.check.type)


class ConstraintCheck(Struct, frozen=True):
    """The constraints of a response. They apply to outputs that use the response."""

    response: str
    constraints: Constraints
    document: Document

    def test(self, view: View) -> Match | None:
        """Match if the output violates a constraint; bind all violations."""
        event = output_to_check(view)
        if event is None or not event.final:
            return None
        if used_response(view, event, self.document) != self.response:
            return None
        found = "; ".join(violations(full_text(event), self.constraints))
        return Match({WHY: found}) if found else None


def output_to_check(view: View) -> TurnEnd | None:
    """Return the output, or the part of one, unless it is an error payload (AC-125)."""
    event = view.event
    if not isinstance(event, TurnEnd):
        return None
    is_error = event.response == ERROR_RESPONSE and is_payload(event.text)
    return None if is_error else event


def full_text(event: TurnEnd) -> str:
    """Return the full text of an answer: a model may write, call tools, and write again."""
    return f"{event.earlier}\n{event.text}" if event.earlier else event.text


def used_response(view: View, event: TurnEnd, document: Document) -> str:
    """Return the response of an output: named by the host, else selected by the last command."""
    if not event.response:
        return view.slate.response
    found = document.responses.find(event.response)
    return found.qualified if isinstance(found, Symbol) else event.response


class HaltPayload(Struct, frozen=True):
    """The error payload of a violation. Its code is CONFLICT: no other code fits (AC-A23)."""

    block_type: str
    id: str
    line: int

    def make(self, view: View, match: Match) -> str:
        """Return the text of the payload."""
        return Payload(
            code=CONFLICT.name,
            message=str(match.values[WHY]),
            block_type=self.block_type,
            id=self.id,
            line=self.line,
            responses=view.slate.enabled.responses,
            workflows=view.slate.enabled.workflows,
        ).text()


_PROMPT = Trigger.of_main_agent(Kind.PROMPT)
_OUTPUT = Trigger.of_main_agent(Kind.TURN_END)
_TOOL = Trigger.once(Kind.TOOL_BEFORE)

CHECK_PROCEDURE = Procedure(
    order=(SortKey.RANK, SortKey.FILE, SortKey.SOURCE),
    flow=Flow.FIRST,  # the output of a turn is at most one error (AC-126, AC-132)
    guard_error=GuardFault.HALT,
    failed_step=StepFault.HALT,
    writes=Writes.TOGETHER,
    fault_reason=FaultPayload(CONFLICT.name, "PROTOCOL"),
)


def lower_document(document: Document, digests: Mapping[str, str]) -> tuple[Group, Group]:
    """Return the groups of commands and checks. `digests` are the digests of the files."""
    lowering = _Lowerer(document, digests)
    commands = tuple(map(lowering.command, document.commands.by_qualified.values()))
    checks = tuple(lowering.checks())
    return (
        Group(COMMANDS, VisitOrder.CONTEXT_COMMANDS, _command_procedure(document), commands),
        Group(CHECKS, VisitOrder.CONTEXT_CHECKS, CHECK_PROCEDURE, checks),
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
        Group(COMMANDS, VisitOrder.CONTEXT_COMMANDS, calling, ()),
        Group(CHECKS, VisitOrder.CONTEXT_CHECKS, CHECK_PROCEDURE, ()),
    )


def _command_procedure(document: Document) -> Procedure:
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
        judgement=RuleVerdict(verdict, reason),
        free=True,
    )


class _Lowerer:
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
            plan=PlanForm(steps=tuple(step_makers(form, self._document, symbol.module))),
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
            judgement=RuleVerdict(Verdict.HALT, reason),
            about=_non_empty({"check": f"{check.type} {check.about}", "preset": rule.preset}),
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
            judgement=RuleVerdict(Verdict.HALT, reason),
            rank=1,
        )

    def _origin(self, place: Place) -> Origin:
        at = place.source.position(place.span.start)
        path = place.source.path
        return Origin(path, at.line, at.column, self._digests.get(path, ""))


def _about(form: CommandForm) -> dict[str, str]:
    arguments = ", ".join(f"{one.name}: {one.type}" for one in form.parameters)
    return _non_empty({"description": form.description, "arguments": arguments})


def _non_empty(about: dict[str, str]) -> dict[str, str]:
    return {key: text for key, text in about.items() if text}


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the commands and checks of all files; if one has an error, none of them."""
    if not files:
        return LoadResult(no_rules())
    try:
        document = read_document([file.source for file in files])
    except DocumentError as wrong:
        return LoadResult(no_rules(), tuple(problem.diagnostic() for problem in wrong.problems))
    return LoadResult(lower_document(document, {file.path: file.digest for file in files}))
