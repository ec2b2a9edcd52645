"""Results of the rules → one decision: the strongest verdict, all reasons, plans in order.

Plans that deliver due notices come first, most important first (TR-A23).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.engine.trace import collapse_lines
from bylaw.model.calls import NEVER_HAPPENED
from bylaw.model.decision import (
    Decision,
    Need,
    Needs,
    Plan,
    TraceLine,
    TraceResult,
    immediate_steps,
)
from bylaw.model.effects import Log, MessageInsert, Notify
from bylaw.model.event import ToolAfter
from bylaw.model.rule import built_in_uid
from bylaw.model.vocabulary import DeliverAt, Kind, Level, Priority, Role, Verdict, strongest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.engine.fire import RuleResult
    from bylaw.model.calls import Notice
    from bylaw.model.decision import Reason
    from bylaw.model.event import Event
    from bylaw.model.rule import Rule
    from bylaw.model.session import Session

_DELIVERY_KINDS = {DeliverAt.TURN_START: Kind.TURN_START, DeliverAt.AFTER_TOOL: Kind.TOOL_AFTER}
# These only report results. If they delivered notices, a notice that a host cannot deliver would be
# tried again with each event that reports its failure, without end.
_NEVER_DELIVER = frozenset({Kind.EFFECT, Kind.HISTORY, Kind.APPROVAL, Kind.RULES})
_RANK = {priority: rank for rank, priority in enumerate(reversed(Priority))}


def delivery_plans(session: Session, event: Event, plans: Sequence[Plan]) -> list[Plan]:
    """Return a plan for each notice that is due now, including those from this event's rules."""
    waiting = [*session.notices.waiting, *_new_notices(session, plans)]
    if not waiting or event.round > 1 or not event.by_main_agent:
        return []
    if event.kind is Kind.SESSION_END:
        return [_report(notice) for notice in waiting]
    due = [notice for notice in waiting if _is_due(notice, event)]
    due.sort(key=lambda notice: (_RANK[notice.priority], notice.number))
    return [_deliver(notice) for notice in due]


def _new_notices(session: Session, plans: Sequence[Plan]) -> list[Notice]:
    told = [
        (place, number)
        for place, plan in enumerate(plans)
        for number, step in enumerate(plan.steps)
        if step.__class__ is Notify
    ]
    if not told:
        return []
    now = immediate_steps(plans)
    made = [(plans[p].steps[n], plans[p]) for p, n in told if (p, n) in now]
    notices = session.notices
    for step, plan in made:
        assert isinstance(step, Notify)
        notices = notices.put(step, plan.uid, plan.rule)
    return list(notices.waiting[-len(made) :]) if made else []


def _is_due(notice: Notice, event: Event) -> bool:
    if isinstance(event, ToolAfter) and event.status in NEVER_HAPPENED:
        return False  # there is no result to deliver it with
    point = _DELIVERY_KINDS.get(notice.deliver_at)
    return point is event.kind or (point is None and event.kind not in _NEVER_DELIVER)


def _deliver(notice: Notice) -> Plan:
    step = MessageInsert(role=Role.DEVELOPER, text=notice.text)
    return Plan(uid=notice.uid, rule=notice.rule, steps=(step,), delivers=notice.number)


def _report(notice: Notice) -> Plan:
    step = Log(text=f"never delivered: {notice.text}", level=Level.WARNING)
    return Plan(uid=notice.uid, rule=notice.rule, steps=(step,), delivers=notice.number)


# Far more than the commands of any text. The rest is not read, and the trace says so.
MAX_LINES = 10_000

_LINE = re.compile(r"[^\n]+")


def lines_of(event: Event) -> Iterator[str]:
    """Yield the lines that are not blank. A text may have very many, so there is no list."""
    for found in _LINE.finditer(getattr(event, "text", "")):
        line = found[0].removesuffix("\r")
        if line and not line.isspace():
            yield line


