"""The result of one message or file change. `bylaw bus run` prints one line for each."""

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
    """The event, the decision, and the result.

    `status` is done, held, refused or failed. `is_news` is false if a message is still held and
    nothing has changed.
    """

    event: Event
    decision: Decision
    status: MessageState
    evidence: Sequence[str] = ()
    is_news: bool = True

    @classmethod
    def of(cls, answer: Answer, evidence: Sequence[str]) -> Handled:
        """Build the result from an answer and the evidence written for it."""
        return cls(answer.event, answer.decision, _status(answer), tuple(evidence))

    @classmethod
    def still_held(cls, event: Event, why: str) -> Handled:
        """Build the result of a message that stays held: the old reason, no new decision."""
        same = Reason(rule=HELD, uid=HELD_UID, file="", line=0, verdict=Verdict.ASK, text=why)
        # An approval request waits without a reason: no rule is against it.
        decision = Decision(verdict=Verdict.ASK, reasons=(same,)) if why else Decision()
        return cls(event, decision, MessageState.HELD, is_news=False)

    @property
    def why(self) -> str:
        """The texts of the reasons."""
        return "; ".join(reason.text for reason in self.decision.reasons)

    @property
    def found_wanting(self) -> bool:
        """Whether it was refused or failed, so that a person should check it."""
        return self.status in {MessageState.REFUSED, MessageState.FAILED}

    def as_json(self) -> dict[str, JSON]:
        """The line that is printed, as JSON fields."""
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
    """Whether only broken rule files deny it. It is tried again when they are fixed."""
    against = [reason.uid for reason in decision.reasons if reason.verdict >= Verdict.DENY]
    return all(map(is_stand_in, against))


def _rule(decision: Decision) -> str | None:
    """The rule that decided; without one, the first rule that fired."""
    strongest = [one for one in decision.reasons if one.verdict is decision.verdict]
    if strongest and decision.verdict > Verdict.WARN:
        return strongest[0].rule
    return decision.plans[0].rule if decision.plans else None
