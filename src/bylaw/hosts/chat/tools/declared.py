"""The `<tool>` declarations of a chat → its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.declarations import AgentTool as DeclaredAgent
from bylaw.dialects.chatmd.declarations import BuiltInTool
from bylaw.dialects.chatmd.declarations import CommandTool as DeclaredCommand
from bylaw.hosts.chat.tools.agent import AgentTool
from bylaw.hosts.chat.tools.built_in import BUILT_IN_NAMES, built_in
from bylaw.hosts.chat.tools.command import CommandTool
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.dialects.chatmd.declarations import Declarations
    from bylaw.dialects.chatmd.declarations import Tool as Declared
    from bylaw.hosts.chat.tools.base import Tool
    from bylaw.hosts.chat.tools.files import Files
    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust
    from bylaw.runtime.watched.cancellation import Cancellation


class ToolMaker:
    """Makes the tools of a chat, which work on `files`. `tell` gets a text for each unknown one."""

    def __init__(
        self,
        files: Files,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        run_agent: Callable[[str, str], str],
        tell: Callable[[str], None],
        cancellation: Cancellation | None = None,
    ) -> None:
        self._files = files
        self._settings = settings
        self._trust = trust
        self._run_agent = run_agent
        self._tell = tell
        self._cancellation = cancellation

    def tools_of(self, declared: Declarations) -> Iterator[Tool]:
        """Yield every tool that Bylaw runs. A warning about others was given with the rules."""
        for one in declared.tools:
            tool = self._made(one)
            if tool is not None:
                yield tool

    def _made(self, one: Declared) -> Tool | None:
        match one:
            case DeclaredCommand():
                root, cancelled = self._files.root, self._cancellation
                return CommandTool(one, root, self._settings, self._trust, cancelled)
            case DeclaredAgent(name=name, path=path, description=said):
                return AgentTool(name, path, said, self._run_agent)
            case BuiltInTool(name=name):
                made = built_in(one, self._files, self._trust)
                if made is None:
                    help_ = did_you_mean(name, BUILT_IN_NAMES)
                    self._tell(f"unknown built-in tool `{name}`; {help_}")
                return made
        return None
