"""What a rule and the procedure of a group say when nobody says more."""

import pytest

from bylaw.model.decision import OnFailure
from bylaw.model.procedure import Flow, GuardFault, Procedure, SortKey, StepFault, Writes
from bylaw.model.rule import Origin, PlanForm, Rounds, Rule, Trigger
from bylaw.model.vocabulary import Kind


def rule(**fields):
    return Rule(
        uid="law:rules/a.yaml#R",
        id="R",
        origin=Origin("rules/a.yaml", 3, 1, "digest"),
        on=Trigger(kinds=(Kind.BUS,)),
        **fields,
    )


def test_a_rule_says_no_more_than_it_must():
    plain = rule()

    assert plain.guard is None
    assert plain.judgement is None
    assert plain.on.rounds is Rounds.ANY
    assert plain.plan == PlanForm(on_failure=OnFailure.DROP_REST)
    assert (plain.limits.once, plain.limits.cooldown_turns, plain.limits.cooldown_ms) == (
        False,
        0,
        0,
    )


def test_a_rule_is_frozen():
    with pytest.raises(AttributeError):
        rule().last = True


def test_a_procedure_limits_nothing_that_its_language_does_not():
    plain = Procedure(
        order=(SortKey.SOURCE,),
        flow=Flow.ALL,
        guard_error=GuardFault.SKIP,
        failed_step=StepFault.RECORD,
    )

    assert (plain.budget, plain.call_budget) == (None, None)
    assert (plain.split_lines, plain.quiet_after_deny) == (False, False)
    assert (plain.closing, plain.fault_note, plain.step_note) == ((), None, None)
    assert plain.writes is Writes.IN_ORDER
