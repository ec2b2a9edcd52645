"""Notices that are due → plans that deliver them, most important first (TR-A23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.calls import NEVER_HAPPENED
from bylaw.model.decision import Plan, at_once
from bylaw.model.effects import Log, MessageInsert, Notify
from bylaw.model.event import ToolAfter
from bylaw.model.vocabulary import DeliverAt, Kind, Level, Priority, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.event import Event
    from bylaw.model.notices import Notice
    from bylaw.model.session import Session

_POINTS = {DeliverAt.TURN_START: Kind.TURN_START, DeliverAt.AFTER_TOOL: Kind.TOOL_AFTER}
# These only report results. If they delivered notices, a notice that a host cannot deliver would be
# tried again with each event that reports its failure, without end.
_NO_POINTS = frozenset({Kind.EFFECT, Kind.HISTORY, Kind.APPROVAL, Kind.RULES})
_RANK = {priority: rank for rank, priority in enumerate(reversed(Priority))}


def deliveries(session: Session, event: Event, plans: Sequence[Plan]) -> list[Plan]:
    """Return a plan for each notice that is due now, including those from this event's rules."""
    waiting = [*session.notices.waiting, *_made(session, plans)]
    if not waiting or event.round > 1 or not event.by_main_agent:
        return []
    if event.kind is Kind.SESSION_END:
        return [_report(notice) for notice in waiting]
    due = [notice for notice in waiting if _is_due(notice, event)]
    due.sort(key=lambda notice: (_RANK[notice.priority], notice.number))
    return [_deliver(notice) for notice in due]


def _made(session: Session, plans: Sequence[Plan]) -> list[Notice]:
    told = [
        (place, number)
        for place, plan in enumerate(plans)
        for number, step in enumerate(plan.steps)
        if step.__class__ is Notify
    ]
    if not told:
        return []
    now = at_once(plans)
    made = [(plans[p].steps[n], plans[p]) for p, n in told if (p, n) in now]
    notices = session.notices
    for step, plan in made:
        assert isinstance(step, Notify)
        notices = notices.put(step, plan.uid, plan.rule)
    return list(notices.waiting[-len(made) :]) if made else []


def _is_due(notice: Notice, event: Event) -> bool:
    if isinstance(event, ToolAfter) and event.status in NEVER_HAPPENED:
        return False  # there is no result to deliver it with
    point = _POINTS.get(notice.deliver_at)
    return point is event.kind or (point is None and event.kind not in _NO_POINTS)


def _deliver(notice: Notice) -> Plan:
    step = MessageInsert(role=Role.DEVELOPER, text=notice.text)
    return Plan(uid=notice.uid, rule=notice.rule, steps=(step,), delivers=notice.number)


def _report(notice: Notice) -> Plan:
    step = Log(text=f"never delivered: {notice.text}", level=Level.WARNING)
    return Plan(uid=notice.uid, rule=notice.rule, steps=(step,), delivers=notice.number)
