"""Steps: what a fired rule does. One frozen class per `op`, complete data.

Only a `Text` may contain references to outcomes of earlier steps of its plan. The runtime replaces
them once, by plain text.
"""

from enum import StrEnum
from typing import ClassVar, TypeAlias

from msgspec import Struct

from bylaw.model.values import JSON, Count
from bylaw.model.vocabulary import (
    Authority,
    Category,
    Channel,
    DeliverAt,
    EntryStatus,
    Level,
    Op,
    Priority,
    Recipient,
    Role,
)


class OutcomePart(StrEnum):
    """The part of an earlier step's outcome that a reference reads."""

    ERROR = "error"
    EXIT_CODE = "exit_code"
    RESULT = "result"
    COUNT = "count"


class Outcome(Struct, frozen=True, forbid_unknown_fields=True):
    """A reference to a part of an outcome: of the newest outcome in the same plan that has it."""

    outcome: OutcomePart


# A text, a single reference, or a sequence of texts and references.
Text: TypeAlias = str | Outcome | tuple[str | Outcome, ...]


class StepBase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op"):
    """Base class of all steps, tagged by `op`."""

    op: ClassVar[Op]


class MessageInsert(StepBase, frozen=True, kw_only=True, tag="message.insert"):
    """Append a message."""

    op: ClassVar[Op] = Op.MESSAGE_INSERT
    role: Role
    text: Text
    to: Recipient = Recipient.MODEL


class ToolCall(StepBase, frozen=True, kw_only=True, tag="tool.call"):
    """Call a tool as the model would."""

    op: ClassVar[Op] = Op.TOOL_CALL
    tool: str
    args: dict[str, JSON] = {}


class AgentRun(StepBase, frozen=True, kw_only=True, tag="agent.run"):
    """Run an inline agent."""

    op: ClassVar[Op] = Op.AGENT_RUN
    src: str
    input: Text = ""


class HistoryCompact(StepBase, frozen=True, kw_only=True, tag="history.compact"):
    """Compact the history.

    Without a threshold, always.
    """

    op: ClassVar[Op] = Op.HISTORY_COMPACT
    keep: str
    strategy: str
    threshold_tokens: Count | None = None


class StateSet(StepBase, frozen=True, kw_only=True, tag="state.set"):
    """Set a variable.

    `space` comes from `variable_space`.
    """

    op: ClassVar[Op] = Op.STATE_SET
    space: str
    name: str
    value: JSON = None


class RulesEnable(StepBase, frozen=True, kw_only=True, tag="rules.enable"):
    """Replace the enabled responses, workflows and protocols."""

    op: ClassVar[Op] = Op.RULES_ENABLE
    responses: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


class ResponseUse(StepBase, frozen=True, kw_only=True, tag="response.use"):
    """Select the response whose constraints the output must satisfy."""

    op: ClassVar[Op] = Op.RESPONSE_USE
    id: str


class Notify(StepBase, frozen=True, kw_only=True, tag="notify"):
    """Add a notice to the session."""

    op: ClassVar[Op] = Op.NOTIFY
    text: str
    category: Category = Category.INFO
    priority: Priority = Priority.NORMAL
    deliver_at: DeliverAt = DeliverAt.TURN_START


class Log(StepBase, frozen=True, kw_only=True, tag="log"):
    """Write a log line."""

    op: ClassVar[Op] = Op.LOG
    text: str
    level: Level = Level.INFO


class EventEmit(StepBase, frozen=True, kw_only=True, tag="event.emit"):
    """Cause one `custom` event."""

    op: ClassVar[Op] = Op.EVENT_EMIT
    type: str
    payload: dict[str, JSON] = {}


class CommandRun(StepBase, frozen=True, kw_only=True, tag="command.run"):
    """Start a process, never through a shell.

    `root_at` lists where the path of the root is inserted when the command runs, each as the index
    of a word and of a character in it. A decision does not know that path and has a dot there. With
    `check_idempotent`, a command that changed files runs a second time and must then change
    nothing. The language decides this: file policies always set it, RULE_DSL never does.
    """

    op: ClassVar[Op] = Op.COMMAND_RUN
    argv: tuple[str, ...]
    cwd: str
    timeout_s: Count
    check_idempotent: bool = False
    files: tuple[str, ...] = ()
    root_at: tuple[tuple[Count, Count], ...] = ()


class LockAcquire(StepBase, frozen=True, kw_only=True, tag="lock.acquire"):
    """Take a lock or fail."""

    op: ClassVar[Op] = Op.LOCK_ACQUIRE
    key: str


class LockRelease(StepBase, frozen=True, kw_only=True, tag="lock.release"):
    """Release a lock."""

    op: ClassVar[Op] = Op.LOCK_RELEASE
    key: str


class BusWrite(StepBase, frozen=True, kw_only=True, tag="bus.write"):
    """Write evidence to the bus."""

    op: ClassVar[Op] = Op.BUS_WRITE
    channel: Channel
    text: Text


class ApprovalRequest(StepBase, frozen=True, kw_only=True, tag="approval.request"):
    """Ask an authority."""

    op: ClassVar[Op] = Op.APPROVAL_REQUEST
    to: Authority
    text: Text


class PromptShow(StepBase, frozen=True, kw_only=True, tag="prompt.show"):
    """Show the text of a policy with the files that it is about.

    `arrows` are the changed files of a correspondence, each with a file that should have changed.
    `title` and `mode` are for code that combines several of these texts.
    """

    op: ClassVar[Op] = Op.PROMPT_SHOW
    policy: str
    text: str
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    arrows: tuple[tuple[str, str], ...] = ()
    title: str = ""
    mode: str = ""


class BaselineCapture(StepBase, frozen=True, kw_only=True, tag="baseline.capture"):
    """Save the state of the work tree as a baseline."""

    op: ClassVar[Op] = Op.BASELINE_CAPTURE
    ref: str


class EntryWrite(StepBase, frozen=True, kw_only=True, tag="entry.write"):
    """Write an entry of the policy queue.

    `command` is the command as the policy writes it.
    """

    op: ClassVar[Op] = Op.ENTRY_WRITE
    hash: str
    status: EntryStatus
    policy: str
    baseline: str
    trigger_files: tuple[str, ...] = ()
    expected_files: tuple[str, ...] = ()
    matched_files: tuple[str, ...] = ()
    digest: str = ""
    shown: Count = 0
    command: str = ""
    result: Text | None = None


class OutputReplace(StepBase, frozen=True, kw_only=True, tag="output.replace"):
    """Replace the output with another text."""

    op: ClassVar[Op] = Op.OUTPUT_REPLACE
    text: Text


Step: TypeAlias = (
    MessageInsert
    | ToolCall
    | AgentRun
    | HistoryCompact
    | StateSet
    | RulesEnable
    | ResponseUse
    | Notify
    | Log
    | EventEmit
    | CommandRun
    | LockAcquire
    | LockRelease
    | BusWrite
    | ApprovalRequest
    | PromptShow
    | BaselineCapture
    | EntryWrite
    | OutputReplace
)

# These steps only change the session. No host performs them.
SessionStep: TypeAlias = StateSet | RulesEnable | ResponseUse | Notify
SESSION_STEPS = (StateSet, RulesEnable, ResponseUse, Notify)
