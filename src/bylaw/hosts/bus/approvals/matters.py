"""Find the message that a person decides about, and write the token that records the decision.

Only a message in the bus or in the ledger can be decided. A token for an unknown message would
approve any message that arrives with its id.
"""

from __future__ import annotations

from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.law.messages import is_request
from bylaw.hosts.bus.approvals.asked import MAX_TOLD, commands_in_bus, find_asked, of_evidence
from bylaw.hosts.bus.approvals.opinions import as_fact, standing_for
from bylaw.hosts.bus.approvals.outlook import Outlook, Rehearsals
from bylaw.hosts.bus.ledger.ledger import ENDED, Ledger, MessageState
from bylaw.hosts.bus.messages.message_file import MessageFile
from bylaw.hosts.bus.messages.seen_folders import SeenFolders
from bylaw.model.errors import BylawError
from bylaw.model.iso_time import iso_time
from bylaw.model.visible import brief, clipped, visible
from bylaw.model.vocabulary import ApprovalState
from bylaw.runtime.clock import now_ms
from bylaw.runtime.known_agents import refuse_agents
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.shared_files import SHARED_CONTEXT, TOKENS, SharedFiles
from bylaw.runtime.user_name import user_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.bus.approvals.asked import Asked
    from bylaw.hosts.bus.approvals.opinions import Opinion
    from bylaw.hosts.bus.in_force import InForce
    from bylaw.hosts.bus.ledger.ledger import Known
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Authority

MAX_NOTE = 1_000
_WITHDRAWN = MessageState.WITHDRAWN  # its id may be used again


class Matter(Struct, frozen=True, kw_only=True):
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
    said: tuple[Opinion, ...]
    may_run: bool


class Matters:
    """The messages of a root that people can decide about."""

    def __init__(self, root: str, in_force: InForce) -> None:
        self._root = root
        self._bus_path = in_force.settings.law.bus
        self._files = SharedFiles(root, self._bus_path)
        self._rehearsals = Rehearsals(root, in_force)

    def matter(self, msg_id: str) -> Matter:
        """Find the message with this id, or the one that a request with this id is about.

        Raises BylawError if there is none.
        """
        with SeenFolders(self._root, self._bus_path) as bus, self._ledger() as ledger:
            if not bus.exists:
                raise BylawError(f"bus `{visible(bus.path)}` not found in `{visible(self._root)}`")
            commands = commands_in_bus(bus)
            asked = find_asked(commands, msg_id)
            if asked is None:
                # Try again: it may have been moving from one folder to the other.
                commands = commands_in_bus(bus)
                asked = find_asked(commands, msg_id)
            if asked is None:
                raise BylawError(_nothing(msg_id, [one.msg_id for one in commands]))
            in_bus = asked.message is not None
            known = None if ledger is None else ledger.known(asked.msg_id)
            if not in_bus and known is not None:
                asked = of_evidence(bus, asked, known.digest)
            return self._matter(asked, known, ledger, in_bus=in_bus)

    def outlook(self, matter: Matter, authority: Authority) -> Outlook:
        """Preview what would run if an authority approved the message."""
        if not matter.may_run:
            return Outlook()
        file = MessageFile(name=matter.where, message=matter.message, digest=matter.digest)
        approvals = tuple(as_fact(matter.msg_id, one, one.digest) for one in matter.said)
        phase = self._files.context().phase.phase
        return self._rehearsals.outlook(file, phase, approvals, matter.msg_id, authority)

    def earlier(self, matter: Matter, authority: Authority) -> list[str]:
        """The tokens that a new one would replace. Raises BylawError if they cannot be read."""
        try:
            names = self._files.token_names(matter.msg_id, authority)
        except (OSError, ValueError) as wrong:
            raise _unusable(wrong) from None
        return [f"{TOKENS}/{name}" for name in names]

    def refuse_pointless(self, matter: Matter, authority: Authority) -> None:
        """Raise BylawError if a line of the authority rejects, so an approval has no effect."""
        for one in matter.said:
            in_text = one.where.startswith(SHARED_CONTEXT)
            if not in_text or one.authority != authority or one.grants:
                continue
            if one.state is ApprovalState.UNCLEAR:
                unread = f"`{one.where}` cannot be read and may have a rejection by {authority}"
                raise BylawError(f"{unread}; fix it first")
            message = f"`{one.where}` has a rejection by {authority}, which overrides an approval"
            raise BylawError(f"{message}; change that line first")

    def decide(self, matter: Matter, authority: Authority, *, granted: bool, note: str) -> str:
        """Write the token for exactly the message that was shown. Return its path.

        Raises BylawError if an agent runs this process, or if the token cannot be written.
        """
        refuse_agents("a decision about a message")
        lines = [
            "Approved" if granted else "Rejected",
            f"digest: {matter.digest}",
            f"at: {iso_time(now_ms())}",
            f"by: {visible(user_name())}",
            *([f"note: {clipped(visible(note), MAX_NOTE)}"] if note else []),
        ]
        try:
            return self._files.write_token(matter.msg_id, authority, "\n".join(lines) + "\n")
        except (OSError, ValueError) as wrong:
            raise _unusable(wrong) from None

    def _matter(
        self, asked: Asked, known: Known | None, ledger: Ledger | None, *, in_bus: bool
    ) -> Matter:
        if not asked.digest:
            shown = visible(brief(asked.msg_id))
            gone = f"the message `{shown}` is not in the bus, and its digest is unknown"
            raise BylawError(f"{gone}: the decision would apply to any message with this id")
        # A message with the id of one that has ended is refused (LD-024).
        is_through = known is not None and known.state in ENDED and known.state is not _WITHDRAWN
        if known is not None and known.digest != asked.digest:
            known = None  # the entry is about another version of the message
        return Matter(
            msg_id=asked.msg_id,
            digest=asked.digest,
            where=asked.where,
            message=asked.message,
            state="" if known is None else known.state.value,
            why="" if known is None else known.why,
            request=None if asked.request is None else asked.request.message,
            said=standing_for(self._files, ledger, asked.msg_id, asked.digest),
            may_run=in_bus and not is_request(asked.message) and not is_through,
        )

    @contextmanager
    def _ledger(self) -> Iterator[Ledger | None]:
        ledger = Ledger.to_read(self._root)
        with nullcontext() if ledger is None else closing(ledger):
            yield ledger


def _nothing(msg_id: str, waiting: list[str]) -> str:
    told = ", ".join(f"`{one}`" for one in sorted(set(waiting))[:MAX_TOLD])
    more = len(set(waiting)) - MAX_TOLD
    listed = f"{told} and {more:,} more" if more > 0 else told
    waits = f"these wait: {listed}" if told else "no message waits"
    return f"no message `{visible(brief(msg_id))}` waits for a decision; {waits}"


def _unusable(wrong: OSError | ValueError) -> BylawError:
    return BylawError(f"cannot use `{TOKENS}`: {in_plain_words(wrong)}")
