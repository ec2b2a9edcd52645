"""What a document declares: as written, with places; and as a checked document with types.

The presets are exactly those in the document of the language. A document may have many thousands
of declarations. Those as written form a tree without cycles, so the garbage collector does not
track them (`gc=False`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.languages.context.blocks import Place
    from bylaw.languages.context.references import Table
    from bylaw.languages.context.types import EnumType, Type, Value
    from bylaw.languages.yaml import Node
    from bylaw.model.values import JSON


class Name(Struct, frozen=True, gc=False):
    """A name or a reference, with its place."""

    text: str
    place: Place


class Enum(Struct, frozen=True, gc=False):
    """An enum type with its values."""

    name: Name
    values: tuple[str, ...]
    description: str = ""


class State(Struct, frozen=True, gc=False):
    """A variable. Without a default of its own it gets the default of its type."""

    name: Name
    type: Name
    default: Node | None
    place: Place


class ArgumentKind(StrEnum):
    """How a call passes its arguments."""

    POSITIONAL = "positional"
    NAMED = "named"


class Parameter(Struct, frozen=True, gc=False):
    """A parameter of a command."""

    name: Name
    type: Name


class Assignment(Struct, frozen=True, gc=False):
    """One item of `set_state`."""

    name: Name
    value: Node
    place: Place


class Command(Struct, frozen=True, gc=False):
    """A command. `reads` and `writes` are None if they are not declared."""

    name: Name
    description: str = ""
    kind: ArgumentKind = ArgumentKind.POSITIONAL
    parameters: tuple[Parameter, ...] = ()
    reads: tuple[Name, ...] | None = None
    writes: tuple[Name, ...] | None = None
    enable: dict[str, tuple[Name, ...]] = field(default_factory=dict)
    assignments: tuple[Assignment, ...] = ()


class Constraints(Struct, frozen=True, gc=False):
    """What an output that uses a response must satisfy."""

    sections: tuple[str, ...] = ()
    must_include: tuple[str, ...] = ()
    allow_code_blocks: bool = True
    forbid_tables: bool = False


class Response(Struct, frozen=True, gc=False):
    """A response with its constraints."""

    name: Name
    description: str = ""
    constraints: Constraints = field(default_factory=Constraints)


class StepKind(StrEnum):
    """What a step of a workflow does. The last three have no effect yet."""

    EMIT_RESPONSE = "emit_response"
    ENFORCE_PROTOCOL = "enforce_protocol"
    ENFORCE_CHECKLIST = "enforce_checklist"
    ENFORCE_GUIDELINE = "enforce_guideline"
    ENFORCE_ENGINEERING = "enforce_engineering"


class Step(Struct, frozen=True, gc=False):
    """One step of a workflow. `ref` is the thing that it refers to, if any."""

    kind: StepKind
    ref: Name | None
    place: Place


class Workflow(Struct, frozen=True, gc=False):
    """A workflow: its steps in order."""

    name: Name
    steps: tuple[Step, ...]
    description: str = ""


class CheckType(StrEnum):
    """What a rule of a protocol checks. The set is closed (AC-169)."""

    FORBID_TOOL = "forbid_tool"
    REQUIRE_TOOL = "require_tool"
    FORBID_BLOCK = "forbid_block"
    REQUIRE_BLOCK = "require_block"
    REQUIRE_RESPONSE_ID = "require_response_id"


class Check(Struct, frozen=True, gc=False):
    """A check and its subject: a tool, a block type or a response."""

    type: CheckType
    about: str


class Rule(Struct, frozen=True, gc=False):
    """A rule of a protocol: one check, or a preset that expands to several.

    `check` is None for a preset. `about` is the subject of the check, or the name of the preset.
    """

    name: Name
    check: CheckType | None
    about: Name


class Protocol(Struct, frozen=True, gc=False):
    """A protocol: rules that apply while it is enabled."""

    name: Name
    rules: tuple[Rule, ...]
    description: str = ""


class Module(Struct, gc=False):
    """A module with all declarations of its blocks, in the order of the text."""

    name: Name
    description: str = ""
    enums: list[Enum] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    workflows: list[Workflow] = field(default_factory=list)
    protocols: list[Protocol] = field(default_factory=list)


_FORBID, _REQUIRE, _BLOCK = CheckType.FORBID_TOOL, CheckType.REQUIRE_TOOL, CheckType.FORBID_BLOCK

PRESETS: dict[str, tuple[Check, ...]] = {
    "no_browsing": (Check(_FORBID, "web.run"),),
    "no_code_execution": (
        Check(_FORBID, "python.exec"),
        Check(_FORBID, "python_user_visible.exec"),
        Check(_FORBID, "container.exec"),
    ),
    "require_code_execution": (Check(_REQUIRE, "python.exec"),),
    "no_file_output": (
        Check(_BLOCK, "FILE"),
        Check(_BLOCK, "ARTIFACT"),
        Check(_BLOCK, "DOWNLOAD"),
        Check(_FORBID, "python_user_visible.exec"),
        Check(_FORBID, "container.download"),
    ),
}


class StateForm(Struct, frozen=True):
    """A variable with its type and its initial value."""

    type: Type
    default: JSON


class ParameterForm(Struct, frozen=True):
    """A parameter of a command, with its type."""

    name: str
    type: Type


class StateAssignment(Struct, frozen=True):
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
    settings: tuple[StateAssignment, ...]
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
