"""A TOML rule as written, with defaults filled in: plain data that can be stored.

The keys of `[rule]` and of every action are the fields of these classes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
from msgspec import NODEFAULT, Struct

from bylaw.model.vocabulary import Category, DeliverAt, Level, Priority

DEFAULT_PRIORITY = 100
DEFAULT_VERSION = "1.0.0"


class Hook(StrEnum):
    """The values of `trigger`."""

    QUERY_START = "on_query_start"
    TURN_START = "on_turn_start"
    TURN_END = "on_turn_end"
    TOOL_CALL = "on_tool_call"
    TOOL_COMPLETE = "on_tool_complete"
    TOOL_FAILURE = "on_tool_failure"
    SESSION_END = "on_session_end"


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    pass


class NotifySelf(_Part, frozen=True, kw_only=True, tag="notify_self"):
    """Send a notice to the agent."""

    message: str
    category: Category = Category.INFO
    priority: Priority = Priority.NORMAL
    deliver_at: DeliverAt = DeliverAt.TURN_START


class WriteLog(_Part, frozen=True, kw_only=True, tag="log"):
    """Write a line to the log."""

    message: str = "Rule triggered"
    level: Level = Level.INFO


class SetState(_Part, frozen=True, kw_only=True, tag="set_state"):
    """Set a key of the state."""

    key: str
    value: Any = None


class EmitEvent(_Part, frozen=True, kw_only=True, tag="emit_event"):
    """Emit an event."""

    event_type: str
    payload: dict[str, Any] = {}


Action: TypeAlias = NotifySelf | WriteLog | SetState | EmitEvent


def type_of(action: type[Action]) -> str:
    """Return the name of an action in rule files."""
    return str(action.__struct_config__.tag)


def required_fields(action: type[Action]) -> tuple[str, ...]:
    """Return the fields without a default."""
    fields, defaults = action.__struct_fields__, action.__struct_defaults__
    without = (NODEFAULT,) * (len(fields) - len(defaults))
    given = zip(fields, without + defaults, strict=True)
    return tuple(field for field, default in given if default is NODEFAULT)


class RulePart(_Part, frozen=True, kw_only=True):
    """The keys of `[rule]`."""

    id: str
    name: str
    description: str
    version: str
    trigger: Hook
    priority: int
    enabled: bool
    core: bool
    plugin_id: str


class RuleSyntax(RulePart, frozen=True, kw_only=True):
    """The rule of one file. One of `expression` and `script` is empty."""

    expression: str
    script: str
    action: Action
    # The place of the `[rule]` header.
    line: int
    column: int


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(RuleSyntax)


def to_note(rule: RuleSyntax) -> bytes:
    """Return the rule as bytes, for the next load of the same text."""
    return _ENCODER.encode(rule)


def from_note(note: bytes) -> RuleSyntax | None:
    """Return the rule that `to_note` encoded; None for any other bytes."""
    try:
        return _DECODER.decode(note)
    except msgspec.MsgspecError:
        return None
