"""Build the message that asks for an approval. It waits in `input` for its addressee."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.messages import COMMAND
from bylaw.dialects.law.written import Category, CommandType
from bylaw.hosts.bus.messages.subjects import id_moment, subject
from bylaw.model.approvals import message_field
from bylaw.model.effects import ApprovalRequest
from bylaw.model.event import File
from bylaw.model.visible import clipped, visible

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.model.event import Event
    from bylaw.model.values import JSON

CREATED_BY = "bylaw"
MAX_TITLE = 200


def request_message(due: Due, event: Event) -> dict[str, JSON]:
    """Build a request with the phase and category of the event, and its id as origin (LD-106)."""
    step = due.step
    assert isinstance(step, ApprovalRequest)
    about = message_field(event, "title")
    title = f"Approval of {subject(event)}" + (f": {about}" if isinstance(about, str) else "")
    targets = message_field(event, "target_paths")
    return {
        "msg_id": _request_id(due, event),
        "msg_type": COMMAND,
        "command_type": CommandType.APPROVAL_REQUEST.value,
        "phase": _phase(event),
        # A file change has no category and runs like category A (LD-A31).
        "category": message_field(event, "category") or Category.A.value,
        "title": clipped(visible(title), MAX_TITLE),
        "target_paths": [event.path] if isinstance(event, File) else targets or [],
        "approval_by": [step.to.value],
        "origin_ref": subject(event),
        "created_by": CREATED_BY,
        "notes": str(step.text),
    }


def _phase(event: Event) -> JSON:
    own = message_field(event, "phase")
    known = getattr(event.facts, "phase", None)
    return own if isinstance(own, int) else known if isinstance(known, int) else 0


def _request_id(due: Due, event: Event) -> str:
    """`YYYYMMDD_HHMMSS_bylaw_request-SEQ-STEP`, unique for each step."""
    return f"{id_moment(event.at)}_{CREATED_BY}_request-{event.seq}-{due.number}"