class DecisionBuilder(Struct):
    """The results that are collected while the rules are visited."""

    tracing: bool
    verdict: Verdict = Verdict.ALLOW
    reasons: list[Reason] = []
    plans: list[Plan] = []
    fired: list[str] = []
    trace: list[TraceLine] = []
    needs: dict[Need, None] = {}
    needs_second_round: bool = False
    # The groups that have denied, by book.
    denied: set[tuple[int, str]] = set()

    def note(self, rule: Rule, result: TraceResult, detail: str = "") -> None:
        """Add a line to the trace, unless facts are missing: then nothing is traced."""
        if self.tracing and not self.needs:
            self.trace.append(TraceLine(uid=rule.uid, result=result, detail=detail))

    def collapse(self, begun: int) -> None:
        """After a group was read: of the rules lowered from one, trace the one that applied."""
        if self.tracing:
            self.trace[begun:] = collapse_lines(self.trace[begun:])

    def drop_repeats(self, begun: int, told: set[TraceLine]) -> None:
        """Drop what an earlier line of the same text already traced, except for firings."""
        news = [
            line
            for line in self.trace[begun:]
            if line.result is TraceResult.FIRED or line not in told
        ]
        told.update(news)
        self.trace[begun:] = news

    def trace_cut(self, dialect: str) -> None:
        """Trace that a group did not read the text completely."""
        uid, detail = built_in_uid(dialect, "lines"), f"only {MAX_LINES:,} lines are read"
        self.trace.append(TraceLine(uid=uid, result=TraceResult.NOT_LIVE, detail=detail))

    def need(self, needs: tuple[Need, ...]) -> None:
        """Add facts that must be gathered before this event can be decided."""
        self.needs |= dict.fromkeys(needs)

    def take(self, firing: RuleResult) -> None:
        """Add the result of a rule."""
        gave_verdict = firing.verdict is not Verdict.ALLOW
        if gave_verdict:
            self._add_verdict(firing)
        plan = firing.plan()
        if plan is not None:
            self.plans.append(plan)
            self.needs_second_round = self.needs_second_round or plan.again
        has_fired = firing.result is TraceResult.FIRED
        # CM-A14: if nothing of a rule is performed, its limits do not count the firing.
        acts = plan is not None and not firing.refused
        if gave_verdict or (has_fired and (acts or firing.rule.last)):
            self.fired.append(firing.rule.uid)
        if firing.notes:
            self.plans += firing.notes
            self.fired += [note.uid for note in firing.notes]
        if self.tracing:
            self.note(firing.rule, firing.result, "; ".join(firing.details))
            for note in firing.notes:
                told = TraceLine(uid=note.uid, result=TraceResult.FIRED, detail=firing.rule.uid)
                self.trace.append(told)

    def _add_verdict(self, firing: RuleResult) -> None:
        self.verdict = strongest((self.verdict, firing.verdict))
        group = firing.group
        if group.procedure.quiet_after_deny and self._has_denied(firing):
            # CM-A37: the policy of the same file has denied, so this denial is only traced.
            firing.details.append("already denied")
            return
        self.reasons.append(firing.to_reason())
        if firing.verdict >= Verdict.DENY:
            self.denied.add((group.book, group.name))

    def _has_denied(self, firing: RuleResult) -> bool:
        group = firing.group
        others = {name for book, name in self.denied if book == group.book}
        # A halt has the payload that becomes the answer, so it is never only traced.
        return firing.verdict is Verdict.DENY and bool(others - {group.name})

    def answer(self, session: Session, event: Event) -> Decision | Needs:
        """Return the decision, or all facts that are still missing."""
        if self.needs:
            return Needs(tuple(self.needs))
        return self.decision(session, event, tuple(self.trace))

    def decision(self, session: Session, event: Event, trace: tuple[TraceLine, ...]) -> Decision:
        """Return the decision with this trace."""
        return Decision(
            verdict=self.verdict,
            reasons=tuple(self.reasons),
            plans=(*delivery_plans(session, event, self.plans), *self.plans),
            fired=tuple(self.fired),
            trace=trace,
        )
