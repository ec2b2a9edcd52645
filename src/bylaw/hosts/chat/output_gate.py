"""What the model says in one answer → shown, once nobody can keep it back any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.event import TurnEnd
from bylaw.model.verdict import is_refused

if TYPE_CHECKING:
    from bylaw.hosts.chat.channel import Channel
    from bylaw.hosts.chat.listener import Listener
    from bylaw.hosts.chat.messages import Reply
    from bylaw.model.decision import Decision
    from bylaw.runtime.answer import Answer


class OutputGate:
    """The turns of one answer; `withholds` says whether a rule may keep an output back."""

    def __init__(self, channel: Channel, listener: Listener, *, withholds: bool) -> None:
        self._channel = channel
        self._listener = listener
        self._withholds = withholds
        # What the model said in this answer, before it called tools.
        self._said: list[str] = []

    def forget(self) -> None:
        """Another answer begins."""
        self._said.clear()

    def hold(self) -> None:
        """Show nothing of what follows, if it may be kept back."""
        if self._withholds:
            self._listener.hold()

    def objection(self, reply: Reply) -> Decision | None:
        """What a rule objects to in an output that nobody has seen; nothing is recorded."""
        if not self._withholds:
            return None
        decision = self._channel.preview(self.end_of(reply.text, final=not reply.calls))
        return decision if is_refused(decision.verdict) else None

    def end_of(self, text: str, *, final: bool) -> TurnEnd:
        """The end of a turn, with what was said before in the same answer."""
        return TurnEnd(text=text, final=final, earlier="\n".join(self._said))

    def stays_closed(self, answer: Answer) -> bool:
        """Whether an output is not shown after all, by the answer to the end of its turn."""
        if not self._withholds or not is_refused(answer.verdict):
            return False
        self._listener.drop()
        return True

    def show(self, reply: Reply) -> None:
        """What was held is shown once the answer is whole and nobody kept it back."""
        if reply.calls:
            self._said += [reply.text] if reply.text else []
        else:
            self.forget()
            self._listener.release()
