"""The constraints of a tool → guards that match when they are violated, and say how.

A match has the `reason`: what the model is told, one line for each failure.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr.argument_reads import argument_reads, missing_argument
from bylaw.model.decision import Match
from bylaw.model.effects import MessageInsert
from bylaw.model.errors import GuardError
from bylaw.model.vocabulary import Op, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.chatmd.written import Cooldown, Quota, Requires
    from bylaw.expr.argument_reads import ArgumentRead
    from bylaw.expr.expression_guard import ExpressionGuard
    from bylaw.model.effects import Step
    from bylaw.model.rule import View

REASON = "reason"


class Constrained(Struct, frozen=True):
    """Gathers what a constraint finds; nothing found is no match."""

    tool: str

    def test(self, view: View) -> Match | None:
        """What is violated."""
        failures = list(self.failures(view))
        return Match({REASON: "\n".join(failures)}) if failures else None

    def failures(self, view: View) -> Iterator[str]:
        """One line for each failure."""
        raise NotImplementedError


class RequiresCheck(Constrained, frozen=True):
    """`<requires>`: tools that were not called yet (CM-113)."""

    written: Requires

    def failures(self, view: View) -> Iterator[str]:
        """The line with all tools that are missing."""
        tools = self.written.tools
        missing = [name for name in tools if not view.session.ever_called(name)]
        if missing:
            wanted, lacking = ", ".join(tools), ", ".join(missing)
            yield f"Tool {self.tool} requires {wanted} first; not yet called: {lacking}"


class CheckForm(Struct, frozen=True, dict=True):
    """One `<check>`: passes when its expression is true and no argument in it is missing."""

    condition: ExpressionGuard
    message: str

    def failure(self, view: View, constraint_id: str) -> str:
        """What to say, or nothing if it passes.

        A check that cannot be evaluated has failed (CM-A20): what cannot be known opens no gate.
        """
        try:
            passes = missing_argument(self._reads, view) is None and self.condition.test(view)
        except GuardError as problem:
            return f"{self.message} (guard error in {constraint_id}: {problem.message})"
        return "" if passes else self.message

    @cached_property
    def _reads(self) -> tuple[ArgumentRead, ...]:
        return argument_reads(self.condition)


class ValidateCheck(Constrained, frozen=True):
    """`<validate>`: every check that fails, in source order (CM-120)."""

    id: str
    checks: tuple[CheckForm, ...]

    @property
    def conditions(self) -> tuple[ExpressionGuard, ...]:
        """What is checked."""
        return tuple(check.condition for check in self.checks)

    def failures(self, view: View) -> Iterator[str]:
        """A line for each."""
        found = (check.failure(view, self.id) for check in self.checks)
        return (line for line in found if line)


class QuotaCheck(Constrained, frozen=True):
    """`<quota>`: calls, those under way included, are as many as may be (CM-122, CM-123)."""

    written: Quota

    def failures(self, view: View) -> Iterator[str]:
        """A line for each limit that is reached."""
        per_turn, per_session = self.written.per_turn, self.written.per_session
        in_turn = view.session.count_used_in_turn(self.tool)
        in_session = view.session.count_used(self.tool)
        if per_turn is not None and in_turn >= per_turn:
            yield f"Tool {self.tool} has used up its quota per_turn={per_turn} of this turn"
        if per_session is not None and in_session >= per_session:
            yield f"Tool {self.tool} has used up its quota per_session={per_session}"


class CooldownCheck(Constrained, frozen=True):
    """`<cooldown>`: a call is not far enough back (CM-A15)."""

    written: Cooldown

    def failures(self, view: View) -> Iterator[str]:
        """The line with the first turn that is allowed (CM-125)."""
        session, turns = view.session, self.written.turns
        if not turns or not session.used_since(self.tool, turns):
            return
        is_pending = session.calls.pending_of(self.tool) > 0
        last = session.turn if is_pending else session.calls.tally(self.tool).last_turn
        rests = f"cool-down of {turns} turn{'' if turns == 1 else 's'}"
        yield f"Tool {self.tool} is in its {rests}; the first allowed turn is {last + turns + 1}"


class FoundReason(Struct, frozen=True):
    """The reason that a constraint found."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The text."""
        return str(match.values[REASON])


class Warns(Struct, frozen=True):
    """The note of a constraint that lets the call run: one for all its failures (CM-A44)."""

    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The note."""
        return (MessageInsert(role=Role.DEVELOPER, text=str(match.values[REASON])),)
