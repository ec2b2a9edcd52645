"""Names of bus events for locks and evidence, and the parts of message ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.messages import is_message_id
from bylaw.hosts.bus.messages.evidence import slug
from bylaw.model.approvals import message_field
from bylaw.model.event import Bus, File
from bylaw.model.iso_time import iso_time

if TYPE_CHECKING:
    from bylaw.model.event import Event


def subject(event: Event) -> str:
    """The id of a message, or `fs-SEQ` for a file change. Always valid in a file name."""
    if isinstance(event, File):
        return f"fs-{event.seq}"
    return message_id(event) or slug(event.file if isinstance(event, Bus) else "")


def id_moment(at: int) -> str:
    """The first part of an id: `YYYYMMDD_HHMMSS`, in UTC."""
    day, _, time = iso_time(at).partition("T")
    return f"{day.replace('-', '')}_{time[:8].replace(':', '')}"


def message_id(event: Event) -> str:
    """The id of a message; empty if it is missing or invalid."""
    found = message_field(event, "msg_id")
    return found if isinstance(found, str) and is_message_id(found) else ""
