"""Find the message that an id refers to, or that a request with this id is about."""

from __future__ import annotations

import re
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects.law.messages import COMMAND, is_message_id, is_request
from bylaw.hosts.bus.messages.claims import claims
from bylaw.hosts.bus.messages.evidence import held_message
from bylaw.hosts.bus.messages.folders import INPUT, PROCESSING
from bylaw.hosts.bus.messages.message_file import PATIENCE_S, NotYet, Ready, look, read_claimed
from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.bus.messages.claims import Claim
    from bylaw.hosts.bus.messages.message_file import MessageFile
    from bylaw.hosts.bus.messages.seen_folders import SeenFolders
    from bylaw.model.values import JSON

MAX_TOLD = 20  # messages in an error
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


class Asked(Struct, frozen=True):
    """What is to be decided. Without message, digest and place if it is not in the bus."""

    msg_id: str
    request: BusCommand | None
    message: dict[str, JSON] | None = None
    digest: str = ""
    where: str = ""


def commands_in_bus(bus: SeenFolders) -> list[BusCommand]:
    """The commands in `input` and `processing`. Waits a short time for files being written."""
    until = monotonic() + PATIENCE_S
    files = [(INPUT, name, _in_input(bus, name, until)) for name in bus.names(INPUT)]
    files += [(PROCESSING, one.file, _claimed(bus, one)) for one in claims(bus)]
    found = (_command(bus.shown(folder, name), file) for folder, name, file in files if file)
    return [one for one in found if one is not None]


def find_asked(commands: list[BusCommand], msg_id: str) -> Asked | None:
    """Find the message with this id, or the one that a request with this id is about.

    If requests are about a file change with this id, the first request is used in its place.
    Returns None if nothing has this id. Raises BylawError if different messages have it.
    """
    named = _only(one for one in commands if one.msg_id == msg_id)
    about = msg_id if named is None or named.about is None else named.about
    own = _only(one for one in commands if one.msg_id == about and one.about is None)
    requests = [one for one in commands if one.about == about]
    request = named if named in requests else next(iter(requests), None)
    if own is None and request is not None and _CHANGE.fullmatch(about):
        own = request  # a file change is not a message: the request is all that is known of it
    if own is not None:
        return Asked(about, request, own.message, own.digest, own.where)
    return None if request is None else Asked(about, request)


def of_evidence(bus: SeenFolders, asked: Asked, digest: str) -> Asked:
    """Add the message from evidence that contains it unchanged, if it is no longer in the bus."""
    found = held_message(bus, asked.msg_id, digest)
    message, where = (None, "") if found is None else found
    return replace(asked, digest=digest, message=message, where=where)


def _in_input(bus: SeenFolders, name: str, until: float) -> MessageFile | None:
    looked = look(bus, name, lambda _: True)
    while isinstance(looked, NotYet) and (left := until - monotonic()) > 0:
        sleep(min(looked.wait_s, left))
        looked = look(bus, name, lambda _: True)
    return looked.file if isinstance(looked, Ready) else None


def _claimed(bus: SeenFolders, one: Claim) -> MessageFile | None:
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


def _only(commands: Iterable[BusCommand]) -> BusCommand | None:
    """Return the only message among these. Raises BylawError if their contents differ."""
    found = list(commands)
    if len({one.digest for one in found}) > 1:
        where = ", ".join(f"`{one.where}`" for one in found[:MAX_TOLD])
        raise BylawError(f"different messages have the id `{found[0].msg_id}`: {where}")
    return found[0] if found else None
