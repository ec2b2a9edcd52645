"""An agent without a model: it follows a script, and Bylaw's hooks govern it like a coding agent.

Each call of `_ask` is one hook event, decided in this process.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.base import Call, Heard
from bylaw.hosts.hooks.desk import Desk
from bylaw.model.vocabulary import CallStatus, Moment
from bylaw.runtime.effects import CLAUDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.hooks.base import Told

CLIENT = CLAUDE  # the agent sends the hook events of this client
SESSION = "demo"


class ScriptedAgent:
    """Work in one root. As with real hooks, each event starts without memory of the last one."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._calls = 0

    def hear(self, text: str, *, tokens: int) -> str:
        """Receive a prompt of the person."""
        return self._told(Heard(name="", moment=Moment.PROMPT, text=text, tokens=tokens))

    def search(self, query: str) -> str:
        """Call the web search. Without a network it finds nothing."""
        call = Call(tool="WebSearch", also=tools.SEARCH.also, args={"query": query})
        return self._call(call, lambda: None)

    def patch(self, path: str, text: str) -> str:
        """Change a file."""
        return self._write("apply_patch", path, text)

    def write(self, path: str, text: str) -> str:
        """Write a new file."""
        return self._write("Write", path, text)

    def stop(self, text: str) -> str:
        """Stop with this last message."""
        return self._told(Heard(name="", moment=Moment.STOP, text=text))

    def _write(self, tool: str, path: str, text: str) -> str:
        call = Call(tool=tool, also=tools.WRITE.also, args={"paths": [path]})
        return self._call(call, lambda: Path(self._root, path).write_text(text, encoding="utf-8"))

    def _call(self, call: Call, run: Callable[[], object]) -> str:
        """Run a call unless Bylaw denies it, and return the reply."""
        self._calls += 1
        named = replace(call, id=f"call-{self._calls}")
        before = self._ask(Heard(name="", moment=Moment.BEFORE_TOOL, call=named))
        if before.refused:
            return before.reason
        run()
        done = replace(named, status=CallStatus.OK)
        return self._told(Heard(name="", moment=Moment.AFTER_TOOL, call=done))

    def _told(self, heard: Heard) -> str:
        told = self._ask(heard)
        return "\n".join([told.reason, *told.for_model, *told.for_person]).strip()

    def _ask(self, heard: Heard) -> Told:
        with ExitStack() as stack:
            return Desk(self._root, CLIENT, stack).hear(heard, SESSION)
