"""Handle one message file: claim it, decide it, perform the steps, and move or remove the file.

    look → claim → begin (ledger) → submit (journal) → end (ledger) → give back or finish

The ledger records that a message is begun before it is decided, and how it ended before its file is
moved. So a process that recovers after a crash knows what was done, and repeats nothing. All events
of the bus are submitted here; `bylaw bus run` prints one line for each result.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct, json
from msgspec.structs import replace
from msgspec.structs import replace as with_

from bylaw.hosts.bus.active_rules import NO_ACTIVE_RULES
from bylaw.hosts.bus.evidence import message_id
from bylaw.hosts.bus.ledger import PENDING, MessageState
from bylaw.hosts.bus.message_file import (
    IgnoredFile,
    NotYet,
    claim,
    move_back,
    move_to_error,
    read_message_file,
    remove_claim,
)
from bylaw.languages.base import is_stand_in
from bylaw.languages.law.messages import EVIDENCE, check_message, is_decision, is_request
from bylaw.languages.law.syntax import NAME
from bylaw.model.decision import Decision, Reason
from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.model.event import Bus, File
from bylaw.model.facts import LawFacts
from bylaw.model.rule import built_in_uid, message_field
from bylaw.model.vocabulary import ApprovalState, Verdict
from bylaw.store.system import now_ms, own_process_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.bus.active_rules import ActiveRules
    from bylaw.hosts.bus.bus_host import BusHost
    from bylaw.hosts.bus.events import Events
    from bylaw.hosts.bus.folders import BusFolders
    from bylaw.hosts.bus.ledger import Ledger, LedgerEntry
    from bylaw.hosts.bus.message_file import Claim
    from bylaw.model.event import Event
    from bylaw.model.facts import Approval
    from bylaw.model.values import JSON
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.loop import Loop

HELD = "held"
HELD_UID = built_in_uid(NAME, HELD)


class MessageOutcome(Struct, frozen=True):
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
    def of(cls, answer: Answer, evidence: Sequence[str]) -> MessageOutcome:
        """Build the result from an answer and the evidence written for it."""
        return cls(answer.event, answer.decision, _status(answer), tuple(evidence))

    @classmethod
    def from_held(cls, event: Event, why: str) -> MessageOutcome:
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
            **_event_fields(self.event),
            "verdict": self.decision.verdict.value,
            "rule": _rule(self.decision),
            "status": self.status.value,
            "evidence": list(self.evidence),
        }


def _event_fields(event: Event) -> dict[str, JSON]:
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


ANSWERED_UID = built_in_uid(NAME, "answered")
NO_RULES_WAIT_S = 3600.0  # for a bus without rules: the watch reports when rules appear
MAX_RECORDED = 10_000  # approvals that a process remembers as recorded


class MessageHandler:
    """Handle messages one after the other."""

    def __init__(
        self,
        bus: BusFolders,
        ledger: Ledger,
        events: Events,
        in_force: ActiveRules,
        submissions: JournalSubmitter,
        last_seq: int,
    ) -> None:
        self._bus = bus
        self._ledger = ledger
        self._events = events
        self._active_rules = in_force
        self._submissions = submissions
        self._last_seq = last_seq
        self._recorded_approvals: set[Approval] = set()

    def handle(self, name: str) -> MessageOutcome | NotYet | None:
        """Handle a file of `input`. None if another process handles it or the file is ignored."""
        if not self._active_rules.has_law:
            return NotYet(NO_RULES_WAIT_S, NO_ACTIVE_RULES)
        with self._bus.translated_errors():
            return self._handle(name)

    def _handle(self, name: str) -> MessageOutcome | NotYet | None:
        looked = read_message_file(self._bus, name, is_complete)
        if isinstance(looked, NotYet):
            return looked
        if isinstance(looked, IgnoredFile):
            return None
        event = self._events.of_message(looked.file)
        waiting = self._unchanged_result(event)
        if waiting is not None:
            return waiting
        # The stamp ensures that the claimed file is the file that was read.
        claimed = claim(self._bus, name, looked.stamp)
        return None if claimed is None else self._process(event, claimed, whole=looked.file.whole)

    def _unchanged_result(self, event: Bus) -> MessageOutcome | None:
        """Return the old result if nothing changed on which its decision depends."""
        known = self._ledger.known(message_id(event))
        if known is None or known.state not in PENDING or known.file != visible(event.file):
            return None
        seen = self._with_approvals(event)
        if known.fingerprint != self._fingerprint(seen):
            return None
        return MessageOutcome.from_held(seen, known.why)

    def _with_approvals(self, event: Bus) -> Bus:
        return self._events.with_approvals(event, message_id(event))

    def _process(self, event: Bus, claimed: Claim, *, whole: bool) -> MessageOutcome:
        if is_command(event):
            return self._begin(self._with_approvals(event), claimed)
        return self._finish(self._submit(event), claimed, whole=whole)

    def _begin(self, event: Bus, claimed: Claim) -> MessageOutcome:
        msg_id = message_id(event)
        before = self._ledger.known(msg_id)
        blocking = self._ledger.begin(
            msg_id,
            digest=event.digest,
            file=claimed.name,
            claim=claimed.file,
            owner=own_process_name(),
            after_seq=self._last_seq,
            at=now_ms(),
        )
        if blocking is not None:
            return self._finish(self._submit(_as_duplicate(event, blocking)), claimed)
        again = before is not None and before.state in PENDING
        retry = before.tries + 1 if before is not None and again else 0
        return self._decide(replace(event, retry=retry), claimed)

    def _decide(self, event: Bus, claimed: Claim) -> MessageOutcome:
        self._record_approvals(event)
        # If this fails, the claim stays, and recovery checks what was done.
        return self.settle(event, self._submit(event), claimed)

    def settle(
        self,
        event: Bus,
        handled: MessageOutcome,
        claimed: Claim | None,
        *,
        again: bool = False,
        whole: bool = True,
    ) -> MessageOutcome:
        """Record the result of a message in the ledger, and move or remove its file.

        A held message is tried again when something changes on which its decision depends; with
        `again`, it is tried again in any case. The file is kept if `whole` is false, because then
        no evidence contains the complete message.
        """
        waits = is_waiting(event, handled)
        state = MessageState.WAITING if waits else handled.status
        fingerprint = self._fingerprint(event) if state in PENDING and not again else ""
        self._ledger.end(
            message_id(event), state, why=handled.why, fingerprint=fingerprint, at=now_ms()
        )
        if claimed is not None and state in PENDING:
            self.put_back(claimed, message_id(event))
        elif claimed is not None:
            handled = self._finish(handled, claimed, whole=whole)
        return with_(handled, status=MessageState.HELD) if waits else handled

    def put_back(self, claimed: Claim, msg_id: str) -> None:
        """Move a message back to `input`. If its name is taken there, it gets a new one."""
        name = move_back(self._bus, claimed)
        if name is not None and name != claimed.name:
            self._ledger.moved(msg_id, name)

    def remove_or_keep(self, claimed: Claim, *, whole: bool) -> list[str]:
        """Remove a message if evidence contains all of it. Else keep it and return its path."""
        if whole:
            remove_claim(self._bus, claimed)
            return []
        return [move_to_error(self._bus, claimed)]

    def _finish(
        self, handled: MessageOutcome, claimed: Claim, *, whole: bool = True
    ) -> MessageOutcome:
        kept = self.remove_or_keep(claimed, whole=whole and bool(handled.evidence))
        return with_(handled, evidence=(*handled.evidence, *kept))

    def _submit(self, event: Bus) -> MessageOutcome:
        handled = self._submissions.submit(event)
        self._last_seq = handled.event.seq
        return handled

    def _record_approvals(self, event: Bus) -> None:
        """Record each approval and rejection once."""
        if len(self._recorded_approvals) > MAX_RECORDED:
            self._recorded_approvals.clear()
        for approval in event.facts.approvals or ():
            is_clear = approval.state is not ApprovalState.UNCLEAR
            if (
                is_clear
                and approval not in self._recorded_approvals
                and not is_request(event.message)
            ):
                self._submissions.submit(self._events.for_approval(approval))
                self._recorded_approvals.add(approval)

    def _fingerprint(self, event: Bus) -> str:
        """Hash everything that the decision depends on: same fingerprint, same decision.

        That is the message, all facts, and the rules. The number of tries is left out: it only
        prevents a rule from asking or reporting twice.
        """
        said = (event.digest, json.encode(event.facts), self._active_rules.digest)
        return sha256(repr(said).encode()).hexdigest()


def is_complete(message: JSON) -> bool:
    """Whether a message can be handled at once. One that would be refused may be half-written."""
    return is_decision(message) or not check_message(message, LawFacts()).refused


def is_command(event: Bus) -> bool:
    """Whether rules decide this message. If so, its id is used up."""
    if is_decision(event.message) or check_message(event.message, event.facts).refused:
        return False
    return message_field(event, "msg_type") != EVIDENCE


def _as_duplicate(event: Bus, earlier: LedgerEntry) -> Bus:
    what = f"{earlier.duplicate_reason} (`{earlier.file}`)"
    return replace(event, facts=replace(event.facts, duplicate=what))


def is_waiting(event: Bus, handled: MessageOutcome) -> bool:
    """Whether it is an approval request without a decision, even if rules did other things."""
    refused = handled.status is MessageState.REFUSED
    return is_request(event.message) and not refused and not is_answered(handled)


def is_answered(handled: MessageOutcome) -> bool:
    """Whether it is an approval request that has its decision."""
    return ANSWERED_UID in handled.decision.fired


class JournalSubmitter:
    """Submit every event of the bus to the journal and collect the evidence that it writes."""

    def __init__(self, host: BusHost, loop: Loop) -> None:
        self._host = host
        self._loop = loop

    def submit(self, event: Event) -> MessageOutcome:
        """Decide an event and perform its steps.

        Raises BylawError if the journal cannot record it. Then nothing was done.
        """
        self._host.written.clear()
        (answer,) = self._loop.take([event])
        if answer.problem:
            raise BylawError(answer.problem)
        return MessageOutcome.of(answer, self._host.written)
