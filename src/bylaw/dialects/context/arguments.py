"""The arguments of a call and the parameters of its command → values by name."""

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
    """Return the values by name; positional arguments are named `arg0`, `arg1` and so on.

    Raises CallError if the arguments do not fit the parameters.
    """
    _check_kind(call, command)
    by_name = {given.name: given for given in call.arguments if given.name}
    values: dict[str, JSON] = {}
    for number, parameter in enumerate(command.parameters):
        if command.kind is ArgumentKind.POSITIONAL:
            values[f"arg{number}"] = _value(call.arguments[number], parameter)
        else:
            if parameter.name not in by_name:
                raise CallError(f"missing argument `{parameter.name}`")
            values[parameter.name] = _value(by_name.pop(parameter.name), parameter)
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


def _value(given: Given, parameter: ParameterForm) -> JSON:
    value = given.value
    if isinstance(value, Word):
        if not isinstance(parameter.type, EnumType):
            raise CallError(f"`{parameter.name}` takes JSON; only enums take bare words")
        value = value.text
    why = mismatch(value, parameter.type)
    if why:
        raise CallError(f"invalid argument `{parameter.name}`: {why}")
    return value
