"""What a dead process left in `processing` → put back if nothing was begun, else settled for good.

The journal says whether a message was decided; if it was, its plan has been followed to an end
with the step that was under way failed. Nothing is ever begun a second time (LD-A26).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from bylaw.engine.outcome import INTERRUPTED, StepOutcome
from bylaw.engine.plan import Ending, next_step
from bylaw.hosts.bus.claims import Claim, claims, finish, give_back, take_over
from bylaw.hosts.bus.events import SESSION
from bylaw.hosts.bus.evidence import evidence_for, write_evidence
from bylaw.hosts.bus.handled import Handled, Status
from bylaw.hosts.bus.ledger import State
from bylaw.hosts.bus.message_file import read_claimed
from bylaw.hosts.bus.records import heading, matter
from bylaw.hosts.bus.subjects import subject
from bylaw.model.approvals import message_field
from bylaw.model.decision import Decision
from bylaw.model.event import Bus as BusEvent
from bylaw.model.visible import visible
from bylaw.model.vocabulary import Channel, Kind
from bylaw.runtime.answer import Answer
from bylaw.runtime.journal.reading import read_effects, records_since
from bylaw.runtime.owner import is_dead, is_of_this_boot, this_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.base import Loop
    from bylaw.hosts.bus.folders import Bus
    from bylaw.hosts.bus.intake import Intake
    from bylaw.hosts.bus.ledger import Known, Ledger
    from bylaw.runtime.journal.reading import Record

RULE = "interrupted"
UID = "law:builtin#interrupted"
TEXT = "interrupted: its process died; it is not run again"
_THROUGH = (State.DONE, State.FAILED, State.REFUSED)


class Recovery:
    """Looks after what other processes left."""

    def __init__(self, bus: Bus, ledger: Ledger, intake: Intake, loop: Loop) -> None:
        self._bus = bus
        self._ledger = ledger
        self._intake = intake
        self._loop = loop

    def recover(self) -> Iterator[Handled]:
        """See to everything that was left; what became of a message that had been begun."""
        left = [one for one in claims(self._bus) if is_dead(one.owner)]
        begun = [one for one in self._ledger.in_state(State.RUNNING) if is_dead(one.owner)]
        if not left and not begun:
            return
        # First the plans: they release locks and write what failed.
        self._loop.runtime.recover(SESSION, again=True)
        for known in begun:
            own = _claim_of(known, left)
            if own is not None:
                left.remove(own)
            if self._ledger.take_over(known, this_process()):
                yield from self._settle(known, own and take_over(self._bus, own))
        for one in left:
            self._put_back(one)

    def _settle(self, known: Known, claimed: Claim | None) -> Iterator[Handled]:
        record = self._decided(known)
        if record is None and is_of_this_boot(known.owner):
            # Nothing was decided, so nothing was done.
            self._ledger.end(known.msg_id, State.WITHDRAWN, at=known.at)
            if claimed is not None:
                give_back(self._bus, claimed)
            return
        if record is None:
            yield self._give_up(known, claimed)
            return
        answer, interrupted = self._answer(record)
        event = answer.event
        assert isinstance(event, BusEvent)
        handled = Handled.of(answer, evidence_for(self._bus, known.msg_id))
        untold = not any(f"/{Channel.ERROR}/" in path for path in handled.evidence)
        if handled.status is not Status.HELD and ((interrupted and untold) or not handled.evidence):
            self._tell(event)
            handled = Handled.of(answer, evidence_for(self._bus, known.msg_id))
        yield self._intake.settle(event, handled, claimed)

    def _give_up(self, known: Known, claimed: Claim | None) -> Handled:
        """The power failed, and the journal may have lost what was done: it is not done again."""
        message = None if claimed is None else read_claimed(self._bus, claimed).message
        event = BusEvent(
            session=SESSION, at=known.at, message=message, digest=known.digest, file=known.file
        )
        self._tell(event)
        self._ledger.end(known.msg_id, State.FAILED, why=TEXT, at=known.at)
        if claimed is not None:
            finish(self._bus, claimed)
        evidence = evidence_for(self._bus, known.msg_id)
        return Handled(event, Decision(), Status.FAILED, tuple(evidence))

    def _decided(self, known: Known) -> Record | None:
        """The newest decision on a message since it was begun."""
        found = [
            record
            for record in records_since(self._loop.journal, SESSION, known.after_seq, Kind.BUS)
            if message_field(record.event, "msg_id") == known.msg_id
            and isinstance(record.event, BusEvent)
            and record.event.digest == known.digest
            and not record.event.facts.duplicate
        ]
        return found[-1] if found else None

    def _answer(self, record: Record) -> tuple[Answer, bool]:
        effects = read_effects(self._loop.journal, SESSION, record.event.seq)
        outcomes = {one.step: StepOutcome(one.status, one.result) for one in effects}
        end = next_step(record.decision, outcomes)
        ending = end if isinstance(end, Ending) else Ending()
        interrupted = not isinstance(end, Ending) or INTERRUPTED in outcomes.values()
        return Answer(record.event, record.decision, outcomes, ending), interrupted

    def _tell(self, event: BusEvent) -> None:
        body = heading(event, RULE, UID, TEXT) | matter(event) | {"channel": Channel.ERROR.value}
        write_evidence(self._bus, Channel.ERROR, subject(event), RULE, body)

    def _put_back(self, of: Claim) -> None:
        """A file of which nothing was begun, or that had only to be removed."""
        taken = take_over(self._bus, of)
        if taken is None:
            return
        message = BusEvent(message=read_claimed(self._bus, taken).message)
        known = self._ledger.known(str(message_field(message, "msg_id")))
        if known is not None and known.state in _THROUGH and known.claim == visible(of.file):
            finish(self._bus, taken)
        else:
            give_back(self._bus, taken)


def _claim_of(known: Known, left: list[Claim]) -> Claim | None:
    """The claim under which a message was begun; another process may have taken it over since."""
    exactly = (one for one in left if visible(one.file) == known.claim)
    by_name = (one for one in left if visible(one.name) == known.file)
    return next(chain(exactly, by_name), None)
