"""The interface of a tool, as a chat uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.chat.messages import ToolSpec
    from bylaw.model.values import JSON

# Characters of a result. The middle of a longer one is left out, and the result says so.
MAX_RESULT_CHARS = 200_000


class ToolError(BylawError):
    """The tool failed. The text is for the model."""


class ToolTimeoutError(ToolError):
    """The tool took too long and was stopped."""


class Tool(Protocol):
    """One tool."""

    spec: ToolSpec
    """The description for the model."""
    also: tuple[str, ...]
    """Other names that rules may use: the name in its declaration, and normalised ones such as
    `file.read`, `file.write`, `shell`."""
    synonyms: tuple[tuple[str, str], ...]
    """Other names of arguments, each with the real one. Rules see both."""

    def run(self, args: Mapping[str, JSON]) -> JSON:
        """Return the result. ToolError if it fails. Several threads may call this at once."""
