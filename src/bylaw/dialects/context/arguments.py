"""The arguments of a call and the signature of its command → typed values, or what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.calls import CallError, Word
from bylaw.dialects.context.declared import ArgumentKind
from bylaw.dialects.context.types import EnumType, mismatch

if TYPE_CHECKING:
    from bylaw.dialects.context.calls import Call, Given
    from bylaw.dialects.context.document import CommandForm, ParameterForm
    from bylaw.model.values import JSON


def bound(call: Call, command: CommandForm) -> dict[str, JSON]:
    """Values by name, positional ones as `arg0`, `arg1` …; CallError if they do not fit."""
    _check_kind(call, command)
    by_name = {given.name: given for given in call.arguments if given.name}
    values: dict[str, JSON] = {}
    for number, parameter in enumerate(command.parameters):
        if command.kind is ArgumentKind.POSITIONAL:
            values[f"arg{number}"] = _value(call.arguments[number], parameter)
        else:
            if parameter.name not in by_name:
                raise CallError(f"the argument `{parameter.name}` is missing")
            values[parameter.name] = _value(by_name.pop(parameter.name), parameter)
    if command.kind is ArgumentKind.NAMED and by_name:
        raise CallError(f"there is no argument `{next(iter(by_name))}`")
    return values


def _check_kind(call: Call, command: CommandForm) -> None:
    given, wanted = len(call.arguments), len(command.parameters)
    are_named = any(one.name for one in call.arguments)
    if call.arguments and are_named != (command.kind is ArgumentKind.NAMED) and wanted:
        raise CallError(f"its arguments are {command.kind}")
    if given != wanted:
        words = "no arguments" if not wanted else f"{wanted} argument{'s' if wanted > 1 else ''}"
        raise CallError(f"it takes {words}, not {given}")


def _value(given: Given, parameter: ParameterForm) -> JSON:
    value = given.value
    if isinstance(value, Word):
        if not isinstance(parameter.type, EnumType):
            raise CallError(f"`{parameter.name}` takes JSON, and bare words are for enums only")
        value = value.text
    why = mismatch(value, parameter.type)
    if why:
        raise CallError(f"the argument `{parameter.name}` does not fit: {why}")
    return value
