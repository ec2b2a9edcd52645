"""Preconditions of a rule: which of its gates are closed for this event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.decision import Need, NeedName
from bylaw.model.errors import GuardError
from bylaw.model.event import Bus
from bylaw.model.rule import (
    ApprovalGate,
    ApprovalMode,
    CategoryGate,
    EnabledGate,
    Gate,
    PhaseGate,
    Rule,
)
from bylaw.model.vocabulary import ApprovalState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.engine.view import View
    from bylaw.model.facts import Approval

_NEEDED_APPROVALS = {ApprovalMode.SINGLE: 1, ApprovalMode.DUAL: 2}


def closed_gates(rule: Rule, view: View) -> tuple[Gate, ...]:
    """All closed gates of a rule: more than one may keep it from applying."""
    return tuple(gate for gate in rule.gates if not is_open(gate, view))


def describe(gates: Iterable[Gate]) -> str:
    """The closed gates as the trace names them."""
    return ", ".join(_NAMES[type(gate)] for gate in gates)


def is_open(gate: Gate, view: View) -> bool:
    """Whether one gate lets the rule apply."""
    match gate:
        case EnabledGate(within=within, id=id_):
            return id_ in getattr(view.slate.enabled, within.value)
        case PhaseGate(phases=phases):
            return getattr(view.event.facts, "phase", None) in phases
        case CategoryGate(categories=categories):
            return _field(view, "category") in categories
        case ApprovalGate():
            return _is_approved(gate, view)


def _field(view: View, name: str) -> object:
    """A field of the bus message; a message of another shape has none."""
    message = view.event.message if isinstance(view.event, Bus) else None
    return message.get(name) if isinstance(message, dict) else None


def _is_approved(gate: ApprovalGate, view: View) -> bool:
    needed = _NEEDED_APPROVALS.get(gate.mode, 0)
    return not needed or len(granted_to(gate, view)) >= needed


def granted_to(gate: ApprovalGate, view: View) -> set[str]:
    """The authorities that approved; what cannot be known has not been approved."""
    message_id = _field(view, "msg_id")
    try:
        approvals = view.fact(Need(NeedName.APPROVALS, str(message_id)))
    except GuardError:
        return set()
    assert isinstance(approvals, tuple)
    return _granted(approvals, gate, view, message_id)


def _granted(
    approvals: tuple[Approval, ...], gate: ApprovalGate, view: View, message_id: object
) -> set[str]:
    """The listed authorities whose approval is of this message, as it is now."""
    digest = view.event.digest if isinstance(view.event, Bus) else ""
    category = _field(view, "category")
    return {
        approval.authority.lower()
        for approval in approvals
        if approval.id == message_id
        and approval.state is ApprovalState.GRANTED
        and approval.authority.lower() in gate.authorities
        and approval.category in ("", category)
        and approval.digest in ("", digest)
    }


_NAMES: dict[type[Gate], str] = {
    EnabledGate: "enabled",
    PhaseGate: "phase",
    CategoryGate: "category",
    ApprovalGate: "approval",
}
