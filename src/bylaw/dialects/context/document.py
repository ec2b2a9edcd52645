"""A checked document: every symbol with its type, ready to be called and enforced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.context.declared import CheckType, StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.dialects.context.declared import ArgumentKind, Check, Constraints, Module
    from bylaw.dialects.context.problems import Place
    from bylaw.dialects.context.symbols import Table
    from bylaw.dialects.context.types import EnumType, Type
    from bylaw.dialects.context.values import Value
    from bylaw.model.values import JSON


class StateForm(Struct, frozen=True):
    """A variable with its type and its initial value."""

    type: Type
    default: JSON


class ParameterForm(Struct, frozen=True):
    """A parameter of a command, with its type."""

    name: str
    type: Type


class Setting(Struct, frozen=True):
    """An assignment: a variable, by module and name, and the expression of its new value."""

    module: str
    name: str
    value: Value


class CommandForm(Struct, frozen=True):
    """A command: its signature, what it enables (by qualified names), and what it sets.

    `response` is the response that later outputs use; empty if the command selects none.
    """

    kind: ArgumentKind
    parameters: tuple[ParameterForm, ...]
    responses: tuple[str, ...]
    workflows: tuple[str, ...]
    protocols: tuple[str, ...]
    settings: tuple[Setting, ...]
    response: str
    description: str
    place: Place


class ResponseForm(Struct, frozen=True):
    """A response with the constraints on its outputs."""

    constraints: Constraints
    description: str
    place: Place


class WorkflowForm(Struct, frozen=True):
    """The steps of a workflow with qualified references. `refs` holds all references."""

    steps: tuple[tuple[StepKind, str], ...]
    refs: frozenset[str]
    description: str
    place: Place

    @property
    def emits(self) -> str:
        """The response of the first step that emits one; empty if no step does."""
        return next((ref for kind, ref in self.steps if kind is StepKind.EMIT_RESPONSE), "")


class RuleForm(Struct, frozen=True):
    """A rule with its checks. The subject of `require_response_id` is a qualified id."""

    id: str
    checks: tuple[Check, ...]
    preset: str
    place: Place


class ProtocolForm(Struct, frozen=True):
    """The rules of a protocol, and the subjects of their checks by type."""

    rules: tuple[RuleForm, ...]
    checks: Mapping[CheckType, frozenset[str]]
    description: str
    place: Place


class Document(Struct, frozen=True):
    """All modules of all files as one."""

    modules: tuple[Module, ...]
    enums: Table[EnumType]
    states: Table[StateForm]
    commands: Table[CommandForm]
    responses: Table[ResponseForm]
    workflows: Table[WorkflowForm]
    protocols: Table[ProtocolForm]


def conflict(checks: Mapping[CheckType, set[str]]) -> str:
    """Return why no output can satisfy all of these checks; empty if one can (AC-A22)."""
    pairs = (
        (CheckType.FORBID_TOOL, CheckType.REQUIRE_TOOL, "tool"),
        (CheckType.FORBID_BLOCK, CheckType.REQUIRE_BLOCK, "block"),
    )
    for forbids, requires, what in pairs:
        both = sorted(checks.get(forbids, set()) & checks.get(requires, set()))
        if both:
            return f"the {what} `{both[0]}` is both forbidden and required"
    responses = sorted(checks.get(CheckType.REQUIRE_RESPONSE_ID, set()))
    if len(responses) > 1:
        return f"`{responses[0]}` and `{responses[1]}` are both required as the response"
    return ""
