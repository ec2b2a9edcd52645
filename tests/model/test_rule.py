"""Rules, groups and books as values: design section 6."""

from dataclasses import FrozenInstanceError, dataclass

import pytest

from bylaw.model.decision import Match, OnFailure
from bylaw.model.effects import Log
from bylaw.model.procedure import Book, Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import (
    ApprovalGate,
    ApprovalMode,
    Judgement,
    Origin,
    PlanForm,
    Rounds,
    Rule,
    Trigger,
)
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Authority, Kind, Op


@dataclass(frozen=True)
class SayHello:
    """The smallest step and reason that a language could bring."""

    op: Op = Op.LOG

    def make(self, view, match):
        return Log(text="hello")


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
    with pytest.raises(FrozenInstanceError):
        rule().last = True


def test_a_rule_with_gate_verdict_and_plan():
    gated = rule(
        gates=(ApprovalGate(ApprovalMode.DUAL, (Authority.HUMAN, Authority.ANTIGRAVITY)),),
        judgement=Judgement(Verdict.DENY, SayHello()),
        plan=PlanForm(steps=(SayHello(),), on_failure=OnFailure.ON_ERROR),
    )

    assert [step.op for step in gated.plan.steps] == ["log"]
    assert gated.plan.steps[0].make(None, Match()) == Log(text="hello")


def test_how_a_group_is_read_is_data():
    """LD-080, LD-082: RULE_DSL in one value."""
    law = Procedure(
        order=(SortKey.PRIORITY_ASCENDING, SortKey.FILE, SortKey.SOURCE),
        flow=Flow.FIRST,
        guard_error=GuardFault.NOT_SATISFIED,
        failed_step=StepFault.ON_ERROR,
        closing=(rule(),),
    )
    book = Book(
        dialect="law",
        path="rules",
        files=("rules/a.yaml",),
        digest="d",
        groups=(Group("rules", 0, law, (rule(),)),),
    )

    assert law.budget is None
    assert book == Book(
        dialect="law",
        path="rules",
        files=("rules/a.yaml",),
        digest="d",
        groups=(Group("rules", 0, law, (rule(),)),),
    )
