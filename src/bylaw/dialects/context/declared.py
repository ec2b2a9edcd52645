"""What the blocks of a document declare, as written: names, references and values with places.

A document may have many thousands of them. They form a tree without cycles, so the garbage
collector does not track them (`gc=False`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from bylaw.dialects.context.problems import Place
    from bylaw.dialects.yaml import Node


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
