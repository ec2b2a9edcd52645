"""Calls on the lines of a user's message: parsing, arguments, effects, and error payloads.

    /mode(design)    /m.mode(design)    /two(1, "x")    /named(level=3)

Arguments are JSON, or bare words for enums. A line that does not start with `/name(` is prose
(AC-A32, A33).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.context.declarations import ArgumentKind
from bylaw.languages.context.output import Payload, current_value, space_of
from bylaw.languages.context.references import Symbol
from bylaw.languages.context.types import EnumType, StateRef, TooLongError, evaluate, mismatch
from bylaw.model.codes.context import INVALID_COMMAND
from bylaw.model.decision import Match
from bylaw.model.effects import ResponseUse, RulesEnable, StateSet
from bylaw.model.errors import GuardError
from bylaw.model.suggest import nearest_name
from bylaw.model.values import JsonError, read_json
from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.languages.context.declarations import (
        CommandForm,
        Document,
        ParameterForm,
        StateAssignment,
    )
    from bylaw.languages.context.types import Ref
    from bylaw.model.effects import Step
    from bylaw.model.rule import StepMaker, View
    from bylaw.model.values import JSON

_CALL = re.compile(r"/([A-Za-z_][A-Za-z0-9_.-]*)\(")
_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)[ \t]*=[ \t]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_JSON_WORDS = {"true": True, "false": False, "null": None}
_BLANKS = re.compile(r"[ \t]*")
_SCAN = json.JSONDecoder().raw_decode
MAX_LINE = 65_536
MAX_PARTS = 2  # a module and a command


class CallError(Exception):
    """A line that starts like a call but is not a valid one."""


class Word(Struct, frozen=True):
    """A bare word: a value of an enum."""

    text: str


class CallArgument(Struct, frozen=True):
    """One argument of a call. A positional argument has no name."""

    value: JSON | Word
    name: str = ""


class Call(Struct, frozen=True):
    """A call as written."""

    name: str
    arguments: tuple[CallArgument, ...]


def called_name(line: str) -> str:
    """Return the name that a line calls; empty for prose."""
    found = _CALL.match(line)
    return "" if found is None else found[1]


def read_call(line: str) -> Call | None:
    """Parse a line; return None for prose.

    Raises CallError if the line starts like a call but is not a valid one.
    """
    found = _CALL.match(line)
    if found is None:
        return None
    if len(line) > MAX_LINE:
        raise CallError(f"the call is longer than {MAX_LINE:,} characters")
    parts = found[1].split(".")
    if len(parts) > MAX_PARTS or not all(parts):
        raise CallError("invalid name: write `/command(…)` or `/module.command(…)`")
    arguments, at = _arguments(line, found.end())
    if line[at:].strip(" \t"):
        raise CallError("unexpected text after the closing parenthesis")
    return Call(found[1], tuple(arguments))


def _arguments(line: str, at: int) -> tuple[list[CallArgument], int]:
    arguments: list[CallArgument] = []
    at = _skip_blanks(line, at)
    if line[at : at + 1] == ")":
        return arguments, at + 1
    while True:
        given, at = _argument(line, at)
        arguments.append(given)
        at = _skip_blanks(line, at)
        sign = line[at : at + 1]
        if sign not in {",", ")"}:
            raise CallError("expected `,` or `)` after an argument")
        at = _skip_blanks(line, at + 1)
        if sign == ")":
            _refuse_mixture(arguments)
            return arguments, at


def _argument(line: str, at: int) -> tuple[CallArgument, int]:
    named = _NAMED.match(line, at)
    name = ""
    if named is not None:
        name, at = named[1], named.end()
    value, at = _read_value(line, at)
    return CallArgument(value, name), at


def _read_value(line: str, at: int) -> tuple[JSON | Word, int]:
    if at == len(line):
        raise CallError("the call is not closed with `)`")
    word = _WORD.match(line, at)
    if word is not None:
        text = word[0]
        return (_JSON_WORDS[text] if text in _JSON_WORDS else Word(text)), word.end()
    try:
        _, end = _SCAN(line, at)
        return read_json(line[at:end]), end
    except (ValueError, RecursionError, JsonError):
        raise CallError("invalid argument: write JSON, or a value of an enum") from None


def _refuse_mixture(arguments: list[CallArgument]) -> None:
    named = [given.name for given in arguments if given.name]
    if named and len(named) != len(arguments):
        raise CallError("positional and named arguments cannot be mixed")
    if len(set(named)) != len(named):
        raise CallError("an argument is given twice")


def _skip_blanks(line: str, at: int) -> int:
    found = _BLANKS.match(line, at)
    assert found is not None
    return found.end()


def near_calls(line: str) -> Iterator[str]:
    """Yield possible calls for a line: with the slash or the parentheses added (AC-A27).

    A line that lacks both is prose. Otherwise each word that is also a command would match.
    """
    text = line.strip()
    if not text.startswith("/"):
        yield f"/{text}"
        return
    yield text
    name, *rest = text.split(maxsplit=1)
    if "(" not in name:
        yield f"{name}({''.join(rest)})"


def bind_arguments(call: Call, command: CommandForm) -> dict[str, JSON]:
    """Return the values by name; positional arguments are named `arg0`, `arg1` and so on.

    Raises CallError if the arguments do not fit the parameters.
    """
    _check_kind(call, command)
    by_name = {given.name: given for given in call.arguments if given.name}
    values: dict[str, JSON] = {}
    for number, parameter in enumerate(command.parameters):
        if command.kind is ArgumentKind.POSITIONAL:
            values[f"arg{number}"] = _argument_value(call.arguments[number], parameter)
        else:
            if parameter.name not in by_name:
                raise CallError(f"missing argument `{parameter.name}`")
            values[parameter.name] = _argument_value(by_name.pop(parameter.name), parameter)
    if command.kind is ArgumentKind.NAMED and by_name:
        raise CallError(f"unknown argument `{next(iter(by_name))}`")
    return values


def _check_kind(call: Call, command: CommandForm) -> None:
    given, wanted = len(call.arguments), len(command.parameters)
    are_named = any(one.name for one in call.arguments)
    if call.arguments and are_named != (command.kind is ArgumentKind.NAMED) and wanted:
        raise CallError(f"the command takes {command.kind} arguments")
    if given != wanted:
        words = "no arguments" if not wanted else f"{wanted} argument{'s' if wanted > 1 else ''}"
        raise CallError(f"the command takes {words}, not {given}")


def _argument_value(given: CallArgument, parameter: ParameterForm) -> JSON:
    value = given.value
    if isinstance(value, Word):
        if not isinstance(parameter.type, EnumType):
            raise CallError(f"`{parameter.name}` takes JSON; only enums take bare words")
        value = value.text
    why = mismatch(value, parameter.type)
    if why:
        raise CallError(f"invalid argument `{parameter.name}`: {why}")
    return value


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
            return None if call is None else Match(bind_arguments(call, self.command))
        except CallError as wrong:
            raise GuardError(INVALID_COMMAND.name, str(wrong)) from None


class SetMaker(Struct, frozen=True):
    """Set a variable. The value is computed from the state before the call (AC-A34)."""

    setting: StateAssignment
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
            return current_value(found, view.slate)

        setting = self.setting
        try:
            value = evaluate(setting.value, look_up)
        except TooLongError as wrong:
            message = f"cannot set `{setting.name}`: {wrong}"
            raise GuardError(INVALID_COMMAND.name, message) from None
        return (StateSet(space=space_of(setting.module), name=setting.name, value=value),)


class EnableMaker(Struct, frozen=True):
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


class SelectMaker(Struct, frozen=True):
    """Select the response that outputs use from now on (AC-A38)."""

    response: str
    op: Op = Op.RESPONSE_USE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step."""
        return (ResponseUse(id=self.response),)


def step_makers(form: CommandForm, document: Document, module: str) -> Iterator[StepMaker]:
    """Yield the step makers of a command.

    The response comes after what is enabled, because enabling clears the selected response.
    """
    for setting in form.settings:
        yield SetMaker(setting, document, module)
    yield EnableMaker(form)
    if form.response:
        yield SelectMaker(form.response)


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
        found = self.document.commands.find(call.name, near=nearest_name)
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
            bind_arguments(call, found.what)
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
