"""What a model of ours says: turns, one an answer, whatever it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.model.values import JSON


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the client is to call."""

    name: str
    args: dict[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer: a text, and calls of tools."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
