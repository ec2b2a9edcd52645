"""Calls on the lines of a user's message: their guards, their effects, and error payloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.context.arguments import bound
from bylaw.dialects.context.calls import CallError, called_name, near_calls, read_call
from bylaw.dialects.context.payload import Payload
from bylaw.dialects.context.standing import space_of, value_now
from bylaw.dialects.context.symbols import Symbol
from bylaw.dialects.context.values import StateRef, TooLongError, evaluate
from bylaw.model.codes.context import INVALID_COMMAND
from bylaw.model.decision import Match
from bylaw.model.effects import ResponseUse, RulesEnable, StateSet
from bylaw.model.errors import GuardError
from bylaw.model.suggest import nearest
from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.context.document import CommandForm, Document, Setting
    from bylaw.dialects.context.values import Ref
    from bylaw.model.effects import Step
    from bylaw.model.rule import StepMaker, View
    from bylaw.model.values import JSON

COMMAND = "COMMAND"
WARNING = "WARNING: ai-context-language"


class CallGuard(Struct, frozen=True):
    """Match a line that calls this command by one of its names; bind the arguments."""

    command: CommandForm
    names: tuple[str, ...]

    def test(self, view: View) -> Match | None:
        """Return the arguments; raise GuardError with a code of the language if they do not fit."""
        if called_name(view.line) not in self.names:
            return None
        try:
            call = read_call(view.line)
            return None if call is None else Match(bound(call, self.command))
        except CallError as wrong:
            raise GuardError(INVALID_COMMAND.name, str(wrong)) from None


class Sets(Struct, frozen=True):
    """Set a variable. The value is computed from the state before the call (AC-A34)."""

    setting: Setting
    document: Document
    module: str
    op: Op = Op.STATE_SET

    def make(self, view: View, match: Match) -> Sequence[Step]:
        """Return the step."""

        def look_up(ref: Ref) -> JSON:
            if not isinstance(ref, StateRef):
                return match.values[ref.name]
            found = self.document.states.find(ref.name, self.module)
            assert isinstance(found, Symbol), "references are checked at load"
            return value_now(found, view.slate)

        setting = self.setting
        try:
            value = evaluate(setting.value, look_up)
        except TooLongError as wrong:
            message = f"cannot set `{setting.name}`: {wrong}"
            raise GuardError(INVALID_COMMAND.name, message) from None
        return (StateSet(space=space_of(setting.module), name=setting.name, value=value),)


class Enables(Struct, frozen=True):
    """Replace what is enabled (AC-015)."""

    command: CommandForm
    op: Op = Op.RULES_ENABLE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step."""
        form = self.command
        return (
            RulesEnable(
                responses=form.responses, workflows=form.workflows, protocols=form.protocols
            ),
        )


class Selects(Struct, frozen=True):
    """Select the response that outputs use from now on (AC-A38)."""

    response: str
    op: Op = Op.RESPONSE_USE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step."""
        return (ResponseUse(id=self.response),)


def effects_of(form: CommandForm, document: Document, module: str) -> Iterator[StepMaker]:
    """Yield the step makers of a command.

    The response comes after what is enabled, because enabling clears the selected response.
    """
    for setting in form.settings:
        yield Sets(setting, document, module)
    yield Enables(form)
    if form.response:
        yield Selects(form.response)


class CallMistake(Struct, frozen=True):
    """Match an invalid call, or a call of an unknown command; bind the error."""

    document: Document

    def test(self, view: View) -> Match | None:
        """Return the code, the message, and the suggestions."""
        if view.visited:
            return None  # a command handles the line
        try:
            call = read_call(view.line)
        except CallError as wrong:
            return Match({"code": INVALID_COMMAND.name, "message": str(wrong)})
        if call is None:
            return None
        found = self.document.commands.find(call.name, near=nearest)
        assert not isinstance(found, Symbol), "a known command handles its own calls"
        return Match(
            {
                "code": found.code.name,
                "message": found.message,
                "id": call.name,
                "hint": found.hint,
                "candidates": list(found.candidates),
            }
        )


class NearMiss(Struct, frozen=True):
    """Match a line that is a call except for its slash or parentheses; bind the call (AC-A27)."""

    document: Document

    def test(self, view: View) -> Match | None:
        """Return the call exactly as it must be typed."""
        if view.visited:
            return None
        for line in near_calls(view.line):
            if line != view.line and self._is_valid(line):
                return Match({"suggestion": line})
        return None

    def _is_valid(self, line: str) -> bool:
        try:
            call = read_call(line)
            found = None if call is None else self.document.commands.find(call.name)
            if call is None or not isinstance(found, Symbol):
                return False
            bound(call, found.what)
        except CallError:
            return False
        return True


class Suggestion(Struct, frozen=True):
    """The two lines of the warning about a near miss (AC-098)."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - signature of `ReasonMaker`
        """Return the warning."""
        suggestion = match.values["suggestion"]
        return (
            f"{WARNING}\nNot a command. Did you mean: {suggestion} ?"
            " To run it, type it exactly as shown."
        )


class MistakePayload(Struct, frozen=True):
    """The error payload of an invalid call, or of a call of an unknown command."""

    def make(self, view: View, match: Match) -> str:
        """Return the text of the payload."""
        values = match.values
        candidates = values.get("candidates")
        return Payload(
            code=str(values["code"]),
            message=str(values["message"]),
            block_type=COMMAND,
            id=str(values.get("id", "")),
            responses=view.slate.enabled.responses,
            workflows=view.slate.enabled.workflows,
            candidates=tuple(map(str, candidates)) if isinstance(candidates, list) else (),
            hint=str(values.get("hint", "")),
        ).text()


class FaultPayload(Struct, frozen=True):
    """The error payload of a call whose arguments do not fit, or of a check that failed to run.

    `code` is always one of the language, because a payload has no other codes (AC-133).
    """

    code: str
    block_type: str

    def make(self, view: View, match: Match) -> str:
        """Return the text of the payload."""
        values = match.values
        return Payload(
            code=self.code,
            message=str(values["error"]),
            block_type=self.block_type,
            id=str(values["rule"]).partition(".")[2],
            responses=view.slate.enabled.responses,
            workflows=view.slate.enabled.workflows,
        ).text()
