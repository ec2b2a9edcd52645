"""Run the calls of one assistant message: decide each call, run it, and write its response.

Responses are written in call order. Calls run in parallel, except those that change files. If the
rules would not allow a call without any action while other calls run, it waits until those have
finished and is decided then. So a tool that must come after another tool can be called in the same
message.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from time import monotonic_ns
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.chat.toolbox import Result, failure
from bylaw.hosts.chat.transcript import response
from bylaw.model.event import Message, ToolAfter, ToolBefore
from bylaw.model.strict_json import JsonError, read_json
from bylaw.model.verdict import Verdict, is_refused
from bylaw.model.vocabulary import Role
from bylaw.runtime.performing import MS
from bylaw.runtime.step_events import call_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.toolbox import Toolbox
    from bylaw.hosts.chat.transcript import Transcript
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer

MAX_AT_ONCE = 8


class Running(NamedTuple):
    """A tool call that is running."""

    before: ToolBefore
    begun: int
    result: Future[Result]


class Caller:
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
        self._running: deque[Running] = deque()
        self.halted: Answer | None = None

    def answer_all(self, calls: Iterable[Block]) -> None:
        """Run all calls. Every call gets exactly one response."""
        pool = ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="tool")
        try:
            for call in calls:
                if self.halted is None:
                    self._take(call, pool)
                else:
                    self._refuse(call, "the turn was halted before this call")
            self._drain()
        except BaseException:
            self._tools.cancel()  # their results are not needed any more
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _take(self, call: Block, pool: ThreadPoolExecutor) -> None:
        try:
            args = read_json(call.text or "{}")
        except JsonError as wrong:
            self._refuse(call, f"the arguments are not JSON: {wrong}")
            return
        if not isinstance(args, dict):
            self._refuse(call, "the arguments are not a JSON object")
            return
        also = self._tools.also(call.tool)
        seen = self._tools.seen(call.tool, args)
        before = ToolBefore(tool=call.tool, also=also, args=seen, call=call.call)
        if self._running and not self._may_join(before):
            self._drain()
        answer = self._submit(before)
        if is_refused(answer.verdict):
            self._denied(call, answer)
            return
        job = pool.submit(self._tools.run, call.tool, args)
        self._running.append(Running(before, monotonic_ns(), job))

    def _may_join(self, before: ToolBefore) -> bool:
        if len(self._running) >= MAX_AT_ONCE or self._tools.one_by_one:
            return False
        tools = [before.tool, *(running.before.tool for running in self._running)]
        return not any(map(self._tools.writes, tools)) and self._passes(before)

    def _denied(self, call: Block, answer: Answer) -> None:
        """Write the response to a refused call, unless the host did so when a rule denied it."""
        if answer.verdict is Verdict.DENY and not answer.problem:
            return
        reasons = "\n".join(reason.text for reason in answer.deciding.reasons)
        rule = next((reason.rule for reason in answer.deciding.reasons), "")
        if answer.verdict is Verdict.HALT:
            self.halted = answer
        self._drain()  # keep the call order
        ended = call_refused(answer)
        if ended is not None:  # before the response, else a chat that resumes reports a failure
            self._submit(ended)
        self._answer(call.call, failure(reasons), rule)

    def _refuse(self, call: Block, why: str) -> None:
        """Answer a call that does not run. Rules get no tool event for it."""
        self._drain()  # keep the call order
        self._answer(call.call, failure(why))

    def _drain(self) -> None:
        while self._running:
            before, begun, job = self._running.popleft()
            result = job.result()
            ms = (monotonic_ns() - begun) // MS
            self._answer(before.call, result)
            self._submit(_ended(before, result, ms))

    def _answer(self, call_id: str, result: Result, rule: str = "") -> None:
        written = response(call_id, result.text, failed=result.failed, rule=rule)
        (block,) = self._transcript.add(written)
        self._submit(Message(role=Role.TOOL, text=block.text))


def _ended(before: ToolBefore, result: Result, ms: int) -> ToolAfter:
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
