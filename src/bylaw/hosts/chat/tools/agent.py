"""A tool that a chat declares with `agent="…"`: it returns the answer of another chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from bylaw.hosts.chat.tools.arguments import Arguments, CheckedTool
from bylaw.hosts.chat.tools.base import ToolError
from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Callable


class AgentArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of an agent tool."""

    input: Annotated[str, Meta(description="The task for the agent, in words.")]


class AgentTool(CheckedTool[AgentArguments]):
    """Runs one agent. `run` gets the file of the agent and the input."""

    def __init__(
        self, name: str, path: str, description: str, run: Callable[[str, str], str]
    ) -> None:
        super().__init__(name, description or f"Ask the agent `{path}`.", AgentArguments)
        self._path = path
        self._run = run

    def act(self, args: AgentArguments) -> str:
        """Return the last message of the agent."""
        try:
            return self._run(self._path, args.input)
        except BylawError as problem:
            raise ToolError(str(problem)) from None
