"""A checked rule as written, and its templates.

`{{field}}` in a template is filled in once, from a closed list of fields (LD-A20).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.model.rule import ApprovalMode
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.model.vocabulary import Authority, Change, Channel


class TriggerKind(StrEnum):
    """What a rule reacts to."""

    FS_EVENT = "fs_event"
    BUS_INPUT = "bus_input"


class CommandType(StrEnum):
    """What a message asks for."""

    TASK = "task"
    EXEC = "exec"
    APPROVAL_REQUEST = "approval_request"


class Category(StrEnum):
    """The category of a message: from A, which runs freely, to D, an emergency."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


PHASES = range(5)
MAX_LOCK_KEY = 100  # characters
APPROVAL_CATEGORIES = (Category.B, Category.C)
MODES_WITHOUT_APPROVAL = (ApprovalMode.NONE, ApprovalMode.RETROACTIVE)


class TakeLock(Struct, frozen=True):
    """`write_processing_lock`."""

    key: Template


class ReleaseLock(Struct, frozen=True):
    """`release_lock`."""

    key: Template


class RunCommand(Struct, frozen=True):
    """`run_cmd`. With an empty `argv` it runs the commands of the message (LD-A18)."""

    argv: tuple[str, ...]
    cwd: str
    timeout_s: int

    @property
    def of_message(self) -> bool:
        """Return whether `cmd` is `{{run}}`."""
        return not self.argv


class WriteBus(Struct, frozen=True):
    """`write_bus`."""

    channel: Channel
    template: Template


class RequestApproval(Struct, frozen=True):
    """`request_approval`."""

    to: Authority
    template: Template


Action: TypeAlias = TakeLock | ReleaseLock | RunCommand | WriteBus | RequestApproval


class RuleSyntax(Struct, frozen=True, kw_only=True):
    """One rule. An empty list was not written, and means any value.

    `id_span` is the place of its `rule_id`.
    """

    rule_id: str
    priority: int
    kind: TriggerKind
    line: int
    column: int
    last_line: int
    paths: tuple[str, ...] = ()
    event_types: tuple[Change, ...] = ()
    command_types: tuple[CommandType, ...] = ()
    phases: tuple[int, ...] = ()
    categories: tuple[Category, ...] = ()
    require_lock: bool = False
    mode: ApprovalMode
    authorities: tuple[Authority, ...] = ()
    actions: tuple[Action, ...]
    on_error: tuple[WriteBus | ReleaseLock, ...] = ()
    goes_on: bool = False
    id_span: Span = Span(0, 0)

    @property
    def runs(self) -> bool:
        """Return whether the rule runs a command. Requests and evidence do not count (LD-A10)."""
        return any(isinstance(action, RunCommand) for action in self.actions)


NAME = "law"
VERSION = "0.1"
GROUP = NAME


FIELD = re.compile(r"\{\{[ \t]*([^{}]*?)[ \t]*\}\}")


class Field(StrEnum):
    """All fields that a template can use."""

    MSG_ID = "msg_id"
    MSG_TYPE = "msg_type"
    COMMAND_TYPE = "command_type"
    PHASE = "phase"
    CATEGORY = "category"
    TITLE = "title"
    TARGET_PATHS = "target_paths"
    ORIGIN_REF = "origin_ref"
    CREATED_BY = "created_by"
    NOTES = "notes"
    RULE_ID = "rule_id"
    TS = "ts"
    PATH = "path"
    TYPE = "type"
    EXIT_CODE = "exit_code"
    ERROR = "error"


# Known only after the previous steps have run.
OUTCOME_FIELDS = frozenset({Field.EXIT_CODE, Field.ERROR})


class FieldReference(Struct, frozen=True):
    """A field as written. An unknown field fails its action (LD-105)."""

    name: str

    @property
    def field(self) -> Field | None:
        """The field; None if it is unknown."""
        return next((one for one in Field if one.value == self.name), None)


class Template(Struct, frozen=True):
    """Texts and fields in turn."""

    pieces: tuple[str | FieldReference, ...]

    @property
    def names(self) -> tuple[FieldReference, ...]:
        """The fields in it."""
        return tuple(piece for piece in self.pieces if isinstance(piece, FieldReference))


def parse_template(text: str) -> Template:
    """Parse a template. Every text is one: all but `{{field}}` is literal."""
    pieces: list[str | FieldReference] = []
    end = 0
    for found in FIELD.finditer(text):
        if found.start() > end:
            pieces.append(text[end : found.start()])
        pieces.append(FieldReference(found[1]))
        end = found.end()
    if end < len(text) or not pieces:
        pieces.append(text[end:])
    return Template(tuple(pieces))
