"""The state of a bus at one moment, as plain values: waiting, held, running and ended messages.

The bus changes while it is read. So the folders are listed before the ledger is read, and a new
file is reported only if it is still there afterwards. Texts come from message files: printers must
escape them. Times are milliseconds, 0 if unknown.
"""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.hosts.bus.events import paths_outside
from bylaw.hosts.bus.evidence import message_id, newest_error
from bylaw.hosts.bus.folders import ERROR
from bylaw.hosts.bus.ledger import ENDED, PENDING, Ledger, MessageState
from bylaw.hosts.bus.message_file import (
    NotYet,
    ReadyFile,
    list_claims,
    may_be_message,
    read_claimed,
    read_if_unchanged,
)
from bylaw.hosts.bus.statements import valid_statements_with_digests
from bylaw.languages.law.built_in import DUPLICATE, NO_DECISIONS
from bylaw.languages.law.messages import EVIDENCE, check_message, is_decision, is_request
from bylaw.model.display import visible
from bylaw.model.event import Bus
from bylaw.model.facts import LawFacts
from bylaw.model.rule import message_field
from bylaw.model.vocabulary import Authority
from bylaw.store.system import is_alive, is_dead, pid_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.hosts.bus.folders import ReadOnlyFolders
    from bylaw.hosts.bus.ledger import LedgerEntry
    from bylaw.hosts.bus.message_file import Claim, IgnoredFile, MessageFile
    from bylaw.hosts.bus.status import BusStatus


class InputState(StrEnum):
    """State of a file in `input` that is not handled yet."""

    NEW = "new"
    UNFINISHED = "unfinished"  # a process may still be writing it
    REFUSED = "refused"  # will be refused


class MessageRow(Struct, frozen=True, kw_only=True):
    """The fields of a message file. `msg_id` is empty if the id is not valid."""

    file: str
    msg_id: str = ""
    title: str = ""
    category: str = ""
    created_by: str = ""


class WaitingMessage(Struct, frozen=True):
    """A message that is not handled yet. `why` says why it is not ready or will be refused."""

    row: MessageRow
    state: InputState
    why: str = ""


class AuthorityStatement(Struct, frozen=True):
    """The current statement of an authority about a message, and its place.

    `other_text`: the statement is for an earlier text of the message and does not apply.
    """

    authority: str
    state: str
    where: str
    other_text: bool = False


class HeldMessage(Struct, frozen=True, kw_only=True):
    """A message that lacks an approval. `note` says what changed since the last attempt."""

    row: MessageRow
    since: int
    why: str
    note: str = ""
    statements: tuple[AuthorityStatement, ...] = ()


class OpenRequest(Struct, frozen=True, kw_only=True):
    """An approval request that waits for its addressees. `about` is the id of its subject."""

    row: MessageRow
    about: str
    to: tuple[str, ...]
    text: str
    since: int
    statements: tuple[AuthorityStatement, ...] = ()


class RunningMessage(Struct, frozen=True, kw_only=True):
    """A message that a process has claimed. `dead` is None if that is unknown."""

    row: MessageRow
    pid: int
    since: int
    dead: bool | None


class FinishedMessage(Struct, frozen=True, kw_only=True):
    """A finished message and its result."""

    name: str
    state: str
    at: int
    why: str


