"""Books built by hand for `bylaw decide`: a rule is an id, a kind and what it does."""

from dataclasses import dataclass

from bylaw.engine.index import RuleSet
from bylaw.model.decision import OnFailure
from bylaw.model.procedure import Book, Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Origin, PlanForm, Rule, RuleVerdict, Trigger
from bylaw.model.vocabulary import Verdict

PROCEDURE = Procedure(
    order=(SortKey.SOURCE,),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.RECORD,
)


@dataclass(frozen=True)
class When:
    """A guard that is a function of the view."""

    test: object


@dataclass(frozen=True)
class Says:
    text: str

    def make(self, view, match):
        return self.text


@dataclass(frozen=True)
class Does:
    """A step that was finished at load."""

    step: object

    @property
    def op(self):
        return self.step.op

    def make(self, view, match):
        return (self.step,)


def uid(rule_id):
    return f"hand:book#{rule_id}"


def rule(rule_id, kind, *steps, deny="", on_error=(), again=False, line=1, **more):
    """A rule of the book; `deny` is the reason of its denial."""
    more.setdefault("judgement", RuleVerdict(Verdict.DENY, Says(deny)) if deny else None)
    return Rule(
        uid=uid(rule_id),
        id=rule_id,
        origin=Origin("book", line, 1, ""),
        on=Trigger(kinds=(kind,)),
        plan=PlanForm(
            steps=tuple(map(Does, steps)),
            on_failure=OnFailure.ON_ERROR if on_error else OnFailure.DROP_REST,
            on_error=tuple(map(Does, on_error)),
            again=again,
        ),
        **more,
    )


def rule_set(*rules, procedure=PROCEDURE):
    groups = (Group("rules", 1, procedure, rules),)
    return RuleSet([Book(dialect="hand", path="book", files=("book",), digest="", groups=groups)])
