"""What a chat asks of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.chat.messages import ToolSpec
    from bylaw.model.values import JSON

# Characters of a result; the middle of a longer one is left out, and the result says so.
MAX_RESULT_CHARS = 200_000


class ToolError(BylawError):
    """The tool failed; the text is what the model is told."""


class ToolTimeoutError(ToolError):
    """The tool took too long and was stopped."""


class Tool(Protocol):
    """One tool."""

    spec: ToolSpec
    """As the model is told of it."""
    also: tuple[str, ...]
    """Other names that rules may use: that of its declaration, and normalised ones such as
    `file.read`, `file.write`, `shell`."""
    synonyms: tuple[tuple[str, str], ...]
    """Other names of arguments, each with the real one; rules see both."""

    def run(self, args: Mapping[str, JSON]) -> JSON:
        """The result; ToolError if it failed. Called from several threads at once."""
