"""The gates of a rule: which of them are closed for this event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.approvals import granted_by, message_field, needed_approvals
from bylaw.model.decision import Need, NeedName
from bylaw.model.errors import GuardError
from bylaw.model.rule import ApprovalGate, CategoryGate, EnabledGate, Gate, PhaseGate, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.engine.view import View


def closed_gates(rule: Rule, view: View) -> tuple[Gate, ...]:
    """Return all closed gates of a rule, not only the first."""
    return tuple(gate for gate in rule.gates if not is_open(gate, view))


def describe(gates: Iterable[Gate]) -> str:
    """Return the names of the closed gates, for the trace."""
    return ", ".join(_NAMES[type(gate)] for gate in gates)


def is_open(gate: Gate, view: View) -> bool:
    """Whether one gate allows the rule to apply."""
    match gate:
        case EnabledGate(within=within, id=id_):
            return id_ in getattr(view.slate.enabled, within.value)
        case PhaseGate(phases=phases):
            return getattr(view.event.facts, "phase", None) in phases
        case CategoryGate(categories=categories):
            return message_field(view.event, "category") in categories
        case ApprovalGate():
            return _is_approved(gate, view)


def _is_approved(gate: ApprovalGate, view: View) -> bool:
    needed = needed_approvals(gate, view.event)
    return not needed or len(granted_to(gate, view)) >= needed


def granted_to(gate: ApprovalGate, view: View) -> set[str]:
    """Return the authorities that approved; none if the approvals are not available."""
    message_id = message_field(view.event, "msg_id")
    try:
        approvals = view.fact(Need(NeedName.APPROVALS, str(message_id)))
    except GuardError:
        return set()
    assert isinstance(approvals, tuple)
    return granted_by(gate, view.event, approvals)


_NAMES: dict[type[Gate], str] = {
    EnabledGate: "enabled",
    PhaseGate: "phase",
    CategoryGate: "category",
    ApprovalGate: "approval",
}
