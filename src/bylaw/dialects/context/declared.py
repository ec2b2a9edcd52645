"""What the blocks of a document declare, as written: names, references and values with places.

There may be many thousands; all of it is a tree, so nobody has to look for cycles.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from bylaw.dialects.context.problems import Place
    from bylaw.dialects.yaml import Node


class Name(Struct, frozen=True, gc=False):
    """A name or a reference, and where it stands."""

    text: str
    place: Place


class Enum(Struct, frozen=True, gc=False):
    """A type of its own with its values."""

    name: Name
    values: tuple[str, ...]
    description: str = ""


class State(Struct, frozen=True, gc=False):
    """One variable; without a default it has that of its type."""

    name: Name
    type: Name
    default: Node | None
    place: Place


class ArgumentKind(StrEnum):
    """How the arguments of a command are given."""

    POSITIONAL = "positional"
    NAMED = "named"


class Parameter(Struct, frozen=True, gc=False):
    """An argument of a command."""

    name: Name
    type: Name


class Assignment(Struct, frozen=True, gc=False):
    """One item of `set_state`."""

    name: Name
    value: Node
    place: Place


class Command(Struct, frozen=True, gc=False):
    """What a call does; `reads` and `writes` are None where they are not declared."""

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
    """A response by its id."""

    name: Name
    description: str = ""
    constraints: Constraints = field(default_factory=Constraints)


class StepKind(StrEnum):
    """What a step of a workflow does; the last three have no effect yet."""

    EMIT_RESPONSE = "emit_response"
    ENFORCE_PROTOCOL = "enforce_protocol"
    ENFORCE_CHECKLIST = "enforce_checklist"
    ENFORCE_GUIDELINE = "enforce_guideline"
    ENFORCE_ENGINEERING = "enforce_engineering"


class Step(Struct, frozen=True, gc=False):
    """One step; what it refers to, if anything."""

    kind: StepKind
    ref: Name | None
    place: Place


class Workflow(Struct, frozen=True, gc=False):
    """Steps in their order."""

    name: Name
    steps: tuple[Step, ...]
    description: str = ""


class CheckType(StrEnum):
    """What a rule of a protocol checks: a closed set (AC-169)."""

    FORBID_TOOL = "forbid_tool"
    REQUIRE_TOOL = "require_tool"
    FORBID_BLOCK = "forbid_block"
    REQUIRE_BLOCK = "require_block"
    REQUIRE_RESPONSE_ID = "require_response_id"


class Check(Struct, frozen=True, gc=False):
    """A concrete check and what it is about: a tool, a type of block, a response."""

    type: CheckType
    about: str


class Rule(Struct, frozen=True, gc=False):
    """A rule of a protocol: a concrete check, or a preset that stands for several.

    `about` is what the check is about, or the preset, where it stands.
    """

    name: Name
    check: CheckType | None
    about: Name


class Protocol(Struct, frozen=True, gc=False):
    """Rules that hold while it is enabled."""

    name: Name
    rules: tuple[Rule, ...]
    description: str = ""


class Module(Struct, gc=False):
    """A module with everything that its blocks declare, in the order of the text."""

    name: Name
    description: str = ""
    enums: list[Enum] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    workflows: list[Workflow] = field(default_factory=list)
    protocols: list[Protocol] = field(default_factory=list)
