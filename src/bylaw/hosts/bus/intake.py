"""Handle one message file: claim it, decide it, perform the steps, and move or remove the file.

    look → claim → begin (ledger) → submit (journal) → end (ledger) → give back or finish

The ledger records that a message is begun before it is decided, and how it ended before its file is
moved. So a process that recovers after a crash knows what was done, and repeats nothing.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import json
from msgspec.structs import replace
from msgspec.structs import replace as with_

from bylaw.dialects.law.messages import EVIDENCE, is_decision, is_request, judge_message
from bylaw.dialects.law.names import NAME
from bylaw.hosts.bus.handled import Handled
from bylaw.hosts.bus.in_force import LAWLESS
from bylaw.hosts.bus.ledger.ledger import PENDING, MessageState
from bylaw.hosts.bus.messages.claims import claim, finish, give_back, keep
from bylaw.hosts.bus.messages.message_file import Ignored, NotYet, look
from bylaw.hosts.bus.messages.subjects import message_id
from bylaw.model.approvals import message_field
from bylaw.model.facts import LawFacts
from bylaw.model.uid import built_in_uid
from bylaw.model.visible import visible
from bylaw.model.vocabulary import ApprovalState
from bylaw.runtime.clock import now_ms
from bylaw.runtime.owner import this_process

if TYPE_CHECKING:
    from bylaw.hosts.bus.events import Events
    from bylaw.hosts.bus.in_force import InForce
    from bylaw.hosts.bus.ledger.ledger import Known, Ledger
    from bylaw.hosts.bus.messages.claims import Claim
    from bylaw.hosts.bus.messages.folders import BusFolders
    from bylaw.hosts.bus.submitting import Submissions
    from bylaw.model.event import Bus
    from bylaw.model.facts import Approval
    from bylaw.model.values import JSON

ANSWERED = built_in_uid(NAME, "answered")
LONG_S = 3600.0  # for a bus without rules: the watch reports when rules appear
MAX_TOLD = 10_000  # approvals that a process remembers as recorded


class Intake:
    """Handle messages one after the other."""

    def __init__(
        self,
        bus: BusFolders,
        ledger: Ledger,
        events: Events,
        in_force: InForce,
        submissions: Submissions,
        last_seq: int,
    ) -> None:
        self._bus = bus
        self._ledger = ledger
        self._events = events
        self._in_force = in_force
        self._submissions = submissions
        self._last_seq = last_seq
        self._told: set[Approval] = set()

    def handle(self, name: str) -> Handled | NotYet | None:
        """Handle a file of `input`. None if another process handles it or the file is ignored."""
        if not self._in_force.has_law:
            return NotYet(LONG_S, LAWLESS)
        with self._bus.told_plainly():
            return self._handle(name)

    def _handle(self, name: str) -> Handled | NotYet | None:
        looked = look(self._bus, name, is_complete)
        if isinstance(looked, NotYet):
            return looked
        if isinstance(looked, Ignored):
            return None
        event = self._events.of_message(looked.file)
        waiting = self._waiting(event)
        if waiting is not None:
            return waiting
        # The stamp ensures that the claimed file is the file that was read.
        claimed = claim(self._bus, name, looked.stamp)
        return None if claimed is None else self._take(event, claimed, whole=looked.file.whole)

    def _waiting(self, event: Bus) -> Handled | None:
        """Return the old result if nothing changed on which its decision depends."""
        known = self._ledger.known(message_id(event))
        if known is None or known.state not in PENDING or known.file != visible(event.file):
            return None
        seen = self._seen(event)
        if known.fingerprint != self._fingerprint(seen):
            return None
        return Handled.still_held(seen, known.why)

    def _seen(self, event: Bus) -> Bus:
        return self._events.with_approvals(event, message_id(event))

    def _take(self, event: Bus, claimed: Claim, *, whole: bool) -> Handled:
        if is_command(event):
            return self._begin(self._seen(event), claimed)
        return self._through(self._submit(event), claimed, whole=whole)

    def _begin(self, event: Bus, claimed: Claim) -> Handled:
        msg_id = message_id(event)
        before = self._ledger.known(msg_id)
        blocking = self._ledger.begin(
            msg_id,
            digest=event.digest,
            file=claimed.name,
            claim=claimed.file,
            owner=this_process(),
            after_seq=self._last_seq,
            at=now_ms(),
        )
        if blocking is not None:
            return self._through(self._submit(_duplicate(event, blocking)), claimed)
        again = before is not None and before.state in PENDING
        retry = before.tries + 1 if before is not None and again else 0
        return self._try(replace(event, retry=retry), claimed)

    def _try(self, event: Bus, claimed: Claim) -> Handled:
        self._tell_approvals(event)
        # If this fails, the claim stays, and recovery checks what was done.
        return self.settle(event, self._submit(event), claimed)

    def settle(
        self,
        event: Bus,
        handled: Handled,
        claimed: Claim | None,
        *,
        again: bool = False,
        whole: bool = True,
    ) -> Handled:
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
            handled = self._through(handled, claimed, whole=whole)
        return with_(handled, status=MessageState.HELD) if waits else handled

    def put_back(self, claimed: Claim, msg_id: str) -> None:
        """Move a message back to `input`. If its name is taken there, it gets a new one."""
        name = give_back(self._bus, claimed)
        if name is not None and name != claimed.name:
            self._ledger.moved(msg_id, name)

    def put_away(self, claimed: Claim, *, whole: bool) -> list[str]:
        """Remove a message if evidence contains all of it. Else keep it and return its path."""
        if whole:
            finish(self._bus, claimed)
            return []
        return [keep(self._bus, claimed)]

    def _through(self, handled: Handled, claimed: Claim, *, whole: bool = True) -> Handled:
        kept = self.put_away(claimed, whole=whole and bool(handled.evidence))
        return with_(handled, evidence=(*handled.evidence, *kept))

    def _submit(self, event: Bus) -> Handled:
        handled = self._submissions.submit(event)
        self._last_seq = handled.event.seq
        return handled

    def _tell_approvals(self, event: Bus) -> None:
        """Record each approval and rejection once."""
        if len(self._told) > MAX_TOLD:
            self._told.clear()
        for approval in event.facts.approvals or ():
            is_clear = approval.state is not ApprovalState.UNCLEAR
            if is_clear and approval not in self._told and not is_request(event.message):
                self._submissions.submit(self._events.of_approval(approval))
                self._told.add(approval)

    def _fingerprint(self, event: Bus) -> str:
        """Hash everything that the decision depends on: same fingerprint, same decision.

        That is the message, all facts, and the rules. The number of tries is left out: it only
        prevents a rule from asking or reporting twice.
        """
        said = (event.digest, json.encode(event.facts), self._in_force.digest)
        return sha256(repr(said).encode()).hexdigest()


def is_complete(message: JSON) -> bool:
    """Whether a message can be handled at once. One that would be refused may be half-written."""
    return is_decision(message) or not judge_message(message, LawFacts()).refused


def is_command(event: Bus) -> bool:
    """Whether rules decide this message. If so, its id is used up."""
    if is_decision(event.message) or judge_message(event.message, event.facts).refused:
        return False
    return message_field(event, "msg_type") != EVIDENCE


def _duplicate(event: Bus, earlier: Known) -> Bus:
    what = f"{earlier.told_as_first} (`{earlier.file}`)"
    return replace(event, facts=replace(event.facts, duplicate=what))


def is_waiting(event: Bus, handled: Handled) -> bool:
    """Whether it is an approval request without a decision, even if rules did other things."""
    refused = handled.status is MessageState.REFUSED
    return is_request(event.message) and not refused and not is_answered(handled)


def is_answered(handled: Handled) -> bool:
    """Whether it is an approval request that has its decision."""
    return ANSWERED in handled.decision.fired
