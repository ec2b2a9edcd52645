"""Show the output of the model only when no rule can withhold it any more."""

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
    """Holds the output of one answer, over all its turns. `withholds`: a rule may withhold it."""

    def __init__(self, channel: Channel, listener: Listener, *, withholds: bool) -> None:
        self._channel = channel
        self._listener = listener
        self._withholds = withholds
        # The texts of this answer that came with calls.
        self._said: list[str] = []

    def forget(self) -> None:
        """Forget the texts: another answer begins."""
        self._said.clear()

    def hold(self) -> None:
        """Hold the output that follows, if a rule may withhold it."""
        if self._withholds:
            self._listener.hold()

    def objection(self, reply: Reply) -> Decision | None:
        """Return the decision that denies an output, None if it is allowed. Records nothing."""
        if not self._withholds:
            return None
        decision = self._channel.preview(self.end_of(reply.text, final=not reply.calls))
        return decision if is_refused(decision.verdict) else None

    def end_of(self, text: str, *, final: bool) -> TurnEnd:
        """Return the event for the end of a turn, with the earlier texts of the same answer."""
        return TurnEnd(text=text, final=final, earlier="\n".join(self._said))

    def stays_closed(self, answer: Answer) -> bool:
        """Whether the answer to the end of a turn denies its output; if so, drop the output."""
        if not self._withholds or not is_refused(answer.verdict):
            return False
        self._listener.drop()
        return True

    def show(self, reply: Reply) -> None:
        """Show the held output if the answer is complete, else keep the text for its end."""
        if reply.calls:
            self._said += [reply.text] if reply.text else []
        else:
            self.forget()
            self._listener.release()
