"""Books × Session × Event → Decision | Needs: the definition of what Bylaw decides.

One pass over the groups in visiting order. A rule is asked in four steps, live → limits → gates →
guard, and what was found is written down; when it fires, its verdict, reason and finished steps
are computed at once. Nothing outside the arguments is read and nothing outside is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.combine import Findings
from bylaw.engine.fire import Firing, fire
from bylaw.engine.gates import closed_gates, describe
from bylaw.engine.limits import Spending, limit_in_force
from bylaw.engine.trace import late_trace
from bylaw.engine.view import MissingFact, View
from bylaw.model.codes.engine import GUARD_CRASH
from bylaw.model.decision import Decision, Match, Needs, TraceResult
from bylaw.model.errors import GuardError
from bylaw.model.fold import observe
from bylaw.model.procedure import Flow
from bylaw.model.rule import Rounds, Visited
from bylaw.model.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.engine.index import Candidates, RuleSet
    from bylaw.model.decision import TraceLine
    from bylaw.model.event import Event
    from bylaw.model.rule import Rule
    from bylaw.model.session import Session

_NO_VALUES = Match()


def decide(rules: RuleSet, session: Session, event: Event) -> Decision | Needs:
    """What the books say about an event, or which facts they must know first."""
    observed = observe(session, event)
    can_fire = rules.bucket(event).can_fire
    if can_fire is None or observed.notices.waiting:
        return deliberate(rules, observed, event)
    if can_fire(observed, event, max(observed.at, event.at)):
        return deliberate(rules, observed, event)
    return Decision(trace=late_trace(lambda: _trace(rules, observed, event)))


def _trace(rules: RuleSet, observed: Session, event: Event) -> tuple[TraceLine, ...]:
    decision = deliberate(rules, observed, event)
    assert isinstance(decision, Decision), "a guard that needs facts has no fast path"
    return tuple(decision.trace)


def deliberate(rules: RuleSet, observed: Session, event: Event) -> Decision | Needs:
    """The slow path, rule by rule; the fast path must agree with it."""
    deliberation = _Deliberation(View(observed, event))
    for candidates in rules.candidates(event):
        deliberation.read(candidates)
    return deliberation.findings.answer(observed, event)


class _Deliberation:
    """The state of one call of `deliberate`."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.findings = Findings()
        self.disabled = view.event.facts.disabled or ()

    def read(self, candidates: Candidates) -> None:
        """Read one group, once or line by line; the first halt ends it."""
        spending = Spending(candidates.group.procedure)
        for number, line in self._lines(candidates):
            self.view.line, self.view.line_number = line, number
            if self._read_once(candidates, spending) is Verdict.HALT:
                break

    def _lines(self, candidates: Candidates) -> Iterator[tuple[int, str]]:
        if not candidates.group.procedure.split_lines:
            yield 0, ""
            return
        text = getattr(self.view.event, "text", "")
        yield from enumerate(text.split("\n"), 1)

    def _read_once(self, candidates: Candidates, spending: Spending) -> Verdict:
        visited: list[Visited] = []
        strongest = Verdict.ALLOW
        for rule in candidates.rules:
            entry, verdict = self._consider(rule, candidates, spending)
            visited.append(entry)
            strongest = max(strongest, verdict)
            if self._ends_group(rule, entry, candidates.group.procedure.flow):
                break
        self.view.visited = visited
        for rule in candidates.closing:
            _, verdict = self._consider(rule, candidates, spending, closing=True)
            strongest = max(strongest, verdict)
        return strongest

    def _ends_group(self, rule: Rule, entry: Visited, flow: Flow) -> bool:
        if not entry.fired:
            return False
        if flow is Flow.FIRST:
            return not rule.goes_on
        return rule.last and flow is Flow.UNTIL_LAST

    def _consider(
        self, rule: Rule, candidates: Candidates, spending: Spending, *, closing: bool = False
    ) -> tuple[Visited, Verdict]:
        """Live → limits → gates → guard, then fire."""
        note = self.findings.note
        if not self._is_live(rule):
            note(rule, TraceResult.NOT_LIVE)
            return Visited(rule, TraceResult.NOT_LIVE), Verdict.ALLOW
        if limit := limit_in_force(rule, self.view):
            note(rule, TraceResult.LIMITED, limit)
            return Visited(rule, TraceResult.LIMITED), Verdict.ALLOW
        try:
            self._ask_for_needs(rule)
            if closed := closed_gates(rule, self.view):
                note(rule, TraceResult.GATED, describe(closed))
                return Visited(rule, TraceResult.GATED, closed), Verdict.ALLOW
            match = self._ask(rule)
        except MissingFact as missing:
            self.findings.need(missing.needs)
            match = None
        except GuardError as problem:
            return self._settle(Firing.of_fault(rule, candidates.group, self.view, problem))
        if match is None:
            if not closing:  # a closing rule is asked for every event; it shows when it fires
                note(rule, TraceResult.GUARD_FALSE)
            return Visited(rule, TraceResult.GUARD_FALSE), Verdict.ALLOW
        return self._settle(fire(rule, candidates.group, self.view, match, spending))

    def _settle(self, firing: Firing) -> tuple[Visited, Verdict]:
        self.findings.take(firing)
        self.view.slate = firing.slate
        ops = tuple(step.op for step in firing.steps)
        return Visited(firing.rule, firing.result, (), ops), firing.verdict

    def _is_live(self, rule: Rule) -> bool:
        if rule.uid in self.disabled:
            return False
        in_first_of_two = self.view.event.round == 1 and self.findings.comes_again
        return rule.on.rounds is not Rounds.LAST or not in_first_of_two

    def _ask_for_needs(self, rule: Rule) -> None:
        for need in rule.needs:
            self.view.fact(need.name, need.key)

    def _ask(self, rule: Rule) -> Match | None:
        """What the guard found; an unexpected error of a check is a guard error, never a pass."""
        if rule.guard is None:
            return _NO_VALUES
        try:
            found = rule.guard.test(self.view)
        except (GuardError, MissingFact):
            raise
        except Exception as problem:
            message = f"{type(problem).__name__}: {problem}"
            raise GuardError(GUARD_CRASH.name, message) from problem
        if isinstance(found, Needs):
            raise MissingFact(found.needs)
        return found
