"""Limits and gates of a rule, and the reasons why it was not active or not evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.gates import granted_to, is_open
from bylaw.engine.view import MissingFact
from bylaw.model.approvals import message_field
from bylaw.model.calls import NEVER_HAPPENED
from bylaw.model.event import ToolAfter, ToolBefore
from bylaw.model.rule import ApprovalGate, CategoryGate, EnabledGate, PhaseGate, Rounds
from bylaw.tools.explain.values import GateFound, LimitFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.engine.view import View
    from bylaw.model.event import Event
    from bylaw.model.rule import Gate, Rule


def limits_of(rule: Rule, view: View) -> Iterator[LimitFound]:
    """Yield each limit. `closed` says whether it applies now."""
    limits, last = rule.limits, view.session.firings.get(rule.uid)
    fired = (0, 0, 0) if last is None else (last.count, last.at, last.turn)
    turns = 0 if last is None else view.session.turn - last.turn
    passed = 0 if last is None else view.now - last.at
    if limits.once:
        yield LimitFound("once", 1, *fired, 0, last is not None)
    if limits.cooldown_turns:
        # The turn in which the rule fired is not one of the turns to wait.
        closed = last is not None and turns <= limits.cooldown_turns
        counted = max(turns - 1, 0)
        yield LimitFound("cooldown_turns", limits.cooldown_turns, *fired, counted, closed)
    if limits.cooldown_ms:
        closed = last is not None and passed < limits.cooldown_ms
        yield LimitFound("cooldown_ms", limits.cooldown_ms, *fired, passed, closed)


def gates_of(rule: Rule, view: View) -> Iterator[GateFound]:
    """Yield each gate, open or closed."""
    for gate in rule.gates:
        try:
            yield GateFound(*_gate(gate, view), is_open(gate, view))
        except MissingFact:
            yield GateFound("approval", "an approval", "not in the record", open=False)


def _gate(gate: Gate, view: View) -> tuple[str, str, str]:
    match gate:
        case EnabledGate():
            enabled = getattr(view.slate.enabled, gate.within.value)
            return f"enabled {gate.within.value}", gate.id, _listed(enabled)
        case PhaseGate():
            phase = getattr(view.event.facts, "phase", None)
            return "phase", _listed(gate.phases), str(phase) if isinstance(phase, int) else "none"
        case CategoryGate():
            return "category", _listed(gate.categories), str(message_field(view.event, "category"))
        case ApprovalGate():
            return "approval", f"{gate.mode} of {_listed(gate.authorities)}", _approved(gate, view)


def _approved(gate: ApprovalGate, view: View) -> str:
    return _listed(sorted(granted_to(gate, view)))


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values)) or "none"


def why_not_live(rule: Rule, event: Event) -> str:
    """Return the reason why a rule is not active for an event."""
    if not rule.enabled:
        return "it is disabled in its file"
    if rule.uid in (event.facts.disabled or ()):
        return "it is disabled"
    return "the event gets another round, and the rule runs only in the last one"


def why_not_asked(rule: Rule, event: Event) -> str:
    """Return the reason why a rule was not evaluated for an event."""
    if event.kind not in rule.on.kinds:
        return f"it fires on {_listed(rule.on.kinds)}, and this event is {event.kind}"
    if isinstance(event, ToolAfter) and event.status in NEVER_HAPPENED:
        return f"the call was {event.status} and did not run, so it triggers no rule"
    if isinstance(event, ToolAfter) and rule.on.status and event.status not in rule.on.status:
        return f"it fires on calls that ended with {_listed(rule.on.status)}, not {event.status}"
    if rule.on.rounds is Rounds.FIRST and event.round > 1:
        return "it fires in the first round of an event, and this is the second"
    if isinstance(event, ToolBefore | ToolAfter) and not _fits_tool(rule, event):
        return f"it fires on the tool {_listed(rule.filter.tools)}, not {event.tool}"
    return "an earlier rule ended its group, or its filter does not match the event"


def _fits_tool(rule: Rule, event: ToolBefore | ToolAfter) -> bool:
    names = {event.tool, *event.also}
    return not rule.filter.tools or not names.isdisjoint(rule.filter.tools)
