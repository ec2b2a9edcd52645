"""What can prevent a rule from firing: gates, limits, and the budget of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.decision import Need, NeedName
from bylaw.model.errors import GuardError
from bylaw.model.rule import (
    ApprovalGate,
    CategoryGate,
    EnabledGate,
    Gate,
    PhaseGate,
    Rule,
    granting_authorities,
    message_field,
    needed_approvals,
)
from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.engine.view import View
    from bylaw.model.procedure import Procedure


def closed_gates(rule: Rule, view: View) -> tuple[Gate, ...]:
    """Return all closed gates of a rule, not only the first."""
    return tuple(gate for gate in rule.gates if not is_open(gate, view))


def gate_names(gates: Iterable[Gate]) -> str:
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
    return not needed or len(approving_authorities(gate, view)) >= needed


def approving_authorities(gate: ApprovalGate, view: View) -> set[str]:
    """Return the authorities that approved; none if the approvals are not available."""
    message_id = message_field(view.event, "msg_id")
    try:
        approvals = view.fact(Need(NeedName.APPROVALS, str(message_id)))
    except GuardError:
        return set()
    assert isinstance(approvals, tuple)
    return granting_authorities(gate, view.event, approvals)


_NAMES: dict[type[Gate], str] = {
    EnabledGate: "enabled",
    PhaseGate: "phase",
    CategoryGate: "category",
    ApprovalGate: "approval",
}


def active_limit(rule: Rule, view: View) -> str:
    """Return the limit that prevents the rule from firing now, or an empty text."""
    limits = rule.limits
    last = view.session.firings.get(rule.uid)
    if last is None:
        return ""
    if limits.once:
        return "once"
    # CM-A15: N turns without firing, not counting the turn of the firing itself.
    if limits.cooldown_turns and view.session.turn - last.turn <= limits.cooldown_turns:
        return f"cooldown_turns={limits.cooldown_turns}"
    if limits.cooldown_ms and view.now - last.at < limits.cooldown_ms:
        return f"cooldown_ms={limits.cooldown_ms}"
    return ""


class ActionBudget:
    """The actions that the rules of a group can still take for this event."""

    __slots__ = ("actions", "calls")

    def __init__(self, procedure: Procedure) -> None:
        self.actions = procedure.budget
        self.calls = procedure.call_budget

    def charge(self, op: Op) -> str:
        """Charge one action. If a budget is used up, charge nothing and return the reason."""
        if self.actions == 0:
            return "over budget"
        if op is Op.TOOL_CALL:
            if self.calls == 0:
                return "over the budget of calls"
            if self.calls is not None:
                self.calls -= 1
        if self.actions is not None:
            self.actions -= 1
        return ""

    def refund(self, op: Op) -> None:
        """Undo the charge of an action that gave no steps."""
        if self.actions is not None:
            self.actions += 1
        if op is Op.TOOL_CALL and self.calls is not None:
            self.calls += 1
