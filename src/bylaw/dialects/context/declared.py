"""What the blocks of a document declare, as written: names, references and values with places."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.dialects.context.problems import Place
    from bylaw.dialects.yaml import Node


@dataclass(frozen=True, slots=True)
class Name:
    """A name or a reference, and where it stands."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Enum:
    """A type of its own with its values."""

    name: Name
    values: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """One variable; without a default it has that of its type."""

    name: Name
    type: Name
    default: Node | None
    place: Place


class ArgumentKind(StrEnum):
    """How the arguments of a command are given."""

    POSITIONAL = "positional"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a command."""

    name: Name
    type: Name


@dataclass(frozen=True, slots=True)
class Assignment:
    """One item of `set_state`."""

    name: Name
    value: Node
    place: Place


@dataclass(frozen=True, slots=True)
class Command:
    """What a call does; `reads` and `writes` are None where they are not declared."""

    name: Name
    description: str = ""
    kind: ArgumentKind = ArgumentKind.POSITIONAL
    parameters: tuple[Parameter, ...] = ()
    reads: tuple[Name, ...] | None = None
    writes: tuple[Name, ...] | None = None
    enable: dict[str, tuple[Name, ...]] = field(default_factory=dict)
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class Constraints:
    """What an output that uses a response must satisfy."""

    sections: tuple[str, ...] = ()
    must_include: tuple[str, ...] = ()
    allow_code_blocks: bool = True
    forbid_tables: bool = False


@dataclass(frozen=True, slots=True)
class Response:
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


@dataclass(frozen=True, slots=True)
class Step:
    """One step; what it refers to, if anything."""

    kind: StepKind
    ref: Name | None
    place: Place


@dataclass(frozen=True, slots=True)
class Workflow:
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


@dataclass(frozen=True, slots=True)
class Check:
    """A concrete check and what it is about: a tool, a type of block, a response."""

    type: CheckType
    about: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a protocol: a concrete check, or a preset that stands for several.

    `about` is what the check is about, or the preset, where it stands.
    """

    name: Name
    check: CheckType | None
    about: Name


@dataclass(frozen=True, slots=True)
class Protocol:
    """Rules that hold while it is enabled."""

    name: Name
    rules: tuple[Rule, ...]
    description: str = ""


@dataclass(slots=True)
class Module:
    """A module with everything that its blocks declare, in the order of the text."""

    name: Name
    description: str = ""
    enums: list[Enum] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    workflows: list[Workflow] = field(default_factory=list)
    protocols: list[Protocol] = field(default_factory=list)
