"""Calls on the lines of a user's message → their effects; what is no proper call → its payload."""

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
    """Matches a line that calls this command by one of its names; binds its arguments."""

    command: CommandForm
    names: tuple[str, ...]

    def test(self, view: View) -> Match | None:
        """The arguments; GuardError with the code of the language if they do not fit."""
        if called_name(view.line) not in self.names:
            return None
        try:
            call = read_call(view.line)
            return None if call is None else Match(bound(call, self.command))
        except CallError as wrong:
            raise GuardError(INVALID_COMMAND.name, str(wrong)) from None


class Sets(Struct, frozen=True):
    """A variable gets a value that is computed from what was before the call (AC-A34)."""

    setting: Setting
    document: Document
    module: str
    op: Op = Op.STATE_SET

    def make(self, view: View, match: Match) -> Sequence[Step]:
        """The step."""

        def look_up(ref: Ref) -> JSON:
            if not isinstance(ref, StateRef):
                return match.values[ref.name]
            found = self.document.states.find(ref.name, self.module)
            assert isinstance(found, Symbol), "checked at load"
            return value_now(found, view.slate)

        setting = self.setting
        try:
            value = evaluate(setting.value, look_up)
        except TooLongError as wrong:
            message = f"`{setting.name}` cannot be set: {wrong}"
            raise GuardError(INVALID_COMMAND.name, message) from None
        return (StateSet(space=space_of(setting.module), name=setting.name, value=value),)


class Enables(Struct, frozen=True):
    """What is enabled is replaced (AC-015)."""

    command: CommandForm
    op: Op = Op.RULES_ENABLE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The step."""
        form = self.command
        return (
            RulesEnable(
                responses=form.responses, workflows=form.workflows, protocols=form.protocols
            ),
        )


class Selects(Struct, frozen=True):
    """The response that outputs use from now on (AC-A38)."""

    response: str
    op: Op = Op.RESPONSE_USE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The step."""
        return (ResponseUse(id=self.response),)


def effects_of(form: CommandForm, document: Document, module: str) -> Iterator[StepMaker]:
    """Variables, then what is enabled, then the response: enabling forgets the one before."""
    for setting in form.settings:
        yield Sets(setting, document, module)
    yield Enables(form)
    if form.response:
        yield Selects(form.response)


class CallMistake(Struct, frozen=True):
    """Matches a line that is a call of nothing; binds why."""

    document: Document

    def test(self, view: View) -> Match | None:
        """The code, the words, and what could be meant."""
        if view.visited:
            return None  # a command took the line
        try:
            call = read_call(view.line)
        except CallError as wrong:
            return Match({"code": INVALID_COMMAND.name, "message": str(wrong)})
        if call is None:
            return None
        found = self.document.commands.find(call.name, near=nearest)
        assert not isinstance(found, Symbol), "its rule was asked"
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
    """Matches a line that would be a call if it were written as one; binds that call (AC-A27)."""

    document: Document

    def test(self, view: View) -> Match | None:
        """The call, exactly as it has to be typed."""
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
    """The two lines of a warning (AC-098)."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The warning."""
        suggestion = match.values["suggestion"]
        return (
            f"{WARNING}\nNot a command. Did you mean: {suggestion} ?"
            " To run it, type it exactly as shown."
        )


class MistakePayload(Struct, frozen=True):
    """The payload of a call of nothing."""

    def make(self, view: View, match: Match) -> str:
        """The text."""
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
    """The payload of a call that does not fit its command, or of a check that broke.

    Whatever broke, `code` is one of the language: there are no others (AC-133).
    """

    code: str
    block_type: str

    def make(self, view: View, match: Match) -> str:
        """The text."""
        values = match.values
        return Payload(
            code=self.code,
            message=str(values["error"]),
            block_type=self.block_type,
            id=str(values["rule"]).partition(".")[2],
            responses=view.slate.enabled.responses,
            workflows=view.slate.enabled.workflows,
        ).text()
