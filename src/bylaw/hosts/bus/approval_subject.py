"""Find the message that a person decides about, preview an approval, and write the decision.

An id refers to a message, or to a request that is about a message. Only a message in the bus or in
the ledger can be decided: a token for an unknown message would approve any message that arrives
with its id. The preview lists the commands that an approval would start; it performs nothing.
"""

from __future__ import annotations

import re
from contextlib import closing, contextmanager, nullcontext, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.bus.active_rules import NO_ACTIVE_RULES
from bylaw.hosts.bus.events import SESSION, message_event
from bylaw.hosts.bus.evidence import find_message
from bylaw.hosts.bus.folders import INPUT, PROCESSING, ReadOnlyFolders
from bylaw.hosts.bus.ledger import ENDED, Ledger, MessageState
from bylaw.hosts.bus.message_file import (
    PATIENCE_S,
    MessageFile,
    NotYet,
    ReadyFile,
    list_claims,
    read_claimed,
    read_message_file,
)
from bylaw.hosts.bus.statements import as_fact, valid_statements_with_digests
from bylaw.hosts.clients.caller import require_person
from bylaw.languages.law.messages import COMMAND, is_message_id, is_request
from bylaw.model.display import brief, clip_text, iso_time, visible
from bylaw.model.effects import CommandRun
from bylaw.model.errors import BylawError
from bylaw.model.facts import Approval
from bylaw.model.session import Session
from bylaw.model.vocabulary import ApprovalState, Authority, Verdict
from bylaw.runtime.needs import decide_with_facts
from bylaw.runtime.shared_context import SHARED_CONTEXT, TOKENS, SharedFiles
from bylaw.store.files import os_error_text
from bylaw.store.system import now_ms, user_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.bus.active_rules import ActiveRules
    from bylaw.hosts.bus.ledger import LedgerEntry
    from bylaw.hosts.bus.message_file import Claim
    from bylaw.hosts.bus.statements import Statement
    from bylaw.model.decision import Decision
    from bylaw.model.event import Bus
    from bylaw.model.values import JSON

MAX_LISTED = 20  # messages in an error
# The `origin_ref` of requests that were caused by a file change.
_CHANGE = re.compile(r"fs-[0-9]{1,18}")


class BusCommand(Struct, frozen=True):
    """A command in the bus; `where` is for people."""

    where: str
    msg_id: str
    message: dict[str, JSON]
    digest: str

    @property
    def about(self) -> str | None:
        """The id that a request is about; None if it is not a request."""
        return str(self.message.get("origin_ref")) if is_request(self.message) else None


class RequestedMessage(Struct, frozen=True):
    """What is to be decided. Without message, digest and place if it is not in the bus."""

    msg_id: str
    request: BusCommand | None
    message: dict[str, JSON] | None = None
    digest: str = ""
    where: str = ""


def commands_in_bus(bus: ReadOnlyFolders) -> list[BusCommand]:
    """The commands in `input` and `processing`. Waits a short time for files being written."""
    until = monotonic() + PATIENCE_S
    files = [(INPUT, name, _read_input(bus, name, until)) for name in bus.names(INPUT)]
    files += [(PROCESSING, one.file, _read_claim(bus, one)) for one in list_claims(bus)]
    found = (_command(bus.shown(folder, name), file) for folder, name, file in files if file)
    return [one for one in found if one is not None]


def find_requested(commands: list[BusCommand], msg_id: str) -> RequestedMessage | None:
    """Find the message with this id, or the one that a request with this id is about.

    If requests are about a file change with this id, the first request is used in its place.
    Returns None if nothing has this id. Raises BylawError if different messages have it.
    """
    named = _single(one for one in commands if one.msg_id == msg_id)
    about = msg_id if named is None or named.about is None else named.about
    own = _single(one for one in commands if one.msg_id == about and one.about is None)
    requests = [one for one in commands if one.about == about]
    request = named if named in requests else next(iter(requests), None)
    if own is None and request is not None and _CHANGE.fullmatch(about):
        own = request  # a file change is not a message: the request is all that is known of it
    if own is not None:
        return RequestedMessage(about, request, own.message, own.digest, own.where)
    return None if request is None else RequestedMessage(about, request)


def from_evidence(bus: ReadOnlyFolders, asked: RequestedMessage, digest: str) -> RequestedMessage:
    """Add the message from evidence that contains it unchanged, if it is no longer in the bus."""
    found = find_message(bus, asked.msg_id, digest)
    message, where = (None, "") if found is None else found
    return replace(asked, digest=digest, message=message, where=where)


def _read_input(bus: ReadOnlyFolders, name: str, until: float) -> MessageFile | None:
    looked = read_message_file(bus, name, lambda _: True)
    while isinstance(looked, NotYet) and (left := until - monotonic()) > 0:
        sleep(min(looked.wait_s, left))
        looked = read_message_file(bus, name, lambda _: True)
    return looked.file if isinstance(looked, ReadyFile) else None


