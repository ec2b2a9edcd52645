"""An agent without a model: it does what it is told to, and is governed like any coding agent."""

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

CLIENT = CLAUDE  # whose hooks it has
SESSION = "demo"


class ScriptedAgent:
    """Works in one root. As with real hooks, nothing is kept from one event to the next."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._calls = 0

    def hear(self, text: str, *, tokens: int) -> str:
        """A person says something."""
        return self._told(Heard(name="", moment=Moment.PROMPT, text=text, tokens=tokens))

    def search(self, query: str) -> str:
        """Look something up; it would find nothing, as there is no network."""
        call = Call(tool="WebSearch", also=tools.SEARCH.also, args={"query": query})
        return self._call(call, lambda: None)

    def patch(self, path: str, text: str) -> str:
        """Change a file."""
        return self._write("apply_patch", path, text)

    def write(self, path: str, text: str) -> str:
        """Make a file."""
        return self._write("Write", path, text)

    def stop(self, text: str) -> str:
        """Say that the work is done."""
        return self._told(Heard(name="", moment=Moment.STOP, text=text))

    def _write(self, tool: str, path: str, text: str) -> str:
        call = Call(tool=tool, also=tools.WRITE.also, args={"paths": [path]})
        return self._call(call, lambda: Path(self._root, path).write_text(text, encoding="utf-8"))

    def _call(self, call: Call, run: Callable[[], object]) -> str:
        """What it is told before and after; a call that is denied does not run."""
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
