"""Results of the rules → one decision: the strongest verdict, all reasons, plans in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.engine.lines import MAX_LINES
from bylaw.engine.notices import deliveries
from bylaw.engine.trace import collapsed
from bylaw.model.decision import Decision, Need, Needs, TraceLine, TraceResult
from bylaw.model.uid import built_in_uid
from bylaw.model.verdict import Verdict, strongest

if TYPE_CHECKING:
    from bylaw.engine.fire import Firing
    from bylaw.model.decision import Plan, Reason
    from bylaw.model.event import Event
    from bylaw.model.rule import Rule
    from bylaw.model.session import Session


class Gathered(Struct):
    """The results that are collected while the rules are visited."""

    tracing: bool
    verdict: Verdict = Verdict.ALLOW
    reasons: list[Reason] = []
    plans: list[Plan] = []
    fired: list[str] = []
    trace: list[TraceLine] = []
    needs: dict[Need, None] = {}
    comes_again: bool = False
    # The groups that have denied, by book.
    denied: set[tuple[int, str]] = set()

    def note(self, rule: Rule, result: TraceResult, detail: str = "") -> None:
        """Add a line to the trace, unless facts are missing: then nothing is traced."""
        if self.tracing and not self.needs:
            self.trace.append(TraceLine(uid=rule.uid, result=result, detail=detail))

    def collapse(self, begun: int) -> None:
        """After a group was read: of the rules lowered from one, trace the one that applied."""
        if self.tracing:
            self.trace[begun:] = collapsed(self.trace[begun:])

    def forget_repeats(self, begun: int, told: set[TraceLine]) -> None:
        """Drop what an earlier line of the same text already traced, except for firings."""
        news = [
            line
            for line in self.trace[begun:]
            if line.result is TraceResult.FIRED or line not in told
        ]
        told.update(news)
        self.trace[begun:] = news

    def cut_short(self, dialect: str) -> None:
        """Trace that a group did not read the text completely."""
        uid, detail = built_in_uid(dialect, "lines"), f"only {MAX_LINES:,} lines are read"
        self.trace.append(TraceLine(uid=uid, result=TraceResult.NOT_LIVE, detail=detail))

    def need(self, needs: tuple[Need, ...]) -> None:
        """Add facts that must be gathered before this event can be decided."""
        self.needs |= dict.fromkeys(needs)

    def take(self, firing: Firing) -> None:
        """Add the result of a rule."""
        gave_verdict = firing.verdict is not Verdict.ALLOW
        if gave_verdict:
            self._take_verdict(firing)
        plan = firing.plan()
        if plan is not None:
            self.plans.append(plan)
            self.comes_again = self.comes_again or plan.again
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

    def _take_verdict(self, firing: Firing) -> None:
        self.verdict = strongest((self.verdict, firing.verdict))
        group = firing.group
        if group.procedure.quiet_after_deny and self._denied_before(firing):
            # CM-A37: the policy of the same file has denied, so this denial is only traced.
            firing.details.append("already denied")
            return
        self.reasons.append(firing.to_reason())
        if firing.verdict >= Verdict.DENY:
            self.denied.add((group.book, group.name))

    def _denied_before(self, firing: Firing) -> bool:
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
            plans=(*deliveries(session, event, self.plans), *self.plans),
            fired=tuple(self.fired),
            trace=trace,
        )