def _read_claim(bus: ReadOnlyFolders, one: Claim) -> MessageFile | None:
    with suppress(OSError):  # it has ended
        return read_claimed(bus, one)
    return None


def _command(where: str, file: MessageFile) -> BusCommand | None:
    message = file.message
    if not isinstance(message, dict) or message.get("msg_type") != COMMAND:
        return None
    msg_id = message.get("msg_id")
    if not isinstance(msg_id, str) or not is_message_id(msg_id):
        return None
    return BusCommand(where, msg_id, message, file.digest)


def _single(commands: Iterable[BusCommand]) -> BusCommand | None:
    """Return the only message among these. Raises BylawError if their contents differ."""
    found = list(commands)
    if len({one.digest for one in found}) > 1:
        where = ", ".join(f"`{one.where}`" for one in found[:MAX_LISTED])
        raise BylawError(f"different messages have the id `{found[0].msg_id}`: {where}")
    return found[0] if found else None


class PreviewCommand(Struct, frozen=True):
    """A command that a rule would start, and its folder."""

    rule: str
    argv: tuple[str, ...]
    cwd: str


class ApprovalPreview(Struct, frozen=True, kw_only=True):
    """Commands that would run at once, and `later`: after the other authorities approve as well.

    `why` has the reasons that prevent commands or make them fail.
    """

    commands: tuple[PreviewCommand, ...] = ()
    later: tuple[PreviewCommand, ...] = ()
    why: tuple[str, ...] = ()


class PreviewRunner:
    """Decide messages under the active rules of a root, as if they were approved."""

    def __init__(self, root: str, in_force: ActiveRules) -> None:
        self._root = root
        self._active_rules = in_force

    def preview(
        self,
        file: MessageFile,
        phase: int | None,
        approvals: tuple[Approval, ...],
        msg_id: str,
        authority: Authority,
    ) -> ApprovalPreview:
        """Decide a message with these approvals plus that of an authority."""
        if not self._active_rules.has_law:
            return ApprovalPreview(why=(NO_ACTIVE_RULES,))
        event = self._active_rules.with_facts(message_event(self._root, file), phase)
        alone, all_ = (
            self._decide(event, (*approvals, *_granted_approvals(msg_id, file.digest, by)))
            for by in ((authority,), tuple(Authority))
        )
        commands, later = _commands(alone), _commands(all_)
        why = [*_refusals(alone), *self._obstacles(alone, all_)]
        others = tuple(one for one in later if one not in commands)
        return ApprovalPreview(commands=commands, later=others, why=tuple(dict.fromkeys(why)))

    def _decide(self, event: Bus, approvals: tuple[Approval, ...]) -> Decision:
        known = replace(event, facts=replace(event.facts, approvals=approvals))
        return decide_with_facts(self._active_rules.rules, Session(id=SESSION), known)[1]

    def _obstacles(self, *decisions: Decision) -> list[str]:
        plans = [plan for one in decisions for plan in one.plans]
        broken = [f"`{plan.rule}` fails: {plan.broken}" for plan in plans if plan.broken]
        trust = self._active_rules.trust()
        runs = any(map(_commands, decisions))
        return broken if trust.given or not runs else [*broken, f"no command starts: {trust.why}"]


def _granted_approvals(msg_id: str, digest: str, by: Iterable[Authority]) -> list[Approval]:
    state = ApprovalState.GRANTED
    return [Approval(id=msg_id, authority=one, state=state, digest=digest) for one in by]


def _commands(decision: Decision) -> tuple[PreviewCommand, ...]:
    return tuple(
        PreviewCommand(plan.rule, step.argv, step.cwd)
        for plan in decision.plans
        for step in plan.steps
        if isinstance(step, CommandRun)
    )


def _refusals(decision: Decision) -> list[str]:
    """Why the message would be refused even then."""
    return [one.text for one in decision.reasons if one.verdict >= Verdict.DENY]


MAX_NOTE = 1_000
_WITHDRAWN = MessageState.WITHDRAWN  # its id may be used again


class ApprovalSubject(Struct, frozen=True, kw_only=True):
    """What a person decides about, as it was when it was shown.

    `message` is None if only its digest is known, because its evidence is gone. `request` is the
    message that asks for the decision. `said` are the earlier statements of authorities. `may_run`
    is true if the message waits in the bus: a message that has ended runs nothing more.
    """

    msg_id: str
    digest: str
    where: str
    message: dict[str, JSON] | None
    state: str
    why: str
    request: dict[str, JSON] | None
    statements: tuple[Statement, ...]
    may_run: bool


