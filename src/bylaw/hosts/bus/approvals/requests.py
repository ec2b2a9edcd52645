"""`approval.request` → a valid message of its own in `input`, which waits for its addressee."""

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
    """LD-106: same phase and category, and the id that it is about as its origin."""
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
        # A change of a file has no category, and runs like A (LD-A31).
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
    """`YYYYMMDD_HHMMSS_bylaw_request-SEQ-STEP`: no other step has the same."""
    return f"{id_moment(event.at)}_{CREATED_BY}_request-{event.seq}-{due.number}"
