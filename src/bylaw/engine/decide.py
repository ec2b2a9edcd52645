"""Books × session × event → decision, or the facts that it needs: what Bylaw decides.

The groups are read once in visiting order, or twice if a late rule asks for another round. A rule
is checked in four steps, live → limits → gates → guard, and the result is traced. When a rule
fires, its verdict, reason and finished steps are computed at once. The code reads nothing but its
arguments and changes nothing outside. The fast path must give the same result as the slow one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bylaw.engine.combine import MAX_LINES, DecisionBuilder, lines_of
from bylaw.engine.fire import RuleResult, fire, handle_guard_error
from bylaw.engine.gates import ActionBudget, active_limit, closed_gates, gate_names
from bylaw.engine.trace import LateTrace
from bylaw.engine.view import MissingFact, View
from bylaw.model.codes.runtime import GUARD_CRASH
from bylaw.model.decision import Decision, Match, Needs, TraceResult
from bylaw.model.errors import GuardError
from bylaw.model.fold import is_repeated_report, observe
from bylaw.model.procedure import Flow
from bylaw.model.rule import NO_LIMITS, Gate, Rounds, Rule, RuleVisit
from bylaw.model.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.engine.index import Bucket, Candidates, RuleSet
    from bylaw.model.decision import Need, TraceLine
    from bylaw.model.event import Event
    from bylaw.model.session import Session

_EMPTY_MATCH = Match()
# The result of a guard, computed or already known.
GuardTest: TypeAlias = "Callable[[Rule, View], Match | None]"


def decide(rules: RuleSet, session: Session, event: Event) -> Decision | Needs:
    """Decide an event, or return the facts that are needed first."""
    if is_repeated_report(session, event):
        return Decision()
    return decide_observed(rules, observe(session, event), event)


def decide_observed(rules: RuleSet, observed: Session, event: Event) -> Decision | Needs:
    """As `decide`, for a session that has observed the event."""
    bucket = rules.bucket(event)
    if bucket.holding is None:
        return decide_slow(rules, observed, event)
    held = bucket.holding(observed, event, max(observed.at, event.at))
    if held < 0 or (held and bucket.writes):
        return decide_slow(rules, observed, event)  # failed, or may write what others read
    late: tuple[TraceLine, ...] = LateTrace(_trace, bucket, held, observed, event)  # type: ignore[assignment]  # see LateTrace
    if not held and not observed.notices.waiting:
        return Decision(trace=late)
    return _decide_matching(bucket, held, View.of(observed, event), late)


def decide_slow(rules: RuleSet, observed: Session, event: Event) -> Decision | Needs:
    """Decide rule by rule with a full trace: the slow path, with which the fast path must agree."""
    gathered = _read_groups(rules.candidates(event), View.of(observed, event), _test_guard)
    return gathered.answer(observed, event)


def _trace(bucket: Bucket, held: int, observed: Session, event: Event) -> tuple[TraceLine, ...]:
    """Compute the trace that the slow path would give, without running guards again."""
    holding = {id(rule) for candidates in bucket.select(held) for rule in candidates.rules}

    def answer(rule: Rule, _: View) -> Match | None:
        return _EMPTY_MATCH if id(rule) in holding else None

    decision = _read_groups(bucket.groups, View.of(observed, event), answer).answer(observed, event)
    assert isinstance(decision, Decision), "a guard that needs facts has no fast path"
    return decision.trace


def _decide_matching(
    bucket: Bucket, held: int, view: View, trace: tuple[TraceLine, ...]
) -> Decision:
    """Decide with the rules whose guards are known to hold."""
    gathered = _read_groups(
        bucket.select(held), view, lambda _rule, _view: _EMPTY_MATCH, tracing=False
    )
    return gathered.decision(view.session, view.event, trace)


def _read_groups(
    groups: Iterable[Candidates], view: View, ask: GuardTest, *, tracing: bool = True
) -> DecisionBuilder:
    """Read all groups, a second time if the event will be submitted again.

    In that case rules of the last round must have no effect yet. This may turn out only after they
    were read, so the second pass leaves them out.
    """
    groups = tuple(groups)
    found = _DecisionPass(view, ask, DecisionBuilder(tracing=tracing))
    found.read_all(groups)
    if found.fired_in_last_round and found.expects_second_round:
        known = DecisionBuilder(tracing=tracing, needs_second_round=True)
        found = _DecisionPass(View.of(view.session, view.event), ask, known)
        found.read_all(groups)
    return found.gathered


class _DecisionPass:
    """The state of one pass over the groups: the view, and the results so far."""

    def __init__(self, view: View, ask: GuardTest, gathered: DecisionBuilder) -> None:
        self.view = view
        self.gathered = gathered
        self.ask = ask
        self.fired_in_last_round = False
        self.disabled = frozenset(view.event.facts.disabled or ())
        self.halted = False
        self.visited: list[RuleVisit] | None = None
        self.missing_needs: dict[int, bool] = {}

    @property
    def expects_second_round(self) -> bool:
        """Whether it is already known that the event is submitted again."""
        return self.gathered.needs_second_round and self.view.event.round == 1

    def read_all(self, groups: Iterable[Candidates]) -> None:
        """Read groups in the given order."""
        for candidates in groups:
            self._read_group(candidates)

    def _read_group(self, candidates: Candidates) -> None:
        """Read one group, once or line by line. The first halt ends it."""
        procedure = candidates.group.procedure
        spending = ActionBudget(procedure)
        if not procedure.split_lines:
            self._read_once(candidates, spending)
            return
        self.halted = False
        told: set[TraceLine] = set()
        for place, line in enumerate(lines_of(self.view.event)):
            if place == MAX_LINES:
                self.gathered.trace_cut(candidates.group.dialect)
                break
            self.view.line = line
            begun = len(self.gathered.trace)
            self._read_once(candidates.of_line(line), spending)
            self.gathered.drop_repeats(begun, told)
            if self.halted:
                break

    def _read_once(self, candidates: Candidates, spending: ActionBudget) -> None:
        flow = candidates.group.procedure.flow
        begun = len(self.gathered.trace)
        # Only rules that close the group read the results of the others.
        self.visited = [] if candidates.closing else None
        for rule in (
            self._rules_to_check(candidates.families) if candidates.families else candidates.rules
        ):
            result = self._check_rule(rule, candidates, spending)
            if result is TraceResult.FIRED and _ends_group(rule, flow):
                break
        if self.visited is not None:
            self.view.visited, self.visited = self.visited, None
            for rule in candidates.closing:
                self._check_rule(rule, candidates, spending, closing=True)
        self.gathered.collapse(begun)

    def _rules_to_check(self, families: tuple[tuple[Rule, ...], ...]) -> Iterator[Rule]:
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
            return self._lacks_facts(rule.needs) or rule.siblings.is_idle(self.view)
        except Exception:  # noqa: BLE001 - each rule is then checked and reports its failure
            return False

    def _check_rule(
        self, rule: Rule, candidates: Candidates, spending: ActionBudget, *, closing: bool = False
    ) -> TraceResult:
        """Check live → limits → gates → guard, then fire."""
        if not self._is_live(rule):
            return self._skip_rule(rule, TraceResult.NOT_LIVE)
        if rule.limits is not NO_LIMITS and (limit := self._limit(rule)):
            return self._skip_rule(rule, TraceResult.LIMITED, limit)
        try:
            if rule.gates and (closed := closed_gates(rule, self.view)):
                return self._skip_rule(rule, TraceResult.GATED, gate_names(closed), closed)
            lacks = rule.needs and self._lacks_facts(rule.needs)
            match = None if lacks else self.ask(rule, self.view)
        except MissingFact as missing:
            self.gathered.need(missing.needs)
            match = None
        except GuardError as problem:
            return self._add_result(handle_guard_error(rule, candidates.group, self.view, problem))
        if match is None:
            if closing:  # it is checked at every event, so it is traced only when it fires
                return TraceResult.GUARD_FALSE
            return self._skip_rule(rule, TraceResult.GUARD_FALSE)
        try:
            return self._add_result(fire(rule, candidates.group, self.view, match, spending))
        except MissingFact as missing:
            self.gathered.need(missing.needs)
            return TraceResult.GUARD_FALSE

    def _lacks_facts(self, needs: tuple[Need, ...]) -> bool:
        """Whether facts are missing. If so, all of them are requested.

        Many rules of one language have the same needs, so the result is kept.
        """
        lacks = self.missing_needs.get(id(needs))
        if lacks is None:
            missing = self.view.missing_needs(needs)
            if missing and isinstance(problem := self.view.missing(missing), GuardError):
                raise problem
            self.gathered.need(missing)
            lacks = self.missing_needs[id(needs)] = bool(missing)
        return lacks

    def _skip_rule(
        self, rule: Rule, result: TraceResult, detail: str = "", closed: tuple[Gate, ...] = ()
    ) -> TraceResult:
        self.gathered.note(rule, result, detail)
        if self.visited is not None:
            self.visited.append(RuleVisit(rule, result, closed))
        return result

    def _add_result(self, firing: RuleResult) -> TraceResult:
        self.gathered.take(firing)
        self.view.slate = firing.slate
        if firing.verdict is Verdict.HALT:
            self.halted = True
        if firing.rule.on.rounds is Rounds.LAST:
            self.fired_in_last_round = True
        if self.visited is not None:
            ops = tuple(step.op for step in firing.steps)
            self.visited.append(RuleVisit(firing.rule, firing.result, (), ops))
        return firing.result

    def _limit(self, rule: Rule) -> str:
        if rule.limits != NO_LIMITS and rule.uid in self.gathered.fired:
            return "fired on an earlier line"  # no limit allows a rule to fire twice in one event
        return active_limit(rule, self.view)

    def _is_live(self, rule: Rule) -> bool:
        if not rule.core and (not rule.enabled or rule.uid in self.disabled):
            return False
        if rule.on.main_agent and not self.view.event.by_main_agent:
            return False
        return rule.on.rounds is not Rounds.LAST or not self.expects_second_round


def _test_guard(rule: Rule, view: View) -> Match | None:
    """Return what the guard found. An unexpected exception of a check is a guard error."""
    if rule.guard is None:
        return _EMPTY_MATCH
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
