"""A checked rule as written: made by the reader, used by the lowering."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.model.rule import ApprovalMode
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.dialects.law.templates import Template
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
NEED_APPROVAL = (Category.B, Category.C)
ASKS_NOBODY = (ApprovalMode.NONE, ApprovalMode.RETROACTIVE)


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


class WrittenRule(Struct, frozen=True, kw_only=True):
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
