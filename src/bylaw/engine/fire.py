"""A rule that fired → its verdict with a reason and its finished steps, within the budget.

Steps are checked against what their makers declared. A failing guard or step is handled as the
procedure of the group says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from bylaw.engine.plan import is_too_deep
from bylaw.engine.view import MissingFact
from bylaw.model.codes.runtime import FOREIGN_VARIABLE, GUARD_CRASH, VALUE_NOT_FINITE
from bylaw.model.decision import Match, OnFailure, Plan, Reason, TraceResult
from bylaw.model.effects import StateSet
from bylaw.model.errors import GuardError, NotNeeded, RenderError
from bylaw.model.procedure import GuardFault, StepFault, Writes
from bylaw.model.session import is_space_of
from bylaw.model.values import is_finite
from bylaw.model.vocabulary import Op, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.engine.gates import ActionBudget
    from bylaw.engine.index import OrderedGroup
    from bylaw.engine.view import View
    from bylaw.model.effects import Step
    from bylaw.model.procedure import Procedure
    from bylaw.model.rule import ReasonMaker, Rule, StepMaker
    from bylaw.model.session import Variables
    from bylaw.model.values import JSON

Made = TypeVar("Made")


def checked_steps(
    maker: StepMaker, group: OrderedGroup, view: View, match: Match
) -> tuple[Step, ...]:
    """Return the steps of a maker. Checks their ops and the variables that they write.

    The steps of the action itself come first. Messages after them may report it.
    """
    try:
        made = tuple(maker.make(view, match))
    except (GuardError, RenderError, MissingFact):
        raise
    except Exception as problem:
        raise _crash_error(problem) from problem
    expected: tuple[Op, ...] = (maker.op,)
    for step in made:
        if getattr(step, "op", None) not in expected:
            message = f"step does not match its declared type `{maker.op}`"
            raise RenderError(GUARD_CRASH.name, message)
        if isinstance(step, StateSet):
            _check_write(step, group)
        expected = (maker.op, Op.MESSAGE_INSERT)
    return made


def _check_write(step: StateSet, group: OrderedGroup) -> None:
    """Check that a step writes a variable of its own language, and a value that JSON can hold.

    Other values could not be recorded exactly.
    """
    if not is_finite(step.value):
        raise RenderError(VALUE_NOT_FINITE.name, f"`{step.name}` would not be a finite number")
    if not is_space_of(step.space, group.dialect):
        message = f"`{step.name}` of `{step.space}` belongs to another language"
        raise RenderError(FOREIGN_VARIABLE.name, message)


def call_maker(make: Callable[[View, Match], Made], view: View, match: Match) -> Made:
    """Call a maker. An unexpected exception means that it failed, as it does for a check."""
    try:
        return make(view, match)
    except (GuardError, RenderError, MissingFact):
        raise
    except Exception as problem:
        raise _crash_error(problem) from problem


def _crash_error(problem: Exception) -> RenderError:
    return RenderError(GUARD_CRASH.name, f"{type(problem).__name__}: {problem}")


def apply_steps(slate: Variables, steps: Iterable[Step]) -> Variables:
    """Return the slate after these steps."""
    for step in steps:
        slate = slate.after(step)
    return slate


class RuleResult(Struct, gc=False):
    """What a rule, or the failure of its guard, adds to the decision."""

    rule: Rule
    group: OrderedGroup
    slate: Variables
    result: TraceResult
    verdict: Verdict = Verdict.ALLOW
    reason: str = ""
    steps: list[Step] = []
    on_error: list[Step] = []
    # The message that reports all this, if the language has one.
    summary: list[Step] = []
    broken: str = ""
    # The first step of its plan will be refused, because the chain of rules is too long.
    refused: bool = False
    # Plans of built-in rules that report a failure.
    notes: list[Plan] = []
    details: list[str] = []

    def plan(self) -> Plan | None:
        """Return the steps as a plan, if there are any."""
        steps = (*self.steps, *self.summary)
        if not steps and not self.broken:
            return None
        form = self.rule.plan
        return Plan(
            uid=self.rule.uid,
            rule=self.rule.id,
            group=self.group.name,
            steps=steps,
            on_failure=form.on_failure,
            ends_group_on_failure=form.ends_group_on_failure,
            on_error=tuple(self.on_error),
            again=form.again and bool(self.steps or self.broken),
            broken=self.broken,
        )

    def to_reason(self) -> Reason:
        """Return the reason with the place of the rule."""
        rule = self.rule
        return Reason(
            rule=rule.id,
            uid=rule.uid,
            file=rule.origin.file,
            line=rule.origin.line,
            verdict=self.verdict,
            text=self.reason,
        )


def handle_guard_error(
    rule: Rule, group: OrderedGroup, view: View, problem: GuardError
) -> RuleResult:
    """Handle a guard error as the procedure says."""
    procedure = group.procedure
    match = _fault_match(rule, problem)
    firing = RuleResult(rule, group, view.slate, TraceResult.GUARD_ERROR)
    firing.details.append(f"{problem.code}: {problem.message}")
    firing.verdict = _verdict_of_fault(rule, procedure.guard_error)
    if firing.verdict is not Verdict.ALLOW:
        firing.reason = _fault_reason(procedure, rule, view, match)
    elif procedure.guard_error is GuardFault.SKIP_WITH_NOTE:
        firing.notes = _notes(procedure.fault_note, group, view, match)
    return firing


def fire(
    rule: Rule, group: OrderedGroup, view: View, match: Match, spending: ActionBudget
) -> RuleResult:
    """Compute everything that the rule adds to the decision, from the view and the match."""
    firing = RuleResult(rule, group, view.slate, TraceResult.FIRED)
    if rule.judgement is not None:
        firing.verdict = rule.judgement.verdict
        firing.reason = _reason(rule.judgement.reason, firing, view, match)
    if rule.uid not in view.event.cause:
        _take_actions(firing, view, match, spending)
        return firing
    # Invariant 6: the steps of a rule never run on an event that it caused. Its verdict counts.
    if rule.plan.steps:
        firing.details.append("steps suppressed: the rule caused this event")
    if firing.verdict is Verdict.ALLOW:
        firing.result = TraceResult.SUPPRESSED
    return firing


def _take_actions(firing: RuleResult, view: View, match: Match, spending: ActionBudget) -> None:
    """Compute the steps, and decide whether the rule has fired."""
    rule = firing.rule
    kept, skipped, spared = _compute_steps(firing, view, match, spending)
    gave = firing.steps or firing.verdict is not Verdict.ALLOW or firing.broken
    # CM-A10: to end the group is a decision, so no budget prevents it.
    fired = gave or rule.last
    firing.refused = bool(view.event.cause) and _is_refused(firing, view)
    if not fired and (skipped or spared):
        # CM-A14: a rule whose actions were all dropped has not fired.
        firing.result = TraceResult.BUDGET if skipped else TraceResult.SUPPRESSED
    if rule.plan.summary is not None and (fired or skipped):
        numbers: dict[str, JSON] = {"kept": [*kept], "skipped": [*skipped]}
        firing.summary = _make_steps(
            (rule.plan.summary,), firing, view, Match({**match.values, **numbers})
        )


def _is_refused(firing: RuleResult, view: View) -> bool:
    """Whether no step will be performed: the first is refused, and the rest is dropped with it."""
    drops_rest = firing.rule.plan.on_failure is OnFailure.DROP_REST
    return drops_rest and bool(firing.steps) and is_too_deep(view.event, firing.steps[0].op)


def _reason(maker: ReasonMaker, firing: RuleResult, view: View, match: Match) -> str:
    try:
        return call_maker(maker.make, view, match)
    except (GuardError, RenderError) as problem:
        # A verdict counts even if its reason cannot be computed.
        firing.details.append(f"reason failed: {problem.message}")
        return f"rule {firing.rule.id} (its reason could not be written: {problem.message})"


def _compute_steps(
    firing: RuleResult, view: View, match: Match, spending: ActionBudget
) -> tuple[list[int], list[int], bool]:
    """Make the steps, action by action. An action over the budget is not computed.

    Returns the numbers of the actions that were kept and of those skipped, and whether one of them
    was not needed.
    """
    rule = firing.rule
    in_order = firing.group.procedure.writes is Writes.IN_ORDER
    before, spared = view.slate, False
    kept: list[int] = []
    skipped: list[int] = []
    for number, maker in enumerate(rule.plan.steps, 1):
        if not rule.free and (limit := spending.charge(maker.op)):
            skipped.append(number)
            firing.details.append(f"{limit}: step {number} ({maker.op})")
            continue
        made: tuple[Step, ...] = ()
        failed = False
        try:
            made = checked_steps(maker, firing.group, view, match)
        except NotNeeded as said:
            spared = True
            firing.details.append(f"step {number} not needed: {said.message}")
        except (GuardError, RenderError) as problem:
            failed = True
            _fail_step(firing, view, number, problem)
        if made:
            kept.append(number)
            firing.steps += made
            view.slate = apply_steps(view.slate, made) if in_order else before
        elif not rule.free:
            spending.refund(maker.op)
        if failed:
            break
    # A halt has removed all steps, so their writes are undone as well.
    firing.slate = view.slate if in_order and firing.steps else apply_steps(before, firing.steps)
    view.slate = before
    if rule.plan.on_error and (firing.steps or firing.broken):
        firing.on_error = _make_steps(rule.plan.on_error, firing, view, match)
    return kept, skipped, spared


def _make_steps(
    makers: tuple[StepMaker, ...], firing: RuleResult, view: View, match: Match
) -> list[Step]:
    steps: list[Step] = []
    for maker in makers:
        try:
            steps += checked_steps(maker, firing.group, view, match)
        except (GuardError, RenderError) as problem:
            firing.details.append(f"on_error {maker.op} failed: {problem.message}")
    return steps


def _fail_step(
    firing: RuleResult, view: View, number: int, problem: GuardError | RenderError
) -> None:
    """Handle a step that cannot be computed as a failed step, now."""
    rule, procedure = firing.rule, firing.group.procedure
    firing.details.append(f"step {number} failed: {problem.code}: {problem.message}")
    match = _fault_match(rule, problem)
    if procedure.failed_step is StepFault.DROP_REST_WITH_NOTE:
        firing.notes += _notes(procedure.step_note, firing.group, view, match)
    elif procedure.failed_step is StepFault.HALT:
        firing.steps.clear()
        firing.verdict = Verdict.HALT
        firing.reason = _fault_reason(procedure, rule, view, match)
    elif rule.plan.on_failure is not OnFailure.DROP_REST or rule.plan.ends_group_on_failure:
        firing.broken = problem.message  # `follow` handles the failure


def _fault_match(rule: Rule, problem: GuardError | RenderError) -> Match:
    return Match({"rule": rule.id, "code": problem.code, "error": problem.message})


def _fault_reason(procedure: Procedure, rule: Rule, view: View, match: Match) -> str:
    plainly = f"guard error in {rule.id}"
    if procedure.fault_reason is None:
        return plainly
    try:
        return call_maker(procedure.fault_reason.make, view, match)
    except (GuardError, RenderError):
        return plainly  # the verdict counts even if the language cannot give its reason


def _verdict_of_fault(rule: Rule, meaning: GuardFault) -> Verdict:
    if meaning is GuardFault.HALT:
        return Verdict.HALT
    denies = rule.judgement is not None and rule.judgement.verdict >= Verdict.DENY
    if meaning is GuardFault.DENY or (denies and meaning is GuardFault.SKIP_WITH_NOTE):
        return Verdict.DENY
    return Verdict.ALLOW


def _notes(rule: Rule | None, group: OrderedGroup, view: View, match: Match) -> list[Plan]:
    """Return the plan of a built-in rule that reports a failure, unless it caused this event."""
    if rule is None or rule.uid in view.event.cause:
        return []
    try:
        made = [checked_steps(maker, group, view, match) for maker in rule.plan.steps]
    except (GuardError, RenderError):
        return []  # the trace still shows the failure
    steps = tuple(step for one in made for step in one)
    return [Plan(uid=rule.uid, rule=rule.id, group=group.name, steps=steps)]
