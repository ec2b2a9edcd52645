"""Actions and constraints as written → makers of steps, and guards (CM-070 to CM-126).

The guard of a constraint matches if the constraint is violated. Its match contains the `reason` for
the model: one line for each failure. The trace of a rule is a developer message that lists its
actions; those after `over budget` were not performed (CM-108, CM-A13, CM-A48):

    [rule periodic-reminder] turn_start: insert(user), set(n); over budget: call(search)
"""

from __future__ import annotations

from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bylaw.expr.expression import argument_reads, missing_argument
from bylaw.languages.chatmd.syntax import (
    CallTool,
    Compact,
    Deny,
    Insert,
    RunAgent,
    SetVariable,
    Stop,
)
from bylaw.model.codes.chatmd import BAD_CALL_BODY, MISSING_ARGUMENT, VALUE_TOO_LARGE
from bylaw.model.codes.runtime import VALUE_NOT_FINITE
from bylaw.model.decision import Match
from bylaw.model.display import brief
from bylaw.model.effects import (
    AgentRun,
    HistoryCompact,
    MessageInsert,
    Outcome,
    OutcomePart,
    StateSet,
    ToolCall,
)
from bylaw.model.errors import GuardError, NotNeeded, RenderError
from bylaw.model.vocabulary import Op, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.expr.expression import ArgumentRead
    from bylaw.expr.views import ExpressionGuard
    from bylaw.languages.chatmd.syntax import Action, Cooldown, Quota, Requires, RuleSyntax
    from bylaw.model.effects import Step, Text
    from bylaw.model.rule import View
    from bylaw.model.values import JSON

# Limits in characters, for the approximate length of a value as JSON.
MAX_VARIABLE = 65_536
MAX_ARGUMENTS = 1_000_000
MAX_DEPTH = 100  # same as for events


def refuse_large(value: JSON, what: str, most: int) -> None:
    """Raise `RenderError` if a value cannot be stored."""
    left = most
    level: list[JSON] = [value]
    for _ in range(MAX_DEPTH):
        below: list[JSON] = []
        for part in level:
            left -= _size(part)
            if left < 0:
                raise RenderError(VALUE_TOO_LARGE.name, f"{what} would be larger than {most:,}")
            if isinstance(part, float) and not isfinite(part):
                raise RenderError(VALUE_NOT_FINITE.name, f"{what} would not be a finite number")
            if isinstance(part, dict):
                below += part.values()
            elif isinstance(part, list):
                below += part
        if not below:
            return
        level = below
    raise RenderError(VALUE_TOO_LARGE.name, f"{what} would be nested deeper than {MAX_DEPTH}")


def _size(part: JSON) -> int:
    if isinstance(part, dict):
        return 1 + len(part) + sum(map(len, part))
    if isinstance(part, int):
        return 1 + part.bit_length() // 3  # about its number of digits
    return 1 + len(part) if isinstance(part, str | list) else 1


_RESULT = Outcome(OutcomePart.RESULT)
BELOW_THRESHOLD = "below threshold"


class InsertMaker(Struct, frozen=True):
    """Inserts a message. The text is known at load, except for parts from an outcome."""

    role: Role
    text: Text
    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the message."""
        return (MessageInsert(role=self.role, text=self.text),)


def failure_note(rule_id: str) -> InsertMaker:
    """Return the maker of the message for an action that fails when it is performed (CM-091)."""
    text = (f"action of {rule_id} failed: ", Outcome(OutcomePart.ERROR))
    return InsertMaker(Role.DEVELOPER, text)


class CallMaker(Struct, frozen=True):
    """Calls a tool. The arguments are known at load, or the reason why there are none."""

    tool: str
    arguments: dict[str, JSON] | str
    op: Op = Op.TOOL_CALL

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the call. Raises `RenderError` if the body could not be read."""
        if isinstance(self.arguments, str):
            raise RenderError(BAD_CALL_BODY.name, self.arguments)
        return (ToolCall(tool=self.tool, args=self.arguments),)


