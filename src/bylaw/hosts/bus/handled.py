"""What became of a message or of a change, as `bylaw bus run` tells it: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.base import is_stand_in
from bylaw.dialects.law.names import NAME
from bylaw.hosts.bus.ledger.ledger import MessageState
from bylaw.hosts.bus.messages.subjects import message_id
from bylaw.model.approvals import message_field
from bylaw.model.decision import Decision, Reason
from bylaw.model.event import Bus, File
from bylaw.model.uid import built_in_uid
from bylaw.model.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.answer import Answer


HELD = "held"
HELD_UID = built_in_uid(NAME, HELD)


class Handled(Struct, frozen=True):
    """One line: what it was about, what was decided, what came of it.

    `status` is done, held, refused or failed. `is_news` is false of a message that is held as it
    was before.
    """

    event: Event
    decision: Decision
    status: MessageState
    evidence: Sequence[str] = ()
    is_news: bool = True

    @classmethod
    def of(cls, answer: Answer, evidence: Sequence[str]) -> Handled:
        """What an answer means."""
        return cls(answer.event, answer.decision, _status(answer), tuple(evidence))

    @classmethod
    def still_held(cls, event: Event, why: str) -> Handled:
        """A message that waits on, for the same reason as before; nothing was decided anew."""
        same = Reason(rule=HELD, uid=HELD_UID, file="", line=0, verdict=Verdict.ASK, text=why)
        # A request has no reason: nobody objects, it only waits.
        decision = Decision(verdict=Verdict.ASK, reasons=(same,)) if why else Decision()
        return cls(event, decision, MessageState.HELD, is_news=False)

    @property
    def why(self) -> str:
        """The reasons, for people."""
        return "; ".join(reason.text for reason in self.decision.reasons)

    @property
    def found_wanting(self) -> bool:
        """Whether a person should look at it."""
        return self.status in {MessageState.REFUSED, MessageState.FAILED}

    def as_json(self) -> dict[str, JSON]:
        """As it is printed."""
        return {
            **_about(self.event),
            "verdict": self.decision.verdict.value,
            "rule": _rule(self.decision),
            "status": self.status.value,
            "evidence": list(self.evidence),
        }


def _about(event: Event) -> dict[str, JSON]:
    if isinstance(event, File):
        old: dict[str, JSON] = {"old_path": event.old_path} if event.old_path else {}
        return {"change": event.change.value, "path": event.path, **old}
    assert isinstance(event, Bus)
    written = message_field(event, "msg_id")
    return {"msg_id": message_id(event) or written, "file": event.file}


def _status(answer: Answer) -> MessageState:
    match answer.decision.verdict:
        case Verdict.ASK:
            return MessageState.HELD
        case Verdict.DENY | Verdict.HALT:
            return MessageState.HELD if _waits_for_rules(answer.decision) else MessageState.REFUSED
    return MessageState.FAILED if answer.ending.failures else MessageState.DONE


def _waits_for_rules(decision: Decision) -> bool:
    """Whether nothing but a broken rule file refuses it: once that is mended, it is tried again."""
    against = [reason.uid for reason in decision.reasons if reason.verdict >= Verdict.DENY]
    return all(map(is_stand_in, against))


def _rule(decision: Decision) -> str | None:
    """The rule that settled it: the one that judged, else the first that acted."""
    strongest = [one for one in decision.reasons if one.verdict is decision.verdict]
    if strongest and decision.verdict > Verdict.WARN:
        return strongest[0].rule
    return decision.plans[0].rule if decision.plans else None
