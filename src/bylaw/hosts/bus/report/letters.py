"""Build the `bus status` row of a message file, and check whether its owner process is alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.messages import EVIDENCE
from bylaw.hosts.bus.messages.subjects import message_id
from bylaw.model.approvals import message_field
from bylaw.model.event import Bus
from bylaw.runtime.owner import is_alive, is_dead, pid_of
from bylaw.tools.bus_report import Letter, Running

if TYPE_CHECKING:
    from bylaw.hosts.bus.messages.message_file import MessageFile


def event_of(file: MessageFile) -> Bus:
    """The event of a message file as rules see it, without facts."""
    return Bus(message=file.message)


def letter_of(name: str, file: MessageFile) -> Letter:
    """The row of a message file. `name` is the name that it had in `input`."""
    event = event_of(file)
    is_evidence = message_field(event, "msg_type") == EVIDENCE
    return Letter(
        file=name,
        msg_id=message_id(event),
        title=words_of(event, "title") or (EVIDENCE if is_evidence else ""),
        category=words_of(event, "category"),
        created_by=words_of(event, "created_by"),
    )


def words_of(event: Bus, name: str) -> str:
    """A field of the message; empty if it is not a text."""
    value = message_field(event, name)
    return value if isinstance(value, str) else ""


def running_by(letter: Letter, owner: str, since: int) -> Running:
    """A message that a process has claimed. `dead` is None if that is unknown."""
    dead = True if is_dead(owner) else False if is_alive(owner) else None
    return Running(letter=letter, pid=pid_of(owner), since=since, dead=dead)
