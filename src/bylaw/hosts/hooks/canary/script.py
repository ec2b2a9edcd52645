"""The script of the fake model: turns, one per answer, independent of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from bylaw.model.values import JSON


class ToolCall(Struct, frozen=True):
    """A tool call that the client is to make."""

    name: str
    args: dict[str, JSON] = field(default_factory=dict)


class Turn(Struct, frozen=True):
    """One answer: a text and tool calls."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
