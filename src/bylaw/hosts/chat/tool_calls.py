"""The tools of a chat, and the calls of one assistant message: decide, run, write the response.

Responses are written in call order. Calls run in parallel, except those that change files. If the
rules would not allow a call without any action while other calls run, it waits until those have
finished and is decided then. So a tool that must come after another tool can be called in the same
message.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from time import monotonic_ns
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from bylaw.hosts.chat.tools.base import ToolError, ToolTimeoutError, result_text
from bylaw.hosts.chat.transcript import response
from bylaw.model.display import brief
from bylaw.model.event import Message, ToolAfter, ToolBefore
from bylaw.model.suggest import did_you_mean
from bylaw.model.values import JsonError, as_text, read_json
from bylaw.model.vocabulary import CallStatus, Role, Verdict, is_not_allowed
from bylaw.runtime.answer import refused_call_event
from bylaw.runtime.effects import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from bylaw.hosts.chat.blocks import Block, ToolSpec
    from bylaw.hosts.chat.tools.base import Tool
    from bylaw.hosts.chat.transcript import Transcript
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.answer import Answer

# The normalised name of every tool that changes files.
WRITES = "file.write"


class ToolResult(Struct, frozen=True):
    """The result of a call: the text for the file, and the value that rules read."""

    text: str
    value: JSON = None
    status: CallStatus = CallStatus.OK

    @property
    def failed(self) -> bool:
        """Whether the text is an error."""
        return self.status is not CallStatus.OK


def failure(problem: str, status: CallStatus = CallStatus.ERROR) -> ToolResult:
    """Return an error. Its text begins with `Error`, so that models and guards recognise it."""
    text = problem if problem.lower().startswith("error") else f"Error: {problem}"
    return ToolResult(result_text(text), None, status)


class ToolScript(Protocol):
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
        script: ToolScript | None = None,
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
        self.sequential = script is not None

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

    def run(self, name: str, args: Mapping[str, JSON]) -> ToolResult:
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
        return ToolResult(text, value if text == as_text(value) else text)

    def _value(self, name: str, args: Mapping[str, JSON]) -> JSON:
        if self._script is not None:
            return self._script.run(name, args)
        tool = self._tools.get(name)
        if tool is not None:
            return tool.run(args)
        help_ = did_you_mean(name, [spec.name for spec in self.specs])
        raise ToolError(f"unknown tool `{brief(name)}`" + (f"; {help_}" if help_ else ""))


MAX_AT_ONCE = 8


class ToolRun(NamedTuple):
    """A tool call that is running."""

    before: ToolBefore
    begun: int
    result: Future[ToolResult]


class ToolCaller:
    """Handles the calls of a message. `halted` is the answer that ended the turn, if one did."""

    def __init__(
        self,
        transcript: Transcript,
        tools: Toolbox,
        submit: Callable[[Event], Answer],
        passes: Callable[[Event], bool],
    ) -> None:
        self._transcript = transcript
        self._tools = tools
        self._submit = submit
        self._passes = passes
        self._running: deque[ToolRun] = deque()
        self.halted: Answer | None = None

    def answer_all(self, calls: Iterable[Block]) -> None:
        """Run all calls. Every call gets exactly one response."""
        pool = ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="tool")
        try:
            for call in calls:
                if self.halted is None:
                    self._start_call(call, pool)
                else:
                    self._answer_error(call, "the turn was halted before this call")
            self._drain()
        except BaseException:
            self._tools.cancel()  # their results are not needed any more
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _start_call(self, call: Block, pool: ThreadPoolExecutor) -> None:
        try:
            args = read_json(call.text or "{}")
        except JsonError as wrong:
            self._answer_error(call, f"the arguments are not JSON: {wrong}")
            return
        if not isinstance(args, dict):
            self._answer_error(call, "the arguments are not a JSON object")
            return
        also = self._tools.also(call.tool)
        seen = self._tools.seen(call.tool, args)
        before = ToolBefore(tool=call.tool, also=also, args=seen, call=call.call)
        if self._running and not self._may_join(before):
            self._drain()
        answer = self._submit(before)
        if is_not_allowed(answer.verdict):
            self._answer_refused(call, answer)
            return
        job = pool.submit(self._tools.run, call.tool, args)
        self._running.append(ToolRun(before, monotonic_ns(), job))

    def _may_join(self, before: ToolBefore) -> bool:
        if len(self._running) >= MAX_AT_ONCE or self._tools.sequential:
            return False
        tools = [before.tool, *(running.before.tool for running in self._running)]
        return not any(map(self._tools.writes, tools)) and self._passes(before)

    def _answer_refused(self, call: Block, answer: Answer) -> None:
        """Write the response to a refused call, unless the host did so when a rule denied it."""
        if answer.verdict is Verdict.DENY and not answer.problem:
            return
        reasons = "\n".join(reason.text for reason in answer.deciding.reasons)
        rule = next((reason.rule for reason in answer.deciding.reasons), "")
        if answer.verdict is Verdict.HALT:
            self.halted = answer
        self._drain()  # keep the call order
        ended = refused_call_event(answer)
        if ended is not None:  # before the response, else a chat that resumes reports a failure
            self._submit(ended)
        self._answer(call.call, failure(reasons), rule)

    def _answer_error(self, call: Block, why: str) -> None:
        """Answer a call that does not run. Rules get no tool event for it."""
        self._drain()  # keep the call order
        self._answer(call.call, failure(why))

    def _drain(self) -> None:
        while self._running:
            before, begun, job = self._running.popleft()
            result = job.result()
            ms = (monotonic_ns() - begun) // NS_PER_MS
            self._answer(before.call, result)
            self._submit(_end_event(before, result, ms))

    def _answer(self, call_id: str, result: ToolResult, rule: str = "") -> None:
        written = response(call_id, result.text, failed=result.failed, rule=rule)
        (block,) = self._transcript.add(written)
        self._submit(Message(role=Role.TOOL, text=block.text))


def _end_event(before: ToolBefore, result: ToolResult, ms: int) -> ToolAfter:
    return ToolAfter(
        tool=before.tool,
        also=before.also,
        args=before.args,
        call=before.call,
        status=result.status,
        result=result.value,
        error=result.text if result.failed else "",
        ms=ms,
    )
