"""Rules and policies as written, with defaults filled in.

Expressions are still texts: the names that they may use are known only after all rules are read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from bylaw.languages.chatmd.elements import ElementReader
    from bylaw.model.diagnostic import EmbeddedText
    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON

DEFAULT_KEEP = "system,developer,latest:6"
DEFAULT_STRATEGY = "relevance+summary"


class EventName(StrEnum):
    """The events (CM-012)."""

    TURN_START = "turn_start"
    TURN_END = "turn_end"
    PRE_TOOL_CALL = "pre_tool_call"
    POST_TOOL_RESPONSE = "post_tool_response"
    MESSAGE_APPENDED = "message_appended"

    @property
    def has_call(self) -> bool:
        """Whether the event is about a tool call."""
        return self in {EventName.PRE_TOOL_CALL, EventName.POST_TOOL_RESPONSE}


class InsertRole(StrEnum):
    """The roles of messages that a rule may insert (CM-072)."""

    USER = Role.USER.value
    ASSISTANT = Role.ASSISTANT.value
    DEVELOPER = Role.DEVELOPER.value
    SYSTEM = Role.SYSTEM.value


class Mode(StrEnum):
    """The effect of a missing prerequisite."""

    ENFORCE = "enforce"
    WARN = "warn"


class Level(StrEnum):
    """The effect of a failed check."""

    ERROR = "error"
    WARN = "warn"


class ExpressionText(Struct, frozen=True):
    """The text of an expression, and the places of its characters in the file."""

    source: SourceFile
    embedded: EmbeddedText


class Insert(Struct, frozen=True):
    """Append a message."""

    role: InsertRole
    text: str


class Deny(Struct, frozen=True):
    """Deny the call."""

    reason: str


class InvalidBody(Struct, frozen=True):
    """A body that is neither JSON nor an object of expressions, with the reason."""

    why: str


Arguments: TypeAlias = "dict[str, JSON] | ExpressionText | InvalidBody"


class CallTool(Struct, frozen=True):
    """Call a tool."""

    tool: str
    arguments: Arguments


class RunAgent(Struct, frozen=True):
    """Run another file as an agent."""

    src: str
    text: str


class Compact(Struct, frozen=True):
    """Compact the history; always if there is no threshold."""

    keep: str
    strategy: str
    threshold_tokens: int | None


class SetVariable(Struct, frozen=True):
    """Set a variable."""

    var: str
    value: ExpressionText


class Stop(Struct, frozen=True):
    """Run no more rules for this event."""


Action: TypeAlias = Insert | Deny | CallTool | RunAgent | Compact | SetVariable | Stop


class RuleSyntax(Struct, frozen=True, kw_only=True):
    """A rule: one `<on>` element."""

    element: ElementReader
    id: str
    event: EventName
    tool: str
    guard: ExpressionText | None
    priority: int
    once: bool
    cooldown_turns: int
    cooldown_ms: int
    actions: tuple[Action, ...]


class Requires(Struct, frozen=True):
    """Tools that must have been called before."""

    tools: tuple[str, ...]
    mode: Mode


class Check(Struct, frozen=True):
    """An expression that must be true for a call, and the message if it is not."""

    formula: ExpressionText
    message: str


class Validate(Struct, frozen=True):
    """Checks of a call."""

    level: Level
    checks: tuple[Check, ...]


class Quota(Struct, frozen=True):
    """How many times a tool may be called. None means no limit."""

    per_turn: int | None
    per_session: int | None


class Cooldown(Struct, frozen=True):
    """The number of turns after a call in which the tool is denied."""

    turns: int


Constraint: TypeAlias = Requires | Validate | Quota | Cooldown


class ConstraintSyntax(Struct, frozen=True):
    """One constraint of a tool."""

    element: ElementReader
    id: str
    tool: str
    constraint: Constraint


class FileSyntax(Struct, frozen=True, kw_only=True):
    """All rules and constraints of a file in source order, and the settings for all rules."""

    rules: tuple[RuleSyntax, ...]
    constraints: tuple[ConstraintSyntax, ...]
    max_actions: int
    max_calls: int
    trace: bool

    @property
    def variables(self) -> frozenset[str]:
        """The names of all variables that a `<set>` assigns (CM-054)."""
        actions = (action for rule in self.rules for action in rule.actions)
        names = (action.var for action in actions if isinstance(action, SetVariable))
        return frozenset(filter(None, names))  # an invalid name is empty, and was reported
