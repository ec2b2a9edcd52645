"""Books × Session × Event → Decision | Needs: the definition of what Bylaw decides.

The groups are read once in visiting order, or twice if a late rule asks for another round: see
`_read`. A rule is checked in four steps, live → limits → gates → guard, and the result is traced.
When a rule fires, its verdict, reason and finished steps are computed at once. The code reads
nothing but its arguments and changes nothing outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bylaw.engine.combine import Gathered
from bylaw.engine.fire import Firing, fault, fire
from bylaw.engine.gates import closed_gates, describe
from bylaw.engine.limits import Spending, limit_in_force
from bylaw.engine.lines import MAX_LINES, lines_of
from bylaw.engine.trace import LateTrace
from bylaw.engine.view import MissingFact, View
from bylaw.model.codes.engine import GUARD_CRASH
from bylaw.model.decision import Decision, Match, Needs, TraceResult
from bylaw.model.errors import GuardError
from bylaw.model.fold import is_told_again, observe
from bylaw.model.procedure import Flow
from bylaw.model.rule import NO_LIMITS, Gate, Rounds, Rule, Visited
from bylaw.model.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.engine.index import Bucket, Candidates, RuleSet
    from bylaw.model.decision import Need, TraceLine
    from bylaw.model.event import Event
    from bylaw.model.session import Session

_NO_VALUES = Match()
# The result of a guard, computed or already known.
Ask: TypeAlias = "Callable[[Rule, View], Match | None]"


def decide(rules: RuleSet, session: Session, event: Event) -> Decision | Needs:
    """Decide an event, or return the facts that are needed first."""
    if is_told_again(session, event):
        return Decision()
    return decide_observed(rules, observe(session, event), event)


def decide_observed(rules: RuleSet, observed: Session, event: Event) -> Decision | Needs:
    """As `decide`, for a session that has observed the event."""
    bucket = rules.bucket(event)
    if bucket.holding is None:
        return deliberate(rules, observed, event)
    held = bucket.holding(observed, event, max(observed.at, event.at))
    if held < 0 or (held and bucket.writes):
        return deliberate(rules, observed, event)  # failed, or may write what others read
    late: tuple[TraceLine, ...] = LateTrace(_trace, bucket, held, observed, event)  # type: ignore[assignment]  # see LateTrace
    if not held and not observed.notices.waiting:
        return Decision(trace=late)
    return _decide_held(bucket, held, View.of(observed, event), late)


def deliberate(rules: RuleSet, observed: Session, event: Event) -> Decision | Needs:
    """Decide rule by rule with a full trace: the slow path, with which the fast path must agree."""
    gathered = _read(rules.candidates(event), View.of(observed, event), _ask)
    return gathered.answer(observed, event)


def _trace(bucket: Bucket, held: int, observed: Session, event: Event) -> tuple[TraceLine, ...]:
    """Compute the trace that the slow path would give, without running guards again."""
    holding = {id(rule) for candidates in bucket.chosen(held) for rule in candidates.rules}

    def answer(rule: Rule, _: View) -> Match | None:
        return _NO_VALUES if id(rule) in holding else None

    decision = _read(bucket.groups, View.of(observed, event), answer).answer(observed, event)
    assert isinstance(decision, Decision), "a guard that needs facts has no fast path"
    return decision.trace


def _decide_held(bucket: Bucket, held: int, view: View, trace: tuple[TraceLine, ...]) -> Decision:
    """Decide with the rules whose guards are known to hold."""
    gathered = _read(bucket.chosen(held), view, lambda _rule, _view: _NO_VALUES, tracing=False)
    return gathered.decision(view.session, view.event, trace)


def _read(groups: Iterable[Candidates], view: View, ask: Ask, *, tracing: bool = True) -> Gathered:
    """Read all groups, a second time if the event will be submitted again.

    In that case rules of the last round must have no effect yet. This may turn out only after they
    were read, so the second pass leaves them out.
    """
    groups = tuple(groups)
    found = _Deliberation(view, ask, Gathered(tracing=tracing))
    found.read_all(groups)
    if found.spoke_for_the_last and found.is_first_of_two:
        known = Gathered(tracing=tracing, comes_again=True)
        found = _Deliberation(View.of(view.session, view.event), ask, known)
        found.read_all(groups)
    return found.gathered


class _Deliberation:
    """The state of one pass over the groups: the view, and the results so far."""

    def __init__(self, view: View, ask: Ask, gathered: Gathered) -> None:
        self.view = view
        self.gathered = gathered
        self.ask = ask
        self.spoke_for_the_last = False
        self.disabled = frozenset(view.event.facts.disabled or ())
        self.halted = False
        self.visited: list[Visited] | None = None
        self.lacking: dict[int, bool] = {}

    @property
    def is_first_of_two(self) -> bool:
        """Whether it is already known that the event is submitted again."""
        return self.gathered.comes_again and self.view.event.round == 1

    def read_all(self, groups: Iterable[Candidates]) -> None:
        """Read groups in the given order."""
        for candidates in groups:
            self._read_group(candidates)

    def _read_group(self, candidates: Candidates) -> None:
        """Read one group, once or line by line. The first halt ends it."""
        procedure = candidates.group.procedure
        spending = Spending(procedure)
        if not procedure.split_lines:
            self._read_once(candidates, spending)
            return
        self.halted = False
        told: set[TraceLine] = set()
        for place, line in enumerate(lines_of(self.view.event)):
            if place == MAX_LINES:
                self.gathered.cut_short(candidates.group.dialect)
                break
            self.view.line = line
            begun = len(self.gathered.trace)
            self._read_once(candidates.of_line(line), spending)
            self.gathered.forget_repeats(begun, told)
            if self.halted:
                break

    def _read_once(self, candidates: Candidates, spending: Spending) -> None:
        flow = candidates.group.procedure.flow
        begun = len(self.gathered.trace)
        # Only rules that close the group read the results of the others.
        self.visited = [] if candidates.closing else None
        for rule in self._awake(candidates.families) if candidates.families else candidates.rules:
            result = self._consider(rule, candidates, spending)
            if result is TraceResult.FIRED and _ends_group(rule, flow):
                break
        if self.visited is not None:
            self.view.visited, self.visited = self.visited, None
            for rule in candidates.closing:
                self._consider(rule, candidates, spending, closing=True)
        self.gathered.collapse(begun)

    def _awake(self, families: tuple[tuple[Rule, ...], ...]) -> Iterator[Rule]:
        """Yield the rules that must be checked. An idle family only gets one line in the trace."""
        for family in families:
            if self._is_idle(family[0]):
                self.gathered.note(family[0], TraceResult.GUARD_FALSE)
            else:
                yield from family

    def _is_idle(self, rule: Rule) -> bool:
        """Whether neither the rule nor its siblings can match."""
        if rule.siblings is None or not self._is_live(rule):
            return False
        try:
            return self._lacks(rule.needs) or rule.siblings.is_idle(self.view)
        except Exception:  # noqa: BLE001 - each rule is then checked and reports its failure
            return False

    def _consider(
        self, rule: Rule, candidates: Candidates, spending: Spending, *, closing: bool = False
    ) -> TraceResult:
        """Check live → limits → gates → guard, then fire."""
        if not self._is_live(rule):
            return self._pass_over(rule, TraceResult.NOT_LIVE)
        if rule.limits is not NO_LIMITS and (limit := self._limit(rule)):
            return self._pass_over(rule, TraceResult.LIMITED, limit)
        try:
            if rule.gates and (closed := closed_gates(rule, self.view)):
                return self._pass_over(rule, TraceResult.GATED, describe(closed), closed)
            lacks = rule.needs and self._lacks(rule.needs)
            match = None if lacks else self.ask(rule, self.view)
        except MissingFact as missing:
            self.gathered.need(missing.needs)
            match = None
        except GuardError as problem:
            return self._settle(fault(rule, candidates.group, self.view, problem))
        if match is None:
            if closing:  # it is checked at every event, so it is traced only when it fires
                return TraceResult.GUARD_FALSE
            return self._pass_over(rule, TraceResult.GUARD_FALSE)
        try:
            return self._settle(fire(rule, candidates.group, self.view, match, spending))
        except MissingFact as missing:
            self.gathered.need(missing.needs)
            return TraceResult.GUARD_FALSE

    def _lacks(self, needs: tuple[Need, ...]) -> bool:
        """Whether facts are missing. If so, all of them are requested.

        Many rules of one language have the same needs, so the result is kept.
        """
        lacks = self.lacking.get(id(needs))
        if lacks is None:
            missing = self.view.lacking(needs)
            if missing and isinstance(problem := self.view.missing(missing), GuardError):
                raise problem
            self.gathered.need(missing)
            lacks = self.lacking[id(needs)] = bool(missing)
        return lacks

    def _pass_over(
        self, rule: Rule, result: TraceResult, detail: str = "", closed: tuple[Gate, ...] = ()
    ) -> TraceResult:
        self.gathered.note(rule, result, detail)
        if self.visited is not None:
            self.visited.append(Visited(rule, result, closed))
        return result

    def _settle(self, firing: Firing) -> TraceResult:
        self.gathered.take(firing)
        self.view.slate = firing.slate
        if firing.verdict is Verdict.HALT:
            self.halted = True
        if firing.rule.on.rounds is Rounds.LAST:
            self.spoke_for_the_last = True
        if self.visited is not None:
            ops = tuple(step.op for step in firing.steps)
            self.visited.append(Visited(firing.rule, firing.result, (), ops))
        return firing.result

    def _limit(self, rule: Rule) -> str:
        if rule.limits != NO_LIMITS and rule.uid in self.gathered.fired:
            return "fired on an earlier line"  # no limit allows a rule to fire twice in one event
        return limit_in_force(rule, self.view)

    def _is_live(self, rule: Rule) -> bool:
        if not rule.core and (not rule.enabled or rule.uid in self.disabled):
            return False
        if rule.on.main_agent and not self.view.event.by_main_agent:
            return False
        return rule.on.rounds is not Rounds.LAST or not self.is_first_of_two


def _ask(rule: Rule, view: View) -> Match | None:
    """Return what the guard found. An unexpected exception of a check is a guard error."""
    if rule.guard is None:
        return _NO_VALUES
    try:
        found = rule.guard.test(view)
    except (GuardError, MissingFact):
        raise
    except Exception as problem:
        message = f"{type(problem).__name__}: {problem}"
        raise GuardError(GUARD_CRASH.name, message) from problem
    if isinstance(found, Needs):
        if not found.needs:
            raise GuardError(GUARD_CRASH.name, "the check asked for facts without naming one")
        raise view.missing(found.needs)
    return found


def _ends_group(rule: Rule, flow: Flow) -> bool:
    """Whether a rule that fired is the last one of its group."""
    if flow is Flow.FIRST:
        return not rule.goes_on
    return rule.last and flow is Flow.UNTIL_LAST