class ApprovalSubjects:
    """The messages of a root that people can decide about."""

    def __init__(self, root: str, in_force: ActiveRules) -> None:
        self._root = root
        self._bus_path = in_force.settings.law.bus
        self._files = SharedFiles(root, self._bus_path)
        self._previews = PreviewRunner(root, in_force)

    def find(self, msg_id: str) -> ApprovalSubject:
        """Find the message with this id, or the one that a request with this id is about.

        Raises BylawError if there is none.
        """
        with ReadOnlyFolders(self._root, self._bus_path) as bus, self._ledger() as ledger:
            if not bus.exists:
                raise BylawError(f"bus `{visible(bus.path)}` not found in `{visible(self._root)}`")
            commands = commands_in_bus(bus)
            asked = find_requested(commands, msg_id)
            if asked is None:
                # Try again: it may have been moving from one folder to the other.
                commands = commands_in_bus(bus)
                asked = find_requested(commands, msg_id)
            if asked is None:
                raise BylawError(_not_found_text(msg_id, [one.msg_id for one in commands]))
            in_bus = asked.message is not None
            known = None if ledger is None else ledger.known(asked.msg_id)
            if not in_bus and known is not None:
                asked = from_evidence(bus, asked, known.digest)
            return self._make_subject(asked, known, ledger, in_bus=in_bus)

    def preview(self, matter: ApprovalSubject, authority: Authority) -> ApprovalPreview:
        """Preview what would run if an authority approved the message."""
        if not matter.may_run:
            return ApprovalPreview()
        file = MessageFile(name=matter.where, message=matter.message, digest=matter.digest)
        approvals = tuple(as_fact(matter.msg_id, one, one.digest) for one in matter.statements)
        phase = self._files.context().phase.phase
        return self._previews.preview(file, phase, approvals, matter.msg_id, authority)

    def earlier(self, matter: ApprovalSubject, authority: Authority) -> list[str]:
        """The tokens that a new one would replace. Raises BylawError if they cannot be read."""
        try:
            names = self._files.token_names(matter.msg_id, authority)
        except (OSError, ValueError) as wrong:
            raise _tokens_error(wrong) from None
        return [f"{TOKENS}/{name}" for name in names]

    def require_effective(self, matter: ApprovalSubject, authority: Authority) -> None:
        """Raise BylawError if a line of the authority rejects, so an approval has no effect."""
        for one in matter.statements:
            in_text = one.where.startswith(SHARED_CONTEXT)
            if not in_text or one.authority != authority or one.grants:
                continue
            if one.state is ApprovalState.UNCLEAR:
                unread = f"`{one.where}` cannot be read and may have a rejection by {authority}"
                raise BylawError(f"{unread}; fix it first")
            message = f"`{one.where}` has a rejection by {authority}, which overrides an approval"
            raise BylawError(f"{message}; change that line first")

    def decide(
        self, matter: ApprovalSubject, authority: Authority, *, granted: bool, note: str
    ) -> str:
        """Write the token for exactly the message that was shown. Return its path.

        Raises BylawError if an agent runs this process, or if the token cannot be written.
        """
        require_person("a decision about a message")
        lines = [
            "Approved" if granted else "Rejected",
            f"digest: {matter.digest}",
            f"at: {iso_time(now_ms())}",
            f"by: {visible(user_name())}",
            *([f"note: {clip_text(visible(note), MAX_NOTE)}"] if note else []),
        ]
        try:
            return self._files.write_token(matter.msg_id, authority, "\n".join(lines) + "\n")
        except (OSError, ValueError) as wrong:
            raise _tokens_error(wrong) from None

    def _make_subject(
        self,
        asked: RequestedMessage,
        known: LedgerEntry | None,
        ledger: Ledger | None,
        *,
        in_bus: bool,
    ) -> ApprovalSubject:
        if not asked.digest:
            shown = visible(brief(asked.msg_id))
            gone = f"the message `{shown}` is not in the bus, and its digest is unknown"
            raise BylawError(f"{gone}: the decision would apply to any message with this id")
        # A message with the id of one that has ended is refused (LD-024).
        is_through = known is not None and known.state in ENDED and known.state is not _WITHDRAWN
        if known is not None and known.digest != asked.digest:
            known = None  # the entry is about another version of the message
        return ApprovalSubject(
            msg_id=asked.msg_id,
            digest=asked.digest,
            where=asked.where,
            message=asked.message,
            state="" if known is None else known.state.value,
            why="" if known is None else known.why,
            request=None if asked.request is None else asked.request.message,
            statements=valid_statements_with_digests(
                self._files, ledger, asked.msg_id, asked.digest
            ),
            may_run=in_bus and not is_request(asked.message) and not is_through,
        )

    @contextmanager
    def _ledger(self) -> Iterator[Ledger | None]:
        ledger = Ledger.open_for_reading(self._root)
        with nullcontext() if ledger is None else closing(ledger):
            yield ledger


def _not_found_text(msg_id: str, waiting: list[str]) -> str:
    told = ", ".join(f"`{one}`" for one in sorted(set(waiting))[:MAX_LISTED])
    more = len(set(waiting)) - MAX_LISTED
    listed = f"{told} and {more:,} more" if more > 0 else told
    waits = f"these wait: {listed}" if told else "no message waits"
    return f"no message `{visible(brief(msg_id))}` waits for a decision; {waits}"


def _tokens_error(wrong: OSError | ValueError) -> BylawError:
    return BylawError(f"cannot use `{TOKENS}`: {os_error_text(wrong)}")
