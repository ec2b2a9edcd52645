"""The procedures of the two groups of a ChatMD file, and built-in rules that report failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.chatmd.names import NAME
from bylaw.model.effects import MessageInsert
from bylaw.model.procedure import Flow, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Origin, PlanForm, Rule, Trigger
from bylaw.model.uid import BUILT_IN, built_in_uid
from bylaw.model.vocabulary import Kind, Op, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.decision import Match
    from bylaw.model.effects import Step
    from bylaw.model.rule import View


class GuardErrorReason(Struct, frozen=True):
    """The reason to deny a call if a guard could not be evaluated (CM-A20)."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - names of ReasonMaker
        """Return the text."""
        return f"guard error in {match.values['rule']}"


class FailureNote(Struct, frozen=True):
    """Makes a developer message about a guard or an action that failed."""

    what: str
    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the message with the rule and the error."""
        text = f"{self.what.format(match.values['rule'])}: {match.values['error']}"
        return (MessageInsert(role=Role.DEVELOPER, text=text),)


def _telling(rule_id: str, what: str) -> Rule:
    return Rule(
        uid=built_in_uid(NAME, rule_id),
        id=rule_id,
        origin=Origin(BUILT_IN, 1, 1, ""),
        on=Trigger(kinds=tuple(Kind)),
        plan=PlanForm(steps=(FailureNote(what),)),
        free=True,
    )


_GUARD_ERROR = _telling("guard-error", "guard error in {}")
_STEP_ERROR = _telling("step-error", "action of {} failed")
# Ranks 1 to 4 are requires, validate, quota and cooldown (CM-A36).
POLICY = Procedure(
    order=(SortKey.RANK, SortKey.SOURCE),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.DROP_REST_WITH_NOTE,
    fault_reason=GuardErrorReason(),
)


def rules_procedure(budget: int, call_budget: int) -> Procedure:
    """Return the procedure of the rules, with the limits of actions and calls per event."""
    return Procedure(
        order=(SortKey.PRIORITY_ASCENDING, SortKey.SOURCE),
        flow=Flow.UNTIL_LAST,
        guard_error=GuardFault.SKIP_WITH_NOTE,
        failed_step=StepFault.DROP_REST_WITH_NOTE,
        budget=budget,
        call_budget=call_budget,
        quiet_after_deny=True,
        fault_reason=GuardErrorReason(),
        fault_note=_GUARD_ERROR,
        step_note=_STEP_ERROR,
    )
