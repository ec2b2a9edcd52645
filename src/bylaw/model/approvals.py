"""How many approvals a gate wants of a message, and whose there are."""

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

# How many different authorities have to approve.
NEEDED = {ApprovalMode.SINGLE: 1, ApprovalMode.DUAL: 2}


def message_field(event: Event, name: str) -> JSON:
    """A field of the bus message; a message of another shape has none."""
    message = event.message if isinstance(event, Bus) else None
    return message.get(name) if isinstance(message, dict) else None


def needed_approvals(gate: ApprovalGate, event: Event) -> int:
    """A message may ask for an approval that its rule does not want, never for less (LD-A12)."""
    asked = message_field(event, "requires_approval") is True
    return max(NEEDED.get(gate.mode, 0), int(asked))


def granted_by(gate: ApprovalGate, event: Event, approvals: Iterable[Approval]) -> set[str]:
    """The listed authorities whose approval is of this message, as it is now."""
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
