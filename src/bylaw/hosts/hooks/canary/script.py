"""What a model of ours says: turns, one an answer, whatever it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from bylaw.model.values import JSON


class ToolCall(Struct, frozen=True):
    """A tool that the client is to call."""

    name: str
    args: dict[str, JSON] = field(default_factory=dict)


class Turn(Struct, frozen=True):
    """One answer: a text, and calls of tools."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
