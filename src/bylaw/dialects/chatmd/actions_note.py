"""The trace of a rule: a developer message that lists its actions (CM-108, CM-A48).

    [rule periodic-reminder] turn_start: insert(user), set(n); over budget: call(search)

Actions are in the order of the file. Those after `over budget` were not performed (CM-A13).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.chatmd.written import (
    CallTool,
    Compact,
    Deny,
    Insert,
    RunAgent,
    SetVariable,
    Stop,
)
from bylaw.model.effects import MessageInsert
from bylaw.model.visible import brief
from bylaw.model.vocabulary import Op, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.chatmd.written import Action, WrittenRule
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step
    from bylaw.model.rule import View


def action_label(action: Action) -> str:
    """Return a short label of an action, with the detail that distinguishes it."""
    match action:
        case Insert():
            return f"insert({action.role})"
        case Deny():
            return f"deny({brief(action.reason)})"
        case CallTool():
            return f"call({brief(action.tool)})"
        case RunAgent():
            return f"agent({brief(action.src)})"
        case Compact():
            return f"compact({brief(action.keep)})"
        case SetVariable():
            return f"set({action.var})"
        case Stop():
            return "stop"


def is_decision(action: Action) -> bool:
    """Return whether the action is a decision, not a step: no budget applies to it (CM-A10)."""
    return isinstance(action, Deny | Stop)


class ActionsNote(Struct, frozen=True):
    """Makes the message of one rule. Each action has the number of its maker, 0 for a decision."""

    begin: str
    actions: tuple[tuple[int, str], ...]
    op: Op = Op.MESSAGE_INSERT

    @classmethod
    def of(cls, rule: WrittenRule) -> ActionsNote:
        """Build the maker for a rule as written."""
        actions, number = [], 0
        for action in rule.actions:
            number += not is_decision(action)
            actions.append((0 if is_decision(action) else number, action_label(action)))
        return cls(f"[rule {rule.id}] {rule.event}: ", tuple(actions))

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the message. `match` says which actions were performed or skipped."""
        kept, skipped = match.values["kept"], match.values["skipped"]
        assert isinstance(kept, list)
        assert isinstance(skipped, list)
        over = self._labels(skipped)
        parts = [self._labels([0, *kept]), f"over budget: {over}" if over else ""]
        text = self.begin + "; ".join(filter(None, parts))
        return (MessageInsert(role=Role.DEVELOPER, text=text),)

    def _labels(self, numbers: Sequence[object]) -> str:
        return ", ".join(label for number, label in self.actions if number in numbers)
