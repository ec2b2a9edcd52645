"""The host of one ChatMD file: submits its events, and writes effects of rules as blocks.

Each event is stamped with the session, the agent, the disabled rules and facts about the model. The
calls of rules and their responses are written as blocks, too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.engine.plan import DONE, MAX_CHAIN, StepOutcome, denial_message
from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.compaction.units import CompactionError
from bylaw.hosts.chat.transcript import call, message, response
from bylaw.model.effects import AgentRun, HistoryCompact, Log, MessageInsert, ToolCall
from bylaw.model.errors import BylawError
from bylaw.model.event import Message, ToolBefore
from bylaw.model.values import as_text
from bylaw.model.vocabulary import (
    CallStatus,
    EffectStatus,
    Kind,
    Op,
    Recipient,
    Role,
    Verdict,
    is_not_allowed,
)
from bylaw.runtime.answer import BlocksBefore, decide_stop
from bylaw.runtime.effects import CHAT
from bylaw.runtime.needs import NO_GATHERERS, with_model_facts
from bylaw.store.journal.records import records_since

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.engine.plan import DueStep
    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.compaction.compactor import Compactor
    from bylaw.hosts.chat.tool_calls import Toolbox
    from bylaw.hosts.chat.transcript import Transcript
    from bylaw.model.decision import Decision
    from bylaw.model.event import AgentStop, Event
    from bylaw.model.session import Session
    from bylaw.model.values import JSON
    from bylaw.runtime.answer import Answer, StopAnswer
    from bylaw.runtime.effects import Performer, Performers
    from bylaw.runtime.loop import Loop
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.rules_in_force import DisabledRules
    from bylaw.runtime.settings import ModelSettings
    from bylaw.store.journal.records import Record

    # Takes the path of a ChatMD file and an input; returns the answer of its model.
    RunAgent = Callable[[str, str], str]


_STATUSES = {
    CallStatus.OK: EffectStatus.OK,
    CallStatus.ERROR: EffectStatus.FAILED,
    CallStatus.TIMEOUT: EffectStatus.TIMEOUT,
}
# The result of an effect for an agent whose chat ended when an earlier process died.
CHAT_ENDED = StepOutcome(EffectStatus.FAILED, {"error": "the chat of the agent is over"})


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

    def _perform(self, method: Performer, due: DueStep, event: Event) -> StepOutcome:
        return method(due, event) if event.agent == self._agent_name else CHAT_ENDED

    def _insert(self, due: DueStep, _event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, MessageInsert)
        assert isinstance(step.text, str)
        if step.to is Recipient.PERSON:
            self._transcript.listener.note(step.text)
        else:
            self._transcript.add(message(step.role, step.text, due.plan.rule))
        return DONE

    def _log(self, due: DueStep, _event: Event) -> StepOutcome:
        assert isinstance(due.step, Log)
        self._transcript.listener.log(due.step.level, due.plan.rule, due.step.text)
        return DONE

    def _call(self, due: DueStep, event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, ToolCall)
        assert isinstance(event, ToolBefore)
        result = self._tools.run(step.tool, step.args)
        answer = response(event.call, result.text, failed=result.failed, rule=due.plan.rule)
        self._transcript.add(answer)
        told: JSON = {"error": result.text} if result.failed else {"result": result.value}
        return StepOutcome(_STATUSES[result.status], told)

    def _agent(self, due: DueStep, _event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, AgentRun)
        assert isinstance(step.input, str)
        try:
            return StepOutcome(EffectStatus.OK, {"result": self._run_agent(step.src, step.input)})
        except BylawError as problem:
            return StepOutcome(EffectStatus.FAILED, {"error": str(problem)})

    def _compact(self, due: DueStep, _event: Event) -> StepOutcome:
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
        if not self._has_no_response(before.call):
            return
        told = denial_message(before, decision)
        assert told is not None
        denying = next(r.rule for r in decision.reasons if r.verdict is Verdict.DENY)
        self._transcript.add(response(before.call, told.text, failed=True, rule=denying))

    def _has_no_response(self, call_id: str) -> bool:
        """Whether a call of this file has no response; an earlier process may have written one."""
        blocks = reversed(self._transcript.blocks)
        last = next((block for block in blocks if block.call == call_id), None)
        return last is not None and last.kind is BlockKind.CALL

    def call_refused(self, before: ToolBefore, text: str, rule: str) -> None:
        """Write the response to a refused call, so that every call of this file has one."""
        if self._has_no_response(before.call):
            self._transcript.add(response(before.call, text, failed=True, rule=rule))

    def too_deep(self, event: Event, due: DueStep) -> str:
        """Write to the chat that a step was not performed, and return the text (CM-A32)."""
        text = (
            f"{due.step.op} of rule {due.plan.rule} was not performed:"
            f" a chain of rules has at most {MAX_CHAIN} links"
        )
        if event.agent == self._agent_name:
            self._transcript.add(message(Role.DEVELOPER, text, due.plan.rule))
        return text


class AgentChannel:
    """One agent's connection to its session."""

    def __init__(
        self, loop: Loop, session: str, agent: str, switches: DisabledRules, model: ModelSettings
    ) -> None:
        self._loop = loop
        self.session_id = session
        self.agent = agent
        self._switches = switches
        self._model = model

    def submit(self, event: Event) -> Answer:
        """Record an event, decide it, and perform its effects."""
        (answer,) = self._loop.take([self._stamp(event)])
        return answer

    def stop(self, event: AgentStop, max_blocks: int, in_a_row: int) -> tuple[Answer, StopAnswer]:
        """Submit a stop of the model. If violations no longer block, record their release."""
        answer = self.submit(event)
        judged = decide_stop(answer, self._loop.journal, max_blocks, BlocksBefore(in_a_row))
        self._loop.take(judged.release_records)
        return answer, judged

    def is_allowed(self, event: Event) -> bool:
        """Whether the rules would allow the event now, without any action."""
        decision = self.preview(event)
        return decision.verdict is Verdict.ALLOW and not decision.plans

    def preview(self, event: Event) -> Decision:
        """Return what the rules would decide now. Nothing is recorded."""
        return self._loop.runtime.preview(self._stamp(event))

    def recover(self) -> None:
        """Finish what an earlier process left unfinished."""
        self._loop.runtime.recover(self.session_id)

    def session(self) -> Session:
        """Return the session as recorded."""
        return self._loop.journal.session(self.session_id)

    def has_event_of(self, block: Block, since: int) -> bool:
        """Whether the event of a message is recorded after event number `since`.

        False if a rule denied the last prompt: the model must not answer that.
        """
        said = (block.role, block.text)
        told = (record.event for record in self._records(Kind.MESSAGE, since))
        return not self.is_prompt_denied() and any(
            isinstance(event, Message) and (event.role, event.text) == said and not event.cause
            for event in told
        )

    def is_prompt_denied(self) -> bool:
        """Whether a rule denied the last prompt."""
        last = [record.decision.verdict for record in self._records(Kind.PROMPT)][-1:]
        return any(map(is_not_allowed, last))

    def _records(self, kind: Kind, since: int = 0) -> Iterator[Record]:
        found = records_since(self._loop.journal, self.session_id, since, kind)
        return (record for record in found if record.event.agent == self.agent)

    def _stamp(self, event: Event) -> Event:
        named = replace(event, session=self.session_id, agent=self.agent)
        return with_model_facts(self._switches.stamp(named), self._model)