class BusReport(Struct, frozen=True, kw_only=True):
    """The complete report. `left_out` counts the waiting, held and requests that it omits."""

    root: str
    bus: str
    exists: bool
    phase: int | None
    phase_problem: str = ""
    waiting: tuple[WaitingMessage, ...] = ()
    held: tuple[HeldMessage, ...] = ()
    requests: tuple[OpenRequest, ...] = ()
    running: tuple[RunningMessage, ...] = ()
    ended: tuple[FinishedMessage, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def file_event(file: MessageFile) -> Bus:
    """The event of a message file as rules see it, without facts."""
    return Bus(message=file.message)


def message_row(name: str, file: MessageFile) -> MessageRow:
    """The row of a message file. `name` is the name that it had in `input`."""
    event = file_event(file)
    is_evidence = message_field(event, "msg_type") == EVIDENCE
    return MessageRow(
        file=name,
        msg_id=message_id(event),
        title=text_field(event, "title") or (EVIDENCE if is_evidence else ""),
        category=text_field(event, "category"),
        created_by=text_field(event, "created_by"),
    )


def text_field(event: Bus, name: str) -> str:
    """A field of the message; empty if it is not a text."""
    value = message_field(event, name)
    return value if isinstance(value, str) else ""


def running_message(letter: MessageRow, owner: str, since: int) -> RunningMessage:
    """A message that a process has claimed. `dead` is None if that is unknown."""
    dead = True if is_dead(owner) else False if is_alive(owner) else None
    return RunningMessage(row=letter, pid=pid_of(owner), since=since, dead=dead)


def finished_messages(
    bus: ReadOnlyFolders, ledger: Ledger | None, refusals: Sequence[FinishedMessage], limit: int
) -> list[FinishedMessage]:
    """The messages that ended last, newest first."""
    known = [] if ledger is None else ledger.recent(limit, *ENDED)
    failed = any(one.state is MessageState.FAILED for one in known)
    evidence = bus.names(ERROR) if failed else []
    told = [
        FinishedMessage(
            name=one.msg_id,
            state=one.state.value,
            at=one.at,
            why=one.why or _evidence_place(bus, one, evidence),
        )
        for one in known
    ]
    return sorted([*told, *refusals], key=lambda one: -one.at)[:limit]


def count_by_state(ledger: Ledger | None, refused: int) -> dict[str, int]:
    """The number of messages in each end state. `refused` adds those that the ledger lacks."""
    counted = {} if ledger is None else ledger.counts()
    found = {state.value: counted.get(state, 0) for state in ENDED}
    return found | {MessageState.REFUSED.value: found[MessageState.REFUSED.value] + refused}


def _evidence_place(bus: ReadOnlyFolders, known: LedgerEntry, evidence: Sequence[str]) -> str:
    """Where evidence of a failure is. A failure has no reason, because no rule decided it."""
    if known.state is not MessageState.FAILED:
        return ""
    newest = newest_error(bus, evidence, known.msg_id)
    return "" if newest is None else f"see `{bus.shown(ERROR, newest)}`"


_CHANGED = "the message has changed since and will be tried again"
_BEING_WRITTEN = "a process is writing to it"
_GONE = "its file is gone, so the message is withdrawn"


class BusSnapshot:
    """The content of a bus at one moment. `status` caches what earlier reads found."""

    def __init__(self, status: BusStatus, bus: ReadOnlyFolders, ledger: Ledger | None) -> None:
        self._status = status
        self._bus = bus
        self._ledger = ledger
        self._phase = status.files.context().phase
        listed = bus.names()
        self._claimed = list_claims(bus)
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
        arrived = self._unhandled_names([*held[:limit], *asking[:limit]])
        arrivals = self._existing_arrivals(arrived[:limit])
        self._status.forget_missing(self._names)
        refused, refusals = self._status.refusals.newest(self._bus, limit)
        return BusReport(
            root=self._status.root,
            bus=self._bus.path,
            exists=self._bus.exists,
            phase=self._phase.phase,
            phase_problem=self._phase.why,
            waiting=tuple(one for one in arrivals if isinstance(one, WaitingMessage)),
            held=tuple(self._held_messages(held[:limit])),
            requests=(
                *self._open_requests(asking[:limit]),
                *(one for one in arrivals if isinstance(one, OpenRequest)),
            ),
            running=tuple(self._running_messages()),
            ended=tuple(finished_messages(self._bus, self._ledger, refusals, limit)),
            counts=count_by_state(self._ledger, refused),
            left_out={
                "waiting": max(len(arrived) - limit, 0),
                "held": max(len(held) - limit, 0),
                "requests": max(len(asking) - limit, 0),
            },
        )

    def _in_state(self, *states: MessageState) -> list[LedgerEntry]:
        return [] if self._ledger is None else self._ledger.messages_in(*states)

    def _unhandled_names(self, shown: Sequence[LedgerEntry]) -> list[str]:
        """The files of `input` that were not handled yet.

        `shown` are pending messages of the report. If another message replaced the file of one of
        them, that file is included.
        """
        replaced = {one.file for one in shown if self._is_replaced(one)}
        known = {one.file for one in self._pending} - replaced
        return [name for name in self._names if may_be_message(name) and visible(name) not in known]

    def _existing_arrivals(self, names: Sequence[str]) -> list[WaitingMessage | OpenRequest]:
        arrivals = list(self._arrivals(names))
        there = set(self._bus.names())
        return [one for one in arrivals if one.row.file in there]

    def _arrivals(self, names: Sequence[str]) -> Iterator[WaitingMessage | OpenRequest]:
        for name in names:
            match self._status.look(self._bus, name):
                case NotYet(why=why):
                    yield WaitingMessage(MessageRow(file=name), InputState.UNFINISHED, why)
                case ReadyFile(file=file):
                    yield self._classify(name, file)

    def _classify(self, name: str, file: MessageFile) -> WaitingMessage | OpenRequest:
        letter = message_row(name, file)
        why = self._refusal(file) or self._duplicate_reason(name, letter.msg_id)
        if why:
            return WaitingMessage(letter, InputState.REFUSED, why)
        if is_request(file.message):
            return self._open_request(letter, file, since=0)
        return WaitingMessage(letter, InputState.NEW)

    def _refusal(self, file: MessageFile) -> str:
        event = file_event(file)
        if is_decision(event.message):
            return NO_DECISIONS
        facts = LawFacts(
            unreadable=file.unreadable,
            outside=tuple(paths_outside(self._status.root, message_field(event, "target_paths"))),
            phase=self._phase.phase,
            policy_mode=self._status.law.policy_mode,
        )
        return "; ".join(check_message(event.message, facts).refused)

    def _duplicate_reason(self, name: str, msg_id: str) -> str:
        """The reason if an earlier message used up this id, else an empty text (LD-024)."""
        known = self._ledger.known(msg_id) if self._ledger is not None and msg_id else None
        if known is None or known.state is MessageState.WITHDRAWN:
            return ""
        if known.state not in ENDED and known.file == visible(name):
            return ""  # this file is being handled now
        return f"{DUPLICATE}: {known.duplicate_reason}"

    def _held_messages(self, held: Sequence[LedgerEntry]) -> Iterator[HeldMessage]:
        for known in held:
            if self._is_claimed(known.file):
                continue
            letter, file, note = self._pending_file(known)
            if file is not None and file.digest != known.digest:
                note = _CHANGED
            yield HeldMessage(
                row=letter,
                since=known.first_at,
                why=known.why,
                note=note,
                statements=self._statements(
                    known.msg_id, known.digest if file is None else file.digest
                ),
            )

    def _open_requests(self, asking: Sequence[LedgerEntry]) -> Iterator[OpenRequest]:
        for known in asking:
            letter, file, _ = self._pending_file(known)
            if file is not None:
                yield self._open_request(letter, file, known.first_at)

    def _open_request(self, letter: MessageRow, file: MessageFile, since: int) -> OpenRequest:
        event = file_event(file)
        to = message_field(event, "approval_by")
        about = text_field(event, "origin_ref")
        return OpenRequest(
            row=letter,
            about=about,
            to=tuple(map(str, to)) if isinstance(to, list) and to else tuple(Authority),
            text=text_field(event, "notes"),
            since=since,
            statements=self._statements(about, self._known_digest(about)),
        )

    def _pending_file(self, known: LedgerEntry) -> tuple[MessageRow, MessageFile | None, str]:
        name, looked = self._read_file(known)
        if name is not None and isinstance(looked, ReadyFile) and not self._is_replaced(known):
            return message_row(name, looked.file), looked.file, ""
        if name is not None and isinstance(looked, NotYet):
            same = read_if_unchanged(self._bus, name, known.digest)
            if same is not None:
                return message_row(name, same), same, ""
        note = _BEING_WRITTEN if isinstance(looked, NotYet) else _GONE
        return MessageRow(file=known.file, msg_id=known.msg_id), None, note

    def _read_file(
        self, known: LedgerEntry
    ) -> tuple[str | None, ReadyFile | NotYet | IgnoredFile | None]:
        name = self._by_file.get(known.file)
        return name, None if name is None else self._status.look(self._bus, name)

    def _is_replaced(self, known: LedgerEntry) -> bool:
        """Whether its file has a message with another id now, or no message."""
        _, looked = self._read_file(known)
        return isinstance(looked, ReadyFile) and message_id(file_event(looked.file)) != known.msg_id

    def _statements(self, msg_id: str, digest: str) -> tuple[AuthorityStatement, ...]:
        said = valid_statements_with_digests(self._status.files, self._ledger, msg_id, digest)
        return tuple(
            AuthorityStatement(
                one.authority, one.state.value, one.where, one.is_for_another(digest)
            )
            for one in islice(said, len(Authority) * 2)
        )

    def _known_digest(self, msg_id: str) -> str:
        """The digest that a message had when it was last seen; empty if it was never seen."""
        return "" if self._ledger is None else self._ledger.digest_of(msg_id) or ""

    def _is_claimed(self, file: str) -> bool:
        return any(visible(one.name) == file for one in self._claimed)

    def _running_messages(self) -> Iterator[RunningMessage]:
        begun = {known.file: known for known in self._running}
        for one in self._claimed:
            known = begun.pop(visible(one.name), None)
            letter = self._claimed_row(one)
            if letter is not None:
                yield running_message(letter, one.owner, known.at if known else 0)
        for known in begun.values():
            letter = MessageRow(file=known.file, msg_id=known.msg_id)
            yield running_message(letter, known.owner, known.at)

    def _claimed_row(self, one: Claim) -> MessageRow | None:
        with suppress(OSError):  # it has ended
            return message_row(one.name, read_claimed(self._bus, one))
        return None
