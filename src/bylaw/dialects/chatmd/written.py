"""Rules and policies as their author wrote them, with the defaults filled in.

Expressions are still texts here: which names they may read is known when all rules are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.elements import ElementReader
    from bylaw.model.embedded import Embedded
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
        """Whether it is about a call."""
        return self in {EventName.PRE_TOOL_CALL, EventName.POST_TOOL_RESPONSE}


class InsertRole(StrEnum):
    """Whose message a rule may insert (CM-072)."""

    USER = Role.USER.value
    ASSISTANT = Role.ASSISTANT.value
    DEVELOPER = Role.DEVELOPER.value
    SYSTEM = Role.SYSTEM.value


class Mode(StrEnum):
    """What a missing prerequisite means."""

    ENFORCE = "enforce"
    WARN = "warn"


class Level(StrEnum):
    """What a failing check means."""

    ERROR = "error"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Formula:
    """The text of an expression, and where its characters stand in the file."""

    source: SourceFile
    embedded: Embedded


@dataclass(frozen=True, slots=True)
class Insert:
    """Append a message."""

    role: InsertRole
    text: str


@dataclass(frozen=True, slots=True)
class Deny:
    """Prevent the call."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A body that is neither JSON nor an object of expressions, and why not."""

    why: str


Arguments: TypeAlias = "dict[str, JSON] | Formula | Unreadable"


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a tool."""

    tool: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class RunAgent:
    """Run another file as an agent."""

    src: str
    text: str


@dataclass(frozen=True, slots=True)
class Compact:
    """Compact the history; no threshold means always."""

    keep: str
    strategy: str
    threshold_tokens: int | None


@dataclass(frozen=True, slots=True)
class SetVariable:
    """Give a variable a value."""

    var: str
    value: Formula


@dataclass(frozen=True, slots=True)
class Stop:
    """End the rules of this event."""


Action: TypeAlias = Insert | Deny | CallTool | RunAgent | Compact | SetVariable | Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRule:
    """One `<on>`."""

    element: ElementReader
    id: str
    event: EventName
    tool: str
    guard: Formula | None
    priority: int
    once: bool
    cooldown_turns: int
    cooldown_ms: int
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Requires:
    """Tools that must have been called before."""

    tools: tuple[str, ...]
    mode: Mode


@dataclass(frozen=True, slots=True)
class Check:
    """What must be true of a call, and what to say if it is not."""

    formula: Formula
    message: str


@dataclass(frozen=True, slots=True)
class Validate:
    """Checks of a call."""

    level: Level
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Quota:
    """How often a tool may be called; None is no limit."""

    per_turn: int | None
    per_session: int | None


@dataclass(frozen=True, slots=True)
class Cooldown:
    """For how many turns a tool rests after a call."""

    turns: int


Constraint: TypeAlias = Requires | Validate | Quota | Cooldown


@dataclass(frozen=True, slots=True)
class WrittenConstraint:
    """One constraint of a tool."""

    element: ElementReader
    id: str
    tool: str
    constraint: Constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """All rules and constraints of a file in source order, and what counts for all of them."""

    rules: tuple[WrittenRule, ...]
    constraints: tuple[WrittenConstraint, ...]
    max_actions: int
    max_calls: int
    trace: bool

    @property
    def variables(self) -> frozenset[str]:
        """Every name that some `<set>` gives a value (CM-054)."""
        actions = (action for rule in self.rules for action in rule.actions)
        names = (action.var for action in actions if isinstance(action, SetVariable))
        return frozenset(filter(None, names))  # one that cannot be a name was refused
