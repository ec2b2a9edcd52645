"""How often a rule may fire: once, cool-downs, and the budget of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from bylaw.engine.view import View
    from bylaw.model.procedure import Procedure
    from bylaw.model.rule import Rule


def limit_in_force(rule: Rule, view: View) -> str:
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


class Spending:
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
