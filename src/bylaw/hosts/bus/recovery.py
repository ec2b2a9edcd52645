"""Recover messages that a dead process left in `processing`, and restore a lost ledger.

A message that was not begun goes back to `input`. One that was decided gets its result from the
journal, after its plan was followed to the end; the step that was running counts as failed.
Nothing is begun a second time (LD-A26). If the journal cannot show whether a message was decided,
it counts as failed. A lost ledger is filled from the journal: otherwise a finished message would
run again, and an approval could apply to another text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace as with_

from bylaw.engine.plan import INTERRUPTED, PlanEnd, StepOutcome, next_step
from bylaw.hosts.bus.events import SESSION
from bylaw.hosts.bus.evidence import (
    find_message,
    heading_fields,
    message_id,
    subject,
    subject_fields,
    write_evidence,
)
from bylaw.hosts.bus.handle_message import MessageOutcome, is_answered, is_command, is_waiting
from bylaw.hosts.bus.ledger import LedgerEntry, MessageState
from bylaw.hosts.bus.message_file import Claim, list_claims, read_claimed, take_over
from bylaw.languages.law.messages import is_request
from bylaw.languages.law.syntax import NAME
from bylaw.model.decision import Decision
from bylaw.model.display import visible
from bylaw.model.event import Bus
from bylaw.model.rule import built_in_uid, message_field
from bylaw.model.vocabulary import Channel, EffectStatus, Kind, Op
from bylaw.runtime.answer import Answer
from bylaw.store.journal.records import read_effects, records_since
from bylaw.store.system import is_dead, is_of_this_boot, own_process_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.bus.folders import BusFolders
    from bylaw.hosts.bus.handle_message import MessageHandler
    from bylaw.hosts.bus.ledger import Ledger
    from bylaw.model.event import EffectDone
    from bylaw.model.values import JSON
    from bylaw.runtime.loop import Loop
    from bylaw.store.journal.journal import Journal
    from bylaw.store.journal.records import Record
    from bylaw.store.locks import Locks

RECOVERY_RULE = "interrupted"
RECOVERY_UID = built_in_uid(NAME, RECOVERY_RULE)
INTERRUPTED_TEXT = "interrupted: its process died; it is not run again"
UNCERTAIN_TEXT = (
    "interrupted: its process died, and the journal does not show what it did; it is not run again"
)
_ENDED_STATES = (MessageState.DONE, MessageState.FAILED, MessageState.REFUSED)


class Recovery:
    """Handle messages and claims that dead processes left."""

    def __init__(
        self, bus: BusFolders, ledger: Ledger, intake: MessageHandler, loop: Loop, locks: Locks
    ) -> None:
        self._bus = bus
        self._locks = locks
        self._ledger = ledger
        self._intake = intake
        self._loop = loop

    def recover(self) -> list[MessageOutcome]:
        """Handle everything that was left. Return the results of messages that were begun."""
        with self._bus.translated_errors():
            return list(self._recover_all())

    def _recover_all(self) -> Iterator[MessageOutcome]:
        left = [one for one in list_claims(self._bus) if is_dead(one.owner)]
        running = self._ledger.messages_in(MessageState.RUNNING)
        begun = [one for one in running if is_dead(one.owner)]
        # Finish the plans first, those of file changes included: they release locks and write
        # evidence of the failure.
        self._loop.runtime.recover(SESSION, again=True)
        for known in begun:
            if self._ledger.take_over(known, own_process_name()):
                yield from self._resolve(known, self._take_over_claim(known, left))
        for one in left:
            # Files of running messages are handled above or by their owner.
            if not any(_is_claim_of(known, one) for known in running):
                self._return_or_finish(one)

    def _take_over_claim(self, known: LedgerEntry, left: list[Claim]) -> Claim | None:
        """Take over the file with which a message was begun."""
        found = [one for one in left if _is_claim_of(known, one)]
        # Prefer the recorded claim. Another one exists if a process took it over and died too.
        found.sort(key=lambda one: visible(one.file) != known.claim)
        taken = take_over(self._bus, found[0]) if found else None
        if taken is not None:
            self._ledger.record_claim(known.msg_id, taken.file)
        return taken

    def _resolve(self, known: LedgerEntry, claimed: Claim | None) -> Iterator[MessageOutcome]:
        record = self._find_decision(known)
        if record is not None:
            yield self._resolve_decided(known, record, claimed)
        elif self._is_journal_complete(known):
            # Nothing was decided, so nothing was done. A message that was held before stays held,
            # so that requests about it do not take it for withdrawn.
            state = MessageState.HELD if known.tries else MessageState.WITHDRAWN
            self._ledger.end(known.msg_id, state, at=known.at)
            if claimed is not None:
                self._intake.put_back(claimed, known.msg_id)
        else:
            yield self._resolve_uncertain(known, claimed)

    def _resolve_decided(
        self, known: LedgerEntry, record: Record, claimed: Claim | None
    ) -> MessageOutcome:
        event = record.event
        assert isinstance(event, Bus)
        effects = list(read_effects(self._loop.journal, SESSION, event.seq))
        outcomes = {one.step: StepOutcome(one.status, one.result) for one in effects}
        end = next_step(record.decision, outcomes)
        ending = end if isinstance(end, PlanEnd) else PlanEnd()
        handled = MessageOutcome.of(
            Answer(event, record.decision, outcomes, ending), _evidence_paths(effects)
        )
        interrupted = not isinstance(end, PlanEnd) or INTERRUPTED in outcomes.values()
        pending = handled.status is MessageState.HELD or is_waiting(event, handled)
        if interrupted and not pending:
            handled = with_(handled, status=MessageState.FAILED)
            # Its plan is not followed if another program may have written the journal. Then its
            # locks remain.
            self._locks.clear_dead(subject(event))
        untold = interrupted and not any(f"/{Channel.ERROR}/" in path for path in handled.evidence)
        if not pending and (untold or not handled.evidence):
            handled = self._write_evidence(event, handled, INTERRUPTED_TEXT)
        # If it was interrupted, it is tried again: evidence of the reason may be missing.
        whole = self._is_in_evidence(known.msg_id, claimed)
        return self._intake.settle(event, handled, claimed, again=interrupted, whole=whole)

    def _resolve_uncertain(self, known: LedgerEntry, claimed: Claim | None) -> MessageOutcome:
        # Without its file, only its id is known.
        message: JSON = {"msg_id": known.msg_id}
        if claimed is not None:
            message = read_claimed(self._bus, claimed).message
        event = Bus(
            session=SESSION, at=known.at, message=message, digest=known.digest, file=known.file
        )
        handled = MessageOutcome(event, Decision(), MessageState.FAILED)
        self._locks.clear_dead(subject(event))
        handled = self._write_evidence(event, handled, UNCERTAIN_TEXT)
        whole = self._is_in_evidence(known.msg_id, claimed)
        return self._intake.settle(event, handled, claimed, whole=whole)

    def _find_decision(self, known: LedgerEntry) -> Record | None:
        """The newest record of a decision about a message since it was begun."""
        found = [
            record
            for record in records_since(self._loop.journal, SESSION, known.after_seq, Kind.BUS)
            if isinstance(record.event, Bus)
            and record.event.digest == known.digest
            and not record.event.facts.duplicate
        ]
        return found[-1] if found else None

    def _is_journal_complete(self, known: LedgerEntry) -> bool:
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

    def _write_evidence(self, event: Bus, handled: MessageOutcome, text: str) -> MessageOutcome:
        channel = Channel.ERROR
        body = (
            heading_fields(event, RECOVERY_RULE, RECOVERY_UID, text)
            | subject_fields(event)
            | {"channel": channel.value}
        )
        path = write_evidence(self._bus, channel, subject(event), RECOVERY_RULE, body)
        return with_(handled, evidence=(*handled.evidence, path))

    def _is_in_evidence(self, msg_id: str, claimed: Claim | None) -> bool:
        """Whether evidence contains the message as the file has it now."""
        if claimed is None:
            return True
        digest = read_claimed(self._bus, claimed).digest
        return find_message(self._bus, msg_id, digest) is not None

    def _return_or_finish(self, of: Claim) -> None:
        """Move or remove a claimed file whose message was not begun or has already ended."""
        taken = take_over(self._bus, of)
        if taken is None:
            return
        message = Bus(message=read_claimed(self._bus, taken).message)
        known = self._ledger.known(str(message_field(message, "msg_id")))
        own = known if known is not None and known.claim == visible(of.file) else None
        if own is not None and own.state in _ENDED_STATES:
            self._intake.remove_or_keep(taken, whole=self._is_in_evidence(own.msg_id, taken))
        else:
            self._intake.put_back(taken, own.msg_id if own is not None else "")


def _is_claim_of(known: LedgerEntry, claim: Claim) -> bool:
    """Whether a message was begun with this claim, or this claim replaced that one."""
    return visible(claim.file) == known.claim or visible(claim.name) == known.file


def _evidence_paths(effects: list[EffectDone]) -> list[str]:
    """The evidence paths that a plan wrote."""
    return [
        str(one.result["result"])
        for one in effects
        if one.op is Op.BUS_WRITE
        and one.status is EffectStatus.OK
        and isinstance(one.result, dict)
        and "result" in one.result
    ]


def restore_ledger(ledger: Ledger, journal: Journal) -> int:
    """Fill an empty ledger from the journal. Return the number of messages."""
    if any(ledger.counts().values()):
        return 0
    found: dict[str, LedgerEntry] = {}
    for record in records_since(journal, SESSION, 0, Kind.BUS):
        event = record.event
        if isinstance(event, Bus) and not event.facts.duplicate and is_command(event):
            found[message_id(event)] = _entry(record, event)
    ledger.restore(found.values())
    return len(found)


def _entry(record: Record, event: Bus) -> LedgerEntry:
    handled = MessageOutcome.of(Answer(event, record.decision), ())
    state = handled.status
    if is_request(event.message) and state is MessageState.DONE and not is_answered(handled):
        state = MessageState.WAITING
    return LedgerEntry(
        msg_id=message_id(event),
        digest=event.digest,
        state=state,
        file=event.file,
        claim="",
        owner="",
        tries=event.retry,
        fingerprint="",
        why=handled.why,
        first_at=event.at,
        at=event.at,
        after_seq=event.seq,
    )
