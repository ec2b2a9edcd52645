"""A file of `input` → claimed, judged under law, carried out, and put where it belongs then.

    look → claim → begin (ledger) → submit (journal) → end (ledger) → give back or finish

What was begun is in the ledger before anything is decided, and what became of it before its file
is moved: so whoever comes after a crash knows what was done and does none of it again.
"""

from __future__ import annotations

from dataclasses import replace as with_
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.dialects.law.built_in import NAME
from bylaw.dialects.law.messages import EVIDENCE, is_decision, is_request, judge_message
from bylaw.hosts.bus.claims import claim, finish, give_back, keep
from bylaw.hosts.bus.events import SESSION
from bylaw.hosts.bus.handled import Handled, Status
from bylaw.hosts.bus.in_force import LAWLESS
from bylaw.hosts.bus.ledger import PENDING, State
from bylaw.hosts.bus.message_file import Ignored, NotYet, look
from bylaw.hosts.bus.subjects import message_id
from bylaw.model.approvals import message_field
from bylaw.model.errors import BylawError
from bylaw.model.facts import LawFacts
from bylaw.model.uid import built_in_uid
from bylaw.model.visible import visible
from bylaw.runtime.clock import now_ms
from bylaw.runtime.owner import this_process

if TYPE_CHECKING:
    from bylaw.hosts.base import Loop
    from bylaw.hosts.bus.bus_host import BusHost
    from bylaw.hosts.bus.claims import Claim
    from bylaw.hosts.bus.events import Events
    from bylaw.hosts.bus.folders import Bus
    from bylaw.hosts.bus.in_force import InForce
    from bylaw.hosts.bus.ledger import Known, Ledger
    from bylaw.model.event import Bus as BusEvent
    from bylaw.model.facts import Approval
    from bylaw.model.values import JSON

ANSWERED = built_in_uid(NAME, "answered")
LONG_S = 3600.0  # until rules come, which are watched
MAX_TOLD = 10_000  # approvals of which a process remembers that they are recorded
STATES = {
    Status.DONE: State.DONE,
    Status.HELD: State.HELD,
    Status.REFUSED: State.REFUSED,
    Status.FAILED: State.FAILED,
}


class Intake:
    """Handles messages one after the other."""

    def __init__(
        self, bus: Bus, ledger: Ledger, events: Events, in_force: InForce, host: BusHost, loop: Loop
    ) -> None:
        self._bus = bus
        self._ledger = ledger
        self._events = events
        self._in_force = in_force
        self._host = host
        self._loop = loop
        self._last_seq = loop.journal.session(SESSION).seq
        self._told: set[Approval] = set()

    def handle(self, name: str) -> Handled | NotYet | None:
        """What became of a file; None if another process does it, or it is none of ours."""
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
        # What is claimed is what was looked at, by its stamp.
        claimed = claim(self._bus, name, looked.stamp)
        return None if claimed is None else self._take(event, claimed, whole=looked.file.whole)

    def _waiting(self, event: BusEvent) -> Handled | None:
        """A message that was tried, if nothing has changed since that it depends on."""
        known = self._ledger.known(message_id(event))
        if known is None or known.state not in PENDING or known.file != visible(event.file):
            return None
        seen = self._seen(event)
        if known.fingerprint != self._fingerprint(seen):
            return None
        return Handled.still_held(seen, known.why)

    def _seen(self, event: BusEvent) -> BusEvent:
        return self._events.with_approvals(event, message_id(event))

    def _take(self, event: BusEvent, claimed: Claim, *, whole: bool) -> Handled:
        if is_command(event):
            return self._begin(self._seen(event), claimed)
        return self._put_away(self._submit(event), claimed, whole=whole)

    def _begin(self, event: BusEvent, claimed: Claim) -> Handled:
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
            return self._put_away(self._submit(_duplicate(event, blocking)), claimed)
        again = before is not None and before.state in PENDING
        retry = before.tries + 1 if before is not None and again else 0
        return self._try(replace(event, retry=retry), claimed)

    def _try(self, event: BusEvent, claimed: Claim) -> Handled:
        self._tell_approvals(event)
        # If that breaks, the claim stays: whoever recovers it finds out what was done.
        return self.settle(event, self._submit(event), claimed)

    def settle(
        self, event: BusEvent, handled: Handled, claimed: Claim | None, *, again: bool = False
    ) -> Handled:
        """Note what became of a message, and put its file where it belongs.

        One that is held is tried when something changes, or `again` in any case.
        """
        waits = is_request(event.message) and not _is_refused(handled) and not is_answered(handled)
        state = State.WAITING if waits else STATES[handled.status]
        fingerprint = self._fingerprint(event) if state in PENDING and not again else ""
        self._ledger.end(
            message_id(event), state, why=handled.why, fingerprint=fingerprint, at=now_ms()
        )
        if claimed is not None and state in PENDING:
            self.put_back(claimed, message_id(event))
        elif claimed is not None:
            handled = self._put_away(handled, claimed)
        return with_(handled, status=Status.HELD) if waits else handled

    def put_back(self, claimed: Claim, msg_id: str) -> None:
        """Move a message back to `input`; it may have another name there now."""
        name = give_back(self._bus, claimed)
        if name is not None and name != claimed.name:
            self._ledger.moved(msg_id, name)

    def _put_away(self, handled: Handled, claimed: Claim, *, whole: bool = True) -> Handled:
        """Remove a message that evidence holds; if none holds all of it, the file is kept."""
        if whole and handled.evidence:
            finish(self._bus, claimed)
            return handled
        kept = keep(self._bus, claimed)
        return with_(handled, evidence=(*handled.evidence, kept))

    def _submit(self, event: BusEvent) -> Handled:
        self._host.written.clear()
        (answer,) = self._loop.take([event])
        if answer.problem:
            raise BylawError(answer.problem)
        self._last_seq = answer.event.seq
        return Handled.of(answer, self._host.written)

    def _tell_approvals(self, event: BusEvent) -> None:
        """Record what people said, once."""
        if len(self._told) > MAX_TOLD:
            self._told.clear()
        for approval in event.facts.approvals or ():
            if approval not in self._told and not is_request(event.message):
                self._told.add(approval)
                self._loop.take([self._events.of_approval(approval)])

    def _fingerprint(self, event: BusEvent) -> str:
        """What the decision on a message rests on: if it is the same, so is the decision."""
        facts = event.facts
        said = (event.digest, facts.phase, facts.approvals, facts.withdrawn, facts.policy_mode)
        return sha256(f"{said!r} {self._in_force.digest}".encode()).hexdigest()


def is_complete(message: JSON) -> bool:
    """Whether a message need not be waited for: it may be half-written if it is refused."""
    return is_decision(message) or not judge_message(message, LawFacts()).refused


def is_command(event: BusEvent) -> bool:
    """Whether it is a command that rules may look at: its id is used up then."""
    if is_decision(event.message) or judge_message(event.message, event.facts).refused:
        return False
    return message_field(event, "msg_type") != EVIDENCE


def _duplicate(event: BusEvent, earlier: Known) -> BusEvent:
    what = f"the first one is {earlier.state.value} (`{earlier.file}`)"
    return replace(event, facts=replace(event.facts, duplicate=what))


def _is_refused(handled: Handled) -> bool:
    return handled.status is Status.REFUSED


def is_answered(handled: Handled) -> bool:
    """Whether it is a request whose decision is there."""
    return ANSWERED in handled.decision.fired
