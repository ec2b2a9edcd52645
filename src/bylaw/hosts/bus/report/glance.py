"""Build the report of a bus at one moment.

The bus changes while it is read. So the folders are listed before the ledger is read, and a new
file is reported only if it is still there afterwards.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.dialects.law.built_in import DUPLICATE, NO_DECISIONS
from bylaw.dialects.law.messages import is_decision, is_request, judge_message
from bylaw.hosts.bus.approvals.opinions import standing_for
from bylaw.hosts.bus.events import leading_out
from bylaw.hosts.bus.ledger.ledger import ENDED, PENDING, Ledger, MessageState
from bylaw.hosts.bus.messages.claims import claims
from bylaw.hosts.bus.messages.message_file import (
    NotYet,
    Ready,
    may_be_message,
    read_claimed,
    unchanged,
)
from bylaw.hosts.bus.messages.subjects import message_id
from bylaw.hosts.bus.report.ended import counts, ended
from bylaw.hosts.bus.report.letters import event_of, letter_of, running_by, words_of
from bylaw.model.approvals import message_field
from bylaw.model.facts import LawFacts
from bylaw.model.visible import visible
from bylaw.model.vocabulary import Authority
from bylaw.tools.bus_report import (
    Arrival,
    Asking,
    BusReport,
    Held,
    Letter,
    Running,
    Vote,
    Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.hosts.bus.ledger.ledger import Known
    from bylaw.hosts.bus.messages.claims import Claim
    from bylaw.hosts.bus.messages.message_file import Ignored, MessageFile
    from bylaw.hosts.bus.messages.seen_folders import SeenFolders
    from bylaw.hosts.bus.report.status import BusStatus

_CHANGED = "the message has changed since and will be tried again"
_WRITTEN = "a process is writing to it"
_GONE = "its file is gone, so the message is withdrawn"


class Glance:
    """The content of a bus at one moment. `status` caches what earlier reads found."""

    def __init__(self, status: BusStatus, bus: SeenFolders, ledger: Ledger | None) -> None:
        self._status = status
        self._bus = bus
        self._ledger = ledger
        self._phase = status.files.context().phase
        listed = bus.names()
        self._claimed = claims(bus)
        # List `input` twice: a file that is moved back meanwhile is in one of the two lists.
        self._names = sorted({*listed, *bus.names()})
        self._by_file = {visible(name): name for name in self._names}
        self._pending = self._in_state(*PENDING)
        self._running = self._in_state(MessageState.RUNNING)

    def report(self) -> BusReport:
        """Build the report."""
        limit = self._status.limit
        held = [known for known in self._pending if known.state is MessageState.HELD]
        asking = [known for known in self._pending if known.state is MessageState.WAITING]
        arrived = self._arrived([*held[:limit], *asking[:limit]])
        arrivals = self._still_there(arrived[:limit])
        self._status.forget_others(self._names)
        refused, refusals = self._status.refusals.newest(self._bus, limit)
        return BusReport(
            root=self._status.root,
            bus=self._bus.path,
            exists=self._bus.exists,
            phase=self._phase.phase,
            phase_problem=self._phase.why,
            waiting=tuple(one for one in arrivals if isinstance(one, Waiting)),
            held=tuple(self._held(held[:limit])),
            requests=(
                *self._requests(asking[:limit]),
                *(one for one in arrivals if isinstance(one, Asking)),
            ),
            running=tuple(self._all_running()),
            ended=tuple(ended(self._bus, self._ledger, refusals, limit)),
            counts=counts(self._ledger, refused),
            left_out={
                "waiting": max(len(arrived) - limit, 0),
                "held": max(len(held) - limit, 0),
                "requests": max(len(asking) - limit, 0),
            },
        )

    def _in_state(self, *states: MessageState) -> list[Known]:
        return [] if self._ledger is None else self._ledger.in_state(*states)

    def _arrived(self, shown: Sequence[Known]) -> list[str]:
        """The files of `input` that were not handled yet.

        `shown` are pending messages of the report. If another message replaced the file of one of
        them, that file is included.
        """
        replaced = {one.file for one in shown if self._is_other(one)}
        known = {one.file for one in self._pending} - replaced
        return [name for name in self._names if may_be_message(name) and visible(name) not in known]

    def _still_there(self, names: Sequence[str]) -> list[Waiting | Asking]:
        arrivals = list(self._arrivals(names))
        there = set(self._bus.names())
        return [one for one in arrivals if one.letter.file in there]

    def _arrivals(self, names: Sequence[str]) -> Iterator[Waiting | Asking]:
        for name in names:
            match self._status.look(self._bus, name):
                case NotYet(why=why):
                    yield Waiting(Letter(file=name), Arrival.UNFINISHED, why)
                case Ready(file=file):
                    yield self._arrival(name, file)

    def _arrival(self, name: str, file: MessageFile) -> Waiting | Asking:
        letter = letter_of(name, file)
        why = self._refusal(file) or self._earlier(name, letter.msg_id)
        if why:
            return Waiting(letter, Arrival.REFUSED, why)
        if is_request(file.message):
            return self._asking(letter, file, since=0)
        return Waiting(letter, Arrival.NEW)

    def _refusal(self, file: MessageFile) -> str:
        event = event_of(file)
        if is_decision(event.message):
            return NO_DECISIONS
        facts = LawFacts(
            unreadable=file.unreadable,
            outside=tuple(leading_out(self._status.root, message_field(event, "target_paths"))),
            phase=self._phase.phase,
            policy_mode=self._status.law.policy_mode,
        )
        return "; ".join(judge_message(event.message, facts).refused)

    def _earlier(self, name: str, msg_id: str) -> str:
        """The reason if an earlier message used up this id, else an empty text (LD-024)."""
        known = self._ledger.known(msg_id) if self._ledger is not None and msg_id else None
        if known is None or known.state is MessageState.WITHDRAWN:
            return ""
        if known.state not in ENDED and known.file == visible(name):
            return ""  # this file is being handled now
        return f"{DUPLICATE}: {known.told_as_first}"

    def _held(self, held: Sequence[Known]) -> Iterator[Held]:
        for known in held:
            if self._is_claimed(known.file):
                continue
            letter, file, note = self._pending_file(known)
            if file is not None and file.digest != known.digest:
                note = _CHANGED
            yield Held(
                letter=letter,
                since=known.first_at,
                why=known.why,
                note=note,
                said=self._said(known.msg_id, known.digest if file is None else file.digest),
            )

    def _requests(self, asking: Sequence[Known]) -> Iterator[Asking]:
        for known in asking:
            letter, file, _ = self._pending_file(known)
            if file is not None:
                yield self._asking(letter, file, known.first_at)

    def _asking(self, letter: Letter, file: MessageFile, since: int) -> Asking:
        event = event_of(file)
        to = message_field(event, "approval_by")
        about = words_of(event, "origin_ref")
        return Asking(
            letter=letter,
            about=about,
            to=tuple(map(str, to)) if isinstance(to, list) and to else tuple(Authority),
            text=words_of(event, "notes"),
            since=since,
            said=self._said(about, self._last_seen(about)),
        )

    def _pending_file(self, known: Known) -> tuple[Letter, MessageFile | None, str]:
        name, looked = self._looked_at(known)
        if name is not None and isinstance(looked, Ready) and not self._is_other(known):
            return letter_of(name, looked.file), looked.file, ""
        if name is not None and isinstance(looked, NotYet):
            same = unchanged(self._bus, name, known.digest)
            if same is not None:
                return letter_of(name, same), same, ""
        note = _WRITTEN if isinstance(looked, NotYet) else _GONE
        return Letter(file=known.file, msg_id=known.msg_id), None, note

    def _looked_at(self, known: Known) -> tuple[str | None, Ready | NotYet | Ignored | None]:
        name = self._by_file.get(known.file)
        return name, None if name is None else self._status.look(self._bus, name)

    def _is_other(self, known: Known) -> bool:
        """Whether its file has a message with another id now, or no message."""
        _, looked = self._looked_at(known)
        return isinstance(looked, Ready) and message_id(event_of(looked.file)) != known.msg_id

    def _said(self, msg_id: str, digest: str) -> tuple[Vote, ...]:
        said = standing_for(self._status.files, self._ledger, msg_id, digest)
        return tuple(
            Vote(one.authority, one.state.value, one.where, one.is_for_another(digest))
            for one in islice(said, len(Authority) * 2)
        )

    def _last_seen(self, msg_id: str) -> str:
        """The digest that a message had when it was last seen; empty if it was never seen."""
        return "" if self._ledger is None else self._ledger.digest_of(msg_id) or ""

    def _is_claimed(self, file: str) -> bool:
        return any(visible(one.name) == file for one in self._claimed)

    def _all_running(self) -> Iterator[Running]:
        begun = {known.file: known for known in self._running}
        for one in self._claimed:
            known = begun.pop(visible(one.name), None)
            letter = self._claimed_letter(one)
            if letter is not None:
                yield running_by(letter, one.owner, known.at if known else 0)
        for known in begun.values():
            letter = Letter(file=known.file, msg_id=known.msg_id)
            yield running_by(letter, known.owner, known.at)

    def _claimed_letter(self, one: Claim) -> Letter | None:
        with suppress(OSError):  # it has ended
            return letter_of(one.name, read_claimed(self._bus, one))
        return None
