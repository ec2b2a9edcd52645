"""Recover messages that a dead process left in `processing`.

A message that was not begun goes back to `input`. One that was decided gets its result from the
journal, after its plan was followed to the end; the step that was running counts as failed.
Nothing is begun a second time (LD-A26). If the journal cannot show whether a message was decided,
it counts as failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace as with_

from bylaw.dialects.law.names import NAME
from bylaw.engine.outcome import INTERRUPTED, StepOutcome
from bylaw.engine.plan import Ending, next_step
from bylaw.hosts.bus.events import SESSION
from bylaw.hosts.bus.handled import Handled
from bylaw.hosts.bus.intake import is_waiting
from bylaw.hosts.bus.ledger.ledger import MessageState
from bylaw.hosts.bus.messages.claims import Claim, claims, take_over
from bylaw.hosts.bus.messages.evidence import held_message, write_evidence
from bylaw.hosts.bus.messages.evidence_body import heading, matter
from bylaw.hosts.bus.messages.message_file import read_claimed
from bylaw.hosts.bus.messages.subjects import subject
from bylaw.model.approvals import message_field
from bylaw.model.decision import Decision
from bylaw.model.event import Bus
from bylaw.model.uid import built_in_uid
from bylaw.model.visible import visible
from bylaw.model.vocabulary import Channel, EffectStatus, Kind, Op
from bylaw.runtime.answer import Answer
from bylaw.runtime.journal.reading import read_effects, records_since
from bylaw.runtime.owner import is_dead, is_of_this_boot, this_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.base import Loop
    from bylaw.hosts.bus.intake import Intake
    from bylaw.hosts.bus.ledger.ledger import Known, Ledger
    from bylaw.hosts.bus.messages.folders import BusFolders
    from bylaw.model.event import EffectDone
    from bylaw.model.values import JSON
    from bylaw.runtime.journal.reading import Record
    from bylaw.runtime.locks import Locks

RULE = "interrupted"
UID = built_in_uid(NAME, RULE)
TEXT = "interrupted: its process died; it is not run again"
UNCERTAIN = (
    "interrupted: its process died, and the journal does not show what it did; it is not run again"
)
_THROUGH = (MessageState.DONE, MessageState.FAILED, MessageState.REFUSED)


class Recovery:
    """Handle messages and claims that dead processes left."""

    def __init__(
        self, bus: BusFolders, ledger: Ledger, intake: Intake, loop: Loop, locks: Locks
    ) -> None:
        self._bus = bus
        self._locks = locks
        self._ledger = ledger
        self._intake = intake
        self._loop = loop

    def recover(self) -> list[Handled]:
        """Handle everything that was left. Return the results of messages that were begun."""
        with self._bus.told_plainly():
            return list(self._recovered())

    def _recovered(self) -> Iterator[Handled]:
        left = [one for one in claims(self._bus) if is_dead(one.owner)]
        running = self._ledger.in_state(MessageState.RUNNING)
        begun = [one for one in running if is_dead(one.owner)]
        # Finish the plans first, those of file changes included: they release locks and write
        # evidence of the failure.
        self._loop.runtime.recover(SESSION, again=True)
        for known in begun:
            if self._ledger.take_over(known, this_process()):
                yield from self._settle(known, self._take_claim(known, left))
        for one in left:
            # Files of running messages are handled above or by their owner.
            if not any(_is_claim_of(known, one) for known in running):
                self._put_back(one)

    def _take_claim(self, known: Known, left: list[Claim]) -> Claim | None:
        """Take over the file with which a message was begun."""
        found = [one for one in left if _is_claim_of(known, one)]
        # Prefer the recorded claim. Another one exists if a process took it over and died too.
        found.sort(key=lambda one: visible(one.file) != known.claim)
        taken = take_over(self._bus, found[0]) if found else None
        if taken is not None:
            self._ledger.reclaimed(known.msg_id, taken.file)
        return taken

    def _settle(self, known: Known, claimed: Claim | None) -> Iterator[Handled]:
        record = self._decided(known)
        if record is not None:
            yield self._settle_decided(known, record, claimed)
        elif self._is_certain(known):
            # Nothing was decided, so nothing was done. A message that was held before stays held,
            # so that requests about it do not take it for withdrawn.
            state = MessageState.HELD if known.tries else MessageState.WITHDRAWN
            self._ledger.end(known.msg_id, state, at=known.at)
            if claimed is not None:
                self._intake.put_back(claimed, known.msg_id)
        else:
            yield self._settle_uncertain(known, claimed)

    def _settle_decided(self, known: Known, record: Record, claimed: Claim | None) -> Handled:
        event = record.event
        assert isinstance(event, Bus)
        effects = list(read_effects(self._loop.journal, SESSION, event.seq))
        outcomes = {one.step: StepOutcome(one.status, one.result) for one in effects}
        end = next_step(record.decision, outcomes)
        ending = end if isinstance(end, Ending) else Ending()
        handled = Handled.of(Answer(event, record.decision, outcomes, ending), _written(effects))
        interrupted = not isinstance(end, Ending) or INTERRUPTED in outcomes.values()
        pending = handled.status is MessageState.HELD or is_waiting(event, handled)
        if interrupted and not pending:
            handled = with_(handled, status=MessageState.FAILED)
            # Its plan is not followed if another program may have written the journal. Then its
            # locks remain.
            self._locks.clear_left(subject(event))
        untold = interrupted and not any(f"/{Channel.ERROR}/" in path for path in handled.evidence)
        if not pending and (untold or not handled.evidence):
            handled = self._tell(event, handled, TEXT)
        # If it was interrupted, it is tried again: evidence of the reason may be missing.
        whole = self._is_told(known.msg_id, claimed)
        return self._intake.settle(event, handled, claimed, again=interrupted, whole=whole)

    def _settle_uncertain(self, known: Known, claimed: Claim | None) -> Handled:
        # Without its file, only its id is known.
        message: JSON = {"msg_id": known.msg_id}
        if claimed is not None:
            message = read_claimed(self._bus, claimed).message
        event = Bus(
            session=SESSION, at=known.at, message=message, digest=known.digest, file=known.file
        )
        handled = Handled(event, Decision(), MessageState.FAILED)
        self._locks.clear_left(subject(event))
        handled = self._tell(event, handled, UNCERTAIN)
        whole = self._is_told(known.msg_id, claimed)
        return self._intake.settle(event, handled, claimed, whole=whole)

    def _decided(self, known: Known) -> Record | None:
        """The newest record of a decision about a message since it was begun."""
        found = [
            record
            for record in records_since(self._loop.journal, SESSION, known.after_seq, Kind.BUS)
            if isinstance(record.event, Bus)
            and record.event.digest == known.digest
            and not record.event.facts.duplicate
        ]
        return found[-1] if found else None

    def _is_certain(self, known: Known) -> bool:
        """Whether the journal has every decision since a message was begun.

        The last records may be lost if the system crashed, and records can be purged.
        """
        journal = self._loop.journal
        if not is_of_this_boot(known.owner) or journal.session(SESSION).seq < known.after_seq:
            return False
        question = "SELECT count(*) FROM records WHERE session = ? AND seq > ? AND kind = ?"
        ((there,),) = journal.query(question, (SESSION, known.after_seq, Kind.BUS))
        read = sum(1 for _ in records_since(journal, SESSION, known.after_seq, Kind.BUS))
        return bool(there == read)

    def _tell(self, event: Bus, handled: Handled, text: str) -> Handled:
        channel = Channel.ERROR
        body = heading(event, RULE, UID, text) | matter(event) | {"channel": channel.value}
        path = write_evidence(self._bus, channel, subject(event), RULE, body)
        return with_(handled, evidence=(*handled.evidence, path))

    def _is_told(self, msg_id: str, claimed: Claim | None) -> bool:
        """Whether evidence contains the message as the file has it now."""
        if claimed is None:
            return True
        digest = read_claimed(self._bus, claimed).digest
        return held_message(self._bus, msg_id, digest) is not None

    def _put_back(self, of: Claim) -> None:
        """Move or remove a claimed file whose message was not begun or has already ended."""
        taken = take_over(self._bus, of)
        if taken is None:
            return
        message = Bus(message=read_claimed(self._bus, taken).message)
        known = self._ledger.known(str(message_field(message, "msg_id")))
        own = known if known is not None and known.claim == visible(of.file) else None
        if own is not None and own.state in _THROUGH:
            self._intake.put_away(taken, whole=self._is_told(own.msg_id, taken))
        else:
            self._intake.put_back(taken, own.msg_id if own is not None else "")


def _is_claim_of(known: Known, claim: Claim) -> bool:
    """Whether a message was begun with this claim, or this claim replaced that one."""
    return visible(claim.file) == known.claim or visible(claim.name) == known.file


def _written(effects: list[EffectDone]) -> list[str]:
    """The evidence paths that a plan wrote."""
    return [
        str(one.result["result"])
        for one in effects
        if one.op is Op.BUS_WRITE
        and one.status is EffectStatus.OK
        and isinstance(one.result, dict)
        and "result" in one.result
    ]
