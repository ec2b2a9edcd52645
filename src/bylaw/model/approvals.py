"""How many approvals a gate needs for a message, and which authorities gave one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.event import Bus
from bylaw.model.rule import ApprovalMode
from bylaw.model.vocabulary import ApprovalState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.event import Event
    from bylaw.model.facts import Approval
    from bylaw.model.rule import ApprovalGate
    from bylaw.model.values import JSON

# How many different authorities must approve.
NEEDED = {ApprovalMode.SINGLE: 1, ApprovalMode.DUAL: 2}


def message_field(event: Event, name: str) -> JSON:
    """Return a field of the bus message, or None if there is no such field."""
    message = event.message if isinstance(event, Bus) else None
    return message.get(name) if isinstance(message, dict) else None


def needed_approvals(gate: ApprovalGate, event: Event) -> int:
    """Return how many approvals are needed. A message can ask for one, never for less (LD-A12)."""
    asked = message_field(event, "requires_approval") is True
    return max(NEEDED.get(gate.mode, 0), int(asked))


def granted_by(gate: ApprovalGate, event: Event, approvals: Iterable[Approval]) -> set[str]:
    """Return the listed authorities that approved the message in its present version."""
    message_id, category = message_field(event, "msg_id"), message_field(event, "category")
    digest = event.digest if isinstance(event, Bus) else ""
    return {
        approval.authority.lower()
        for approval in approvals
        if approval.id == message_id
        and approval.state is ApprovalState.GRANTED
        and approval.authority.lower() in gate.authorities
        and approval.category in ("", category)
        and approval.digest in ("", digest)
    }
