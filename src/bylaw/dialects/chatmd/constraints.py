"""The constraints of a tool → guards that match if the constraint is violated.

The match contains the `reason` for the model: one line for each failure.
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
    """A guard that matches if its constraint has failures."""

    tool: str

    def test(self, view: View) -> Match | None:
        """Return a match with all failures; None if there are none."""
        failures = list(self.failures(view))
        return Match({REASON: "\n".join(failures)}) if failures else None

    def failures(self, view: View) -> Iterator[str]:
        """Yield one line for each failure."""
        raise NotImplementedError


class RequiresCheck(Constrained, frozen=True):
    """`<requires>`: fails if a tool was not called yet (CM-113)."""

    written: Requires

    def failures(self, view: View) -> Iterator[str]:
        """Yield one line with all missing tools."""
        tools = self.written.tools
        missing = [name for name in tools if not view.session.ever_called(name)]
        if missing:
            wanted, lacking = ", ".join(tools), ", ".join(missing)
            yield f"Tool {self.tool} requires {wanted} first; not yet called: {lacking}"


class CheckForm(Struct, frozen=True, dict=True):
    """One `<check>`. It passes if its expression is true and no argument in it is missing."""

    condition: ExpressionGuard
    message: str

    def failure(self, view: View, constraint_id: str) -> str:
        """Return the line of a failed check; an empty text if the check passes.

        A check that cannot be evaluated fails (CM-A20): an unknown value must not allow a call.
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
    """`<validate>`: reports every failed check, in source order (CM-120)."""

    id: str
    checks: tuple[CheckForm, ...]

    @property
    def conditions(self) -> tuple[ExpressionGuard, ...]:
        """The expressions of all checks."""
        return tuple(check.condition for check in self.checks)

    def failures(self, view: View) -> Iterator[str]:
        """Yield one line for each failed check."""
        found = (check.failure(view, self.id) for check in self.checks)
        return (line for line in found if line)


class QuotaCheck(Constrained, frozen=True):
    """`<quota>`: fails if the calls, running ones included, reach a limit (CM-122, CM-123)."""

    written: Quota

    def failures(self, view: View) -> Iterator[str]:
        """Yield one line for each limit that is reached."""
        per_turn, per_session = self.written.per_turn, self.written.per_session
        in_turn = view.session.count_used_in_turn(self.tool)
        in_session = view.session.count_used(self.tool)
        if per_turn is not None and in_turn >= per_turn:
            yield f"Tool {self.tool} has used up its quota per_turn={per_turn} of this turn"
        if per_session is not None and in_session >= per_session:
            yield f"Tool {self.tool} has used up its quota per_session={per_session}"


class CooldownCheck(Constrained, frozen=True):
    """`<cooldown>`: fails if the last call is too recent (CM-A15)."""

    written: Cooldown

    def failures(self, view: View) -> Iterator[str]:
        """Yield one line with the first turn that is allowed (CM-125)."""
        session, turns = view.session, self.written.turns
        if not turns or not session.used_since(self.tool, turns):
            return
        is_pending = session.calls.pending_of(self.tool) > 0
        last = session.turn if is_pending else session.calls.tally(self.tool).last_turn
        rests = f"cool-down of {turns} turn{'' if turns == 1 else 's'}"
        yield f"Tool {self.tool} is in its {rests}; the first allowed turn is {last + turns + 1}"


class FoundReason(Struct, frozen=True):
    """The reason from the match of a constraint."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - names of ReasonMaker
        """Return the text."""
        return str(match.values[REASON])


class Warns(Struct, frozen=True):
    """Inserts one message for all failures of a constraint that allows the call (CM-A44)."""

    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the message."""
        return (MessageInsert(role=Role.DEVELOPER, text=str(match.values[REASON])),)
