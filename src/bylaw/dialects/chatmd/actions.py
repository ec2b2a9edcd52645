"""The actions of a rule → the makers of its steps (CM-070 to CM-091)."""

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
    """A message that is known at load, but for what an outcome brings."""

    role: Role
    text: Text
    op: Op = Op.MESSAGE_INSERT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The message."""
        return (MessageInsert(role=self.role, text=self.text),)


def failure_note(rule_id: str) -> Inserts:
    """What is said when an action fails while it is performed (CM-091)."""
    text = (f"action of {rule_id} failed: ", Outcome(OutcomePart.ERROR))
    return Inserts(Role.DEVELOPER, text)


class Calls(Struct, frozen=True):
    """A call whose arguments are known at load, or why there are none."""

    tool: str
    arguments: dict[str, JSON] | str
    op: Op = Op.TOOL_CALL

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The call; a body that could not be read has failed now."""
        if isinstance(self.arguments, str):
            raise RenderError(BAD_CALL_BODY.name, self.arguments)
        return (ToolCall(tool=self.tool, args=self.arguments),)


class ComputesCall(Struct, frozen=True, dict=True):
    """A call whose arguments are computed from the event (CM-A05)."""

    tool: str
    arguments: ExpressionGuard
    op: Op = Op.TOOL_CALL

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The call, unless an argument that it takes over is missing (CM-134)."""
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
    """Another file that is run; what it says becomes a message."""

    written: RunAgent
    op: Op = Op.AGENT_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The run, and the message with its result."""
        run = AgentRun(src=self.written.src, input=self.written.text)
        return run, MessageInsert(role=Role.USER, text=_RESULT)


class Compacts(Struct, frozen=True):
    """The history made shorter, and a note that marks it (CM-086)."""

    written: Compact
    op: Op = Op.HISTORY_COMPACT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The compaction, if the history is larger than its threshold (CM-A31)."""
        written = self.written
        threshold = written.threshold_tokens
        if threshold is not None and view.session.history.tokens <= threshold:
            raise NotNeeded(BELOW_THRESHOLD)
        compact = HistoryCompact(
            keep=written.keep, strategy=written.strategy, threshold_tokens=threshold
        )
        return compact, MessageInsert(role=Role.DEVELOPER, text=_RESULT)


class Sets(Struct, frozen=True):
    """A variable of the file, and the note that shows its value (CM-A28)."""

    space: str
    name: str
    value: ExpressionGuard
    op: Op = Op.STATE_SET

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The variable with its value, and the note."""
        value = self.value.value(view)
        refuse_large(value, f"`{self.name}`", MAX_VARIABLE)
        note = f"[set] {self.name} = {msgspec.json.encode(value).decode()}"
        step = StateSet(space=self.space, name=self.name, value=value)
        return step, MessageInsert(role=Role.DEVELOPER, text=note)