class ComputedCallMaker(Struct, frozen=True, dict=True):
    """Calls a tool with arguments that are computed from the event (CM-A05)."""

    tool: str
    arguments: ExpressionGuard
    op: Op = Op.TOOL_CALL

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the call. Raises `RenderError` if an argument of the event is missing (CM-134)."""
        missing = missing_argument(self._reads, view)
        if missing is not None:
            raise RenderError(MISSING_ARGUMENT.name, f"argument `{missing}` missing")
        args: dict[str, Any] = self.arguments.value(view)
        refuse_large(args, f"the arguments of `{self.tool}`", MAX_ARGUMENTS)
        return (ToolCall(tool=self.tool, args=args),)

    @cached_property
    def _reads(self) -> tuple[ArgumentRead, ...]:
        return argument_reads(self.arguments)


class AgentRunMaker(Struct, frozen=True):
    """Runs another file as an agent and inserts its result as a message."""

    written: RunAgent
    op: Op = Op.AGENT_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the run, and the message with its result."""
        run = AgentRun(src=self.written.src, input=self.written.text)
        return run, MessageInsert(role=Role.USER, text=_RESULT)


class CompactMaker(Struct, frozen=True):
    """Compacts the history and inserts a message that marks the place (CM-086)."""

    written: Compact
    op: Op = Op.HISTORY_COMPACT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the compaction. Raises `NotNeeded` up to the threshold (CM-A31)."""
        written = self.written
        threshold = written.threshold_tokens
        if threshold is not None and view.session.history.tokens <= threshold:
            raise NotNeeded(BELOW_THRESHOLD)
        compact = HistoryCompact(
            keep=written.keep, strategy=written.strategy, threshold_tokens=threshold
        )
        return compact, MessageInsert(role=Role.DEVELOPER, text=_RESULT)


class SetMaker(Struct, frozen=True):
    """Sets a variable of the file and inserts a message with its value (CM-A28)."""

    space: str
    name: str
    value: ExpressionGuard
    op: Op = Op.STATE_SET

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the variable with its value, and the message."""
        value = self.value.value(view)
        refuse_large(value, f"`{self.name}`", MAX_VARIABLE)
        note = f"[set] {self.name} = {msgspec.json.encode(value).decode()}"
        step = StateSet(space=self.space, name=self.name, value=value)
        return step, MessageInsert(role=Role.DEVELOPER, text=note)


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


class ActionsNoteMaker(Struct, frozen=True):
    """Makes the message of one rule. Each action has the number of its maker, 0 for a decision."""

    begin: str
    actions: tuple[tuple[int, str], ...]
    op: Op = Op.MESSAGE_INSERT

    @classmethod
    def of(cls, rule: RuleSyntax) -> ActionsNoteMaker:
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


REASON = "reason"


class ConstraintGuard(Struct, frozen=True):
    """A guard that matches if its constraint has failures."""

    tool: str

    def test(self, view: View) -> Match | None:
        """Return a match with all failures; None if there are none."""
        failures = list(self.failures(view))
        return Match({REASON: "\n".join(failures)}) if failures else None

    def failures(self, view: View) -> Iterator[str]:
        """Yield one line for each failure."""
        raise NotImplementedError


class RequiresCheck(ConstraintGuard, frozen=True):
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


class ValidateCheck(ConstraintGuard, frozen=True):
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


class QuotaCheck(ConstraintGuard, frozen=True):
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


class CooldownCheck(ConstraintGuard, frozen=True):
    """`<cooldown>`: fails if the last call is too recent (CM-A15)."""

    written: Cooldown

    def failures(self, view: View) -> Iterator[str]:
        """Yield one line with the first turn that is allowed (CM-125)."""
        session, turns = view.session, self.written.turns
        if not turns or not session.used_since(self.tool, turns):
            return
        is_pending = session.calls.count_pending(self.tool) > 0
        last = session.turn if is_pending else session.calls.tally(self.tool).last_turn
        rests = f"cool-down of {turns} turn{'' if turns == 1 else 's'}"
        yield f"Tool {self.tool} is in its {rests}; the first allowed turn is {last + turns + 1}"


class ConstraintReason(Struct, frozen=True):
    """The reason from the match of a constraint."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - names of ReasonMaker
        """Return the text."""
        return str(match.values[REASON])


class WarningMaker(Struct, frozen=True):
    """Inserts one message for all failures of a constraint that allows the call (CM-A44)."""

    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the message."""
        return (MessageInsert(role=Role.DEVELOPER, text=str(match.values[REASON])),)
