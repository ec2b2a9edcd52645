"""The actions of a rule as written → the makers of its steps (CM-070 to CM-091)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bylaw.dialects.chatmd.sizes import MAX_ARGUMENTS, MAX_VARIABLE, refuse_large
from bylaw.expr.argument_reads import argument_reads, missing_argument
from bylaw.model.codes.chatmd_rules import BAD_CALL_BODY, MISSING_ARGUMENT
from bylaw.model.effects import (
    AgentRun,
    HistoryCompact,
    MessageInsert,
    Outcome,
    OutcomePart,
    StateSet,
    ToolCall,
)
from bylaw.model.errors import NotNeeded, RenderError
from bylaw.model.vocabulary import Op, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.chatmd.written import Compact, RunAgent
    from bylaw.expr.argument_reads import ArgumentRead
    from bylaw.expr.expression_guard import ExpressionGuard
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step, Text
    from bylaw.model.rule import View
    from bylaw.model.values import JSON

_RESULT = Outcome(OutcomePart.RESULT)
BELOW_THRESHOLD = "below threshold"


class Inserts(Struct, frozen=True):
    """Inserts a message. The text is known at load, except for parts from an outcome."""

    role: Role
    text: Text
    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the message."""
        return (MessageInsert(role=self.role, text=self.text),)


def failure_note(rule_id: str) -> Inserts:
    """Return the maker of the message for an action that fails when it is performed (CM-091)."""
    text = (f"action of {rule_id} failed: ", Outcome(OutcomePart.ERROR))
    return Inserts(Role.DEVELOPER, text)


class Calls(Struct, frozen=True):
    """Calls a tool. The arguments are known at load, or the reason why there are none."""

    tool: str
    arguments: dict[str, JSON] | str
    op: Op = Op.TOOL_CALL

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the call. Raises `RenderError` if the body could not be read."""
        if isinstance(self.arguments, str):
            raise RenderError(BAD_CALL_BODY.name, self.arguments)
        return (ToolCall(tool=self.tool, args=self.arguments),)


class ComputesCall(Struct, frozen=True, dict=True):
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


class RunsAgent(Struct, frozen=True):
    """Runs another file as an agent and inserts its result as a message."""

    written: RunAgent
    op: Op = Op.AGENT_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the run, and the message with its result."""
        run = AgentRun(src=self.written.src, input=self.written.text)
        return run, MessageInsert(role=Role.USER, text=_RESULT)


class Compacts(Struct, frozen=True):
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


class Sets(Struct, frozen=True):
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
