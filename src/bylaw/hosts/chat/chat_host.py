"""The host of one ChatMD file: writes the effects of rules, and the calls of rules, as blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.engine.causes import MAX_CHAIN, denial_message
from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.compaction.failing import CompactionError
from bylaw.hosts.chat.transcript import call, message, response
from bylaw.model.effects import AgentRun, HistoryCompact, Log, MessageInsert, ToolCall
from bylaw.model.errors import BylawError
from bylaw.model.event import ToolBefore
from bylaw.model.values import as_text
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import CallStatus, EffectStatus, Op, Recipient, Role
from bylaw.runtime.effects import CHAT
from bylaw.runtime.needs import NO_GATHERERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.engine.plan import Due
    from bylaw.hosts.chat.compaction.compactor import Compactor
    from bylaw.hosts.chat.toolbox import Toolbox
    from bylaw.hosts.chat.transcript import Transcript
    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performer, Performers

    # Takes the path of a ChatMD file and an input; returns the answer of its model.
    RunAgent = Callable[[str, str], str]


_STATUSES = {
    CallStatus.OK: EffectStatus.OK,
    CallStatus.ERROR: EffectStatus.FAILED,
    CallStatus.TIMEOUT: EffectStatus.TIMEOUT,
}
# The result of an effect for an agent whose chat ended when an earlier process died.
GONE = StepOutcome(EffectStatus.FAILED, {"error": "the chat of the agent is over"})


class ChatHost:
    """Performs effects by writing blocks, and writes the calls of rules and their responses."""

    name = CHAT

    def __init__(
        self,
        transcript: Transcript,
        tools: Toolbox,
        compactor: Compactor,
        run_agent: RunAgent,
        agent: str = "",
    ) -> None:
        self._transcript = transcript
        self._agent_name = agent
        self._tools = tools
        self._compactor = compactor
        self._run_agent = run_agent

    @property
    def gatherers(self) -> Gatherers:
        """None: the events of a chat come with all facts."""
        return NO_GATHERERS

    @property
    def scribe(self) -> ChatHost:
        """The host itself writes the calls of rules."""
        return self

    @property
    def performers(self) -> Performers:
        """One method per effect."""
        methods: Performers = {
            Op.MESSAGE_INSERT: self._insert,
            Op.TOOL_CALL: self._call,
            Op.AGENT_RUN: self._agent,
            Op.HISTORY_COMPACT: self._compact,
            Op.LOG: self._log,
        }
        return {op: partial(self._perform, method) for op, method in methods.items()}

    def _perform(self, method: Performer, due: Due, event: Event) -> StepOutcome:
        return method(due, event) if event.agent == self._agent_name else GONE

    def _insert(self, due: Due, _event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, MessageInsert)
        assert isinstance(step.text, str)
        if step.to is Recipient.PERSON:
            self._transcript.listener.note(step.text)
        else:
            self._transcript.add(message(step.role, step.text, due.plan.rule))
        return DONE

    def _log(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, Log)
        self._transcript.listener.log(due.step.level, due.plan.rule, due.step.text)
        return DONE

    def _call(self, due: Due, event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, ToolCall)
        assert isinstance(event, ToolBefore)
        result = self._tools.run(step.tool, step.args)
        answer = response(event.call, result.text, failed=result.failed, rule=due.plan.rule)
        self._transcript.add(answer)
        told: JSON = {"error": result.text} if result.failed else {"result": result.value}
        return StepOutcome(_STATUSES[result.status], told)

    def _agent(self, due: Due, _event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, AgentRun)
        assert isinstance(step.input, str)
        try:
            return StepOutcome(EffectStatus.OK, {"result": self._run_agent(step.src, step.input)})
        except BylawError as problem:
            return StepOutcome(EffectStatus.FAILED, {"error": str(problem)})

    def _compact(self, due: Due, _event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, HistoryCompact)
        try:
            done = self._compactor.compact(self._transcript.file, step, due.plan.rule)
        except CompactionError as problem:
            return StepOutcome(EffectStatus.FAILED, {"error": str(problem)})
        told: dict[str, JSON] = {"result": done.note, "count": done.replaced}
        if done.replaced:
            self._transcript.renew()
            told |= {"length": done.length, "tokens": done.tokens}
        return StepOutcome(EffectStatus.OK, told)

    def named(self, before: ToolBefore) -> ToolBefore:
        """Return the call of a rule with the other names of its tool and arguments."""
        seen = self._tools.seen(before.tool, before.args)
        return replace(before, also=self._tools.also(before.tool), args=seen)

    def call_begins(self, before: ToolBefore, rule: str) -> None:
        """Write the call of a rule as a block."""
        if before.agent != self._agent_name:
            return
        self._transcript.add(call(before.call, before.tool, as_text(dict(before.args)), rule))

    def call_denied(self, before: ToolBefore, decision: Decision) -> None:
        """Write exactly one response, in the name of the first rule that denied."""
        if not self._waits(before.call):
            return
        told = denial_message(before, decision)
        assert told is not None
        denying = next(r.rule for r in decision.reasons if r.verdict is Verdict.DENY)
        self._transcript.add(response(before.call, told.text, failed=True, rule=denying))

    def _waits(self, call_id: str) -> bool:
        """Whether a call of this file has no response; an earlier process may have written one."""
        blocks = reversed(self._transcript.blocks)
        last = next((block for block in blocks if block.call == call_id), None)
        return last is not None and last.kind is BlockKind.CALL

    def call_refused(self, before: ToolBefore, text: str, rule: str) -> None:
        """Write the response to a refused call, so that every call of this file has one."""
        if self._waits(before.call):
            self._transcript.add(response(before.call, text, failed=True, rule=rule))

    def too_deep(self, event: Event, due: Due) -> str:
        """Write to the chat that a step was not performed, and return the text (CM-A32)."""
        text = (
            f"{due.step.op} of rule {due.plan.rule} was not performed:"
            f" a chain of rules has at most {MAX_CHAIN} links"
        )
        if event.agent == self._agent_name:
            self._transcript.add(message(Role.DEVELOPER, text, due.plan.rule))
        return text
