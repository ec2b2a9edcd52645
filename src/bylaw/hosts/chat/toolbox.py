"""The tools of one chat, by every name that a model or a rule may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from bylaw.hosts.chat.tools.base import ToolError, ToolTimeoutError
from bylaw.hosts.chat.tools.result_text import result_text
from bylaw.model.suggest import did_you_mean
from bylaw.model.values import as_text
from bylaw.model.visible import brief
from bylaw.model.vocabulary import CallStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bylaw.hosts.chat.messages import ToolSpec
    from bylaw.hosts.chat.tools.base import Tool
    from bylaw.model.values import JSON


# The normalised name of every tool that changes files.
WRITES = "file.write"


class Result(Struct, frozen=True):
    """The result of a call: the text for the file, and the value that rules read."""

    text: str
    value: JSON = None
    status: CallStatus = CallStatus.OK

    @property
    def failed(self) -> bool:
        """Whether the text is an error."""
        return self.status is not CallStatus.OK


def failure(problem: str, status: CallStatus = CallStatus.ERROR) -> Result:
    """Return an error. Its text begins with `Error`, so that models and guards recognise it."""
    text = problem if problem.lower().startswith("error") else f"Error: {problem}"
    return Result(result_text(text), None, status)


class Script(Protocol):
    """Prepared results for every tool."""

    def run(self, name: str, args: Mapping[str, JSON]) -> JSON:
        """Return the next result of a tool. Raises ToolError if it is an error or missing."""


class Toolbox:
    """The tools of a chat. With a script, every result comes from the script.

    `one_by_one`: calls do not run in parallel, because the results of a script have an order.
    `cancel` ends all running commands, and no command can run after it.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        script: Script | None = None,
        cancel: Callable[[], None] = lambda: None,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            for name in (tool.spec.name, *tool.also):
                self._tools.setdefault(name, tool)
        self._script = script
        self.cancel = cancel
        self.specs: tuple[ToolSpec, ...] = tuple(
            {tool.spec.name: tool.spec for tool in self._tools.values()}.values()
        )
        self.one_by_one = script is not None

    def also(self, name: str) -> tuple[str, ...]:
        """Return the other names of a tool."""
        tool = self._tools.get(name)
        if tool is None:
            return ()
        return tuple(one for one in (tool.spec.name, *tool.also) if one != name)

    def writes(self, name: str) -> bool:
        """Whether a tool changes files. Such calls run one after the other, in call order."""
        tool = self._tools.get(name)
        return tool is not None and WRITES in tool.also

    def seen(self, name: str, args: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the arguments as rules see them: under every name that the tool accepts."""
        tool = self._tools.get(name)
        named = dict(args)
        for pair in tool.synonyms if tool is not None else ():
            given = [name for name in pair if name in args]
            if len(given) == 1:
                named |= dict.fromkeys(pair, args[given[0]])
        return named

    def run(self, name: str, args: Mapping[str, JSON]) -> Result:
        """Run a tool. Every error becomes its result and never ends the chat."""
        try:
            value = self._value(name, args)
            text = result_text(value)
        except ToolTimeoutError as late:
            return failure(str(late), CallStatus.TIMEOUT)
        except ToolError as problem:
            return failure(str(problem))
        except Exception as broken:  # noqa: BLE001 - a tool that crashes has failed
            return failure(f"`{brief(name)}` crashed: {type(broken).__name__}: {broken}")
        return Result(text, value if text == as_text(value) else text)

    def _value(self, name: str, args: Mapping[str, JSON]) -> JSON:
        if self._script is not None:
            return self._script.run(name, args)
        tool = self._tools.get(name)
        if tool is not None:
            return tool.run(args)
        help_ = did_you_mean(name, [spec.name for spec in self.specs])
        raise ToolError(f"unknown tool `{brief(name)}`" + (f"; {help_}" if help_ else ""))
