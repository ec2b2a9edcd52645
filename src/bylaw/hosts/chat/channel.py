"""Submit the events of one agent of a chat to the runtime.

Each event is stamped with the session, the agent, the disabled rules and facts about the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.model.event import Message
from bylaw.model.verdict import Verdict, is_refused
from bylaw.model.vocabulary import Kind
from bylaw.runtime.journal.reading import records_since
from bylaw.runtime.model_facts import with_model_facts
from bylaw.runtime.stop_gate import BlocksBefore, judged_stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.base import Loop
    from bylaw.hosts.chat.blocks import Block
    from bylaw.model.decision import Decision
    from bylaw.model.event import AgentStop, Event
    from bylaw.model.session import Session
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.journal.reading import Record
    from bylaw.runtime.settings.tables import ModelSettings
    from bylaw.runtime.stop_gate import StopAnswer
    from bylaw.runtime.switching import Switchboard


class Channel:
    """One agent's connection to its session."""

    def __init__(
        self, loop: Loop, session: str, agent: str, switches: Switchboard, model: ModelSettings
    ) -> None:
        self._loop = loop
        self.session_id = session
        self.agent = agent
        self._switches = switches
        self._model = model

    def submit(self, event: Event) -> Answer:
        """Record an event, decide it, and perform its effects."""
        (answer,) = self._loop.take([self._stamped(event)])
        return answer

    def stop(self, event: AgentStop, max_blocks: int, in_a_row: int) -> tuple[Answer, StopAnswer]:
        """Submit a stop of the model. If violations no longer block, record their release."""
        answer = self.submit(event)
        judged = judged_stop(answer, self._loop.journal, max_blocks, BlocksBefore(in_a_row))
        self._loop.take(judged.release_records)
        return answer, judged

    def passes(self, event: Event) -> bool:
        """Whether the rules would allow the event now, without any action."""
        decision = self.preview(event)
        return decision.verdict is Verdict.ALLOW and not decision.plans

    def preview(self, event: Event) -> Decision:
        """Return what the rules would decide now. Nothing is recorded."""
        return self._loop.runtime.preview(self._stamped(event))

    def recover(self) -> None:
        """Finish what an earlier process left unfinished."""
        self._loop.runtime.recover(self.session_id)

    def session(self) -> Session:
        """Return the session as recorded."""
        return self._loop.journal.session(self.session_id)

    def has_told(self, block: Block, since: int) -> bool:
        """Whether the event of a message is recorded after event number `since`.

        False if a rule denied the last prompt: the model must not answer that.
        """
        said = (block.role, block.text)
        told = (record.event for record in self._records(Kind.MESSAGE, since))
        return not self.keeps_back() and any(
            isinstance(event, Message) and (event.role, event.text) == said and not event.cause
            for event in told
        )

    def keeps_back(self) -> bool:
        """Whether a rule denied the last prompt."""
        last = [record.decision.verdict for record in self._records(Kind.PROMPT)][-1:]
        return any(map(is_refused, last))

    def _records(self, kind: Kind, since: int = 0) -> Iterator[Record]:
        found = records_since(self._loop.journal, self.session_id, since, kind)
        return (record for record in found if record.event.agent == self.agent)

    def _stamped(self, event: Event) -> Event:
        named = replace(event, session=self.session_id, agent=self.agent)
        return with_model_facts(self._switches.stamp(named), self._model)
