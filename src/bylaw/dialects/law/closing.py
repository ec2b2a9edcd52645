"""The built-in rules after all others: held, no match, and evidence for every message.

The procedure of the group is here as well, because these rules are part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.actions import Tells, asks
from bylaw.dialects.law.built_in import built_in
from bylaw.model.approvals import granted_by, message_field, needed_approvals
from bylaw.model.decision import Match
from bylaw.model.event import Bus
from bylaw.model.procedure import Flow, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import ApprovalGate
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import ApprovalState, Channel, Op

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.facts import Approval
    from bylaw.model.rule import View, Visited

NO_MATCH = "no matching rule"
_UNKNOWN_PHASE = (
    f"{NO_MATCH}: the phase is unknown; write `Active Phase: N` once in `SHARED_CONTEXT.md`"
)
_MAX_NAMED = 5


def _held(view: View) -> str:
    """Return which rules lack only approvals, which approvals exist, and what to do (LD-067)."""
    lacking = _lacking_approval(view)
    if not lacking:
        return ""
    told = [_lacks(entry, gate, view) for entry, gate in lacking[:_MAX_NAMED]]
    unused = [f"; {one}" for one in [*dict.fromkeys(_not_counted(view))][:_MAX_NAMED]]
    way_out = f"approve it with `bylaw approve {message_field(view.event, 'msg_id')}`"
    return f"held: {', and '.join(told)}{''.join(unused)}; {way_out}"


def _unmatched(view: View) -> str:
    """LD-089. An approval request stays open even if no rule matches (LD-A39)."""
    if asks(view) or _lacking_approval(view) or any(map(_has_matched, view.visited)):
        return ""
    known = isinstance(view.event, Bus) and isinstance(view.event.facts.phase, int)
    return NO_MATCH if known else _UNKNOWN_PHASE


def _without_evidence(view: View) -> str:
    """LD-003: a handled message leaves evidence, even if no rule writes any."""
    acted = [entry.rule for entry in view.visited if entry.fired and not entry.rule.core]
    if not acted or asks(view) or _lacking_approval(view):
        return ""
    makers = [maker for rule in acted for maker in rule.plan.steps]
    if any(isinstance(maker, Tells) and maker.is_evidence for maker in makers):
        return ""
    return "done by " + ", ".join(f"`{rule.id}`" for rule in acted[:_MAX_NAMED])


def _not_loaded(view: View) -> str:
    """Return the reason of a file that does not load; its stand-in rule writes no evidence."""
    for entry in view.visited:
        judgement = entry.rule.judgement
        if entry.fired and judgement and judgement.verdict is Verdict.DENY and not entry.ops:
            return judgement.reason.make(view, Match())
    return ""


def _has_matched(entry: Visited) -> bool:
    """Return whether the rule handled the message; the warning of relaxed mode does not."""
    return entry.fired and not (entry.rule.core and entry.rule.goes_on)


def _lacking_approval(view: View) -> list[tuple[Visited, ApprovalGate]]:
    """Return the rules that lack only approvals; none if a command ran, so it cannot run twice."""
    if asks(view) or any(entry.fired and _runs(entry) for entry in view.visited):
        return []
    return [
        (entry, entry.closed[0])
        for entry in view.visited
        if len(entry.closed) == 1 and isinstance(entry.closed[0], ApprovalGate)
    ]


def _runs(entry: Visited) -> bool:
    return any(maker.op is Op.COMMAND_RUN for maker in entry.rule.plan.steps)


def _lacks(entry: Visited, gate: ApprovalGate, view: View) -> str:
    needed = needed_approvals(gate, view.event)
    whose = (" and " if needed > 1 else " or ").join(f"`{one.value}`" for one in gate.authorities)
    given = sorted(granted_by(gate, view.event, _approvals(view)))
    has = " and ".join(f"`{one}`" for one in given)
    there = f"only {has} approved" if given else "not approved yet"
    return f"`{entry.rule.id}` needs approval by {whose} ({there})"


def _not_counted(view: View) -> Iterator[str]:
    """Yield why approvals of this message are not used."""
    event = view.event
    digest = event.digest if isinstance(event, Bus) else ""
    category = message_field(event, "category")
    for one in _approvals(view):
        if one.id != message_field(event, "msg_id"):
            continue
        if one.state is not ApprovalState.GRANTED:
            yield f"the approval by `{one.authority}` is {one.state.value}"
        elif one.category not in ("", category):
            yield f"the approval by `{one.authority}` is for category {one.category}"
        elif one.digest not in ("", digest):
            yield f"the approval by `{one.authority}` is for another text of the message"


def _approvals(view: View) -> tuple[Approval, ...]:
    return (view.event.facts.approvals or ()) if isinstance(view.event, Bus) else ()


PROCEDURE = Procedure(
    # The built-in rules have ranks before those of written rules.
    order=(SortKey.RANK, SortKey.PRIORITY_ASCENDING, SortKey.FILE, SortKey.SOURCE),
    flow=Flow.FIRST,
    guard_error=GuardFault.NOT_SATISFIED,
    failed_step=StepFault.ON_ERROR,
    closing=(
        built_in("held", _held, verdict=Verdict.ASK, channel=Channel.ERROR),
        built_in("no-match", _unmatched, verdict=Verdict.DENY, channel=Channel.ERROR),
        built_in("done", _without_evidence, channel=Channel.OUTPUT),
        built_in("not-loaded", _not_loaded, channel=Channel.ERROR),
    ),
)
