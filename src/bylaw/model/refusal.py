"""Validation error of msgspec → a sentence for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import inspect

from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from msgspec import Struct

_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number with a decimal point",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_BOUNDS = {">=": "at least", "<=": "at most"}

_STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")
_WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_OUT_OF_BOUNDS = re.compile(r"Expected `int` ([<>]=) (-?\d+)")
_UNKNOWN_WORD = re.compile(r"Invalid enum value '(.*)'", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING_FIELD = re.compile(r"Object missing required field `(.*)`")


def explain(
    cls: type[Struct], complaint: str, whole: str = "the event", part: str = "field"
) -> str:
    """Explain what is wrong with a value of this class, and suggest a known name."""
    what, _, path = complaint.partition(" - at `$")
    path = path.removesuffix("`")
    subject = f"`{path.lstrip('.')}`" if path else whole
    if found := _WRONG_TYPE.fullmatch(what):
        return f"{subject} must be {_in_words(found[1])}, not {_in_words(found[2])}"
    if found := _OUT_OF_BOUNDS.fullmatch(what):
        return f"{subject} must be {_BOUNDS[found[1]]} {found[2]}"
    if found := _UNKNOWN_WORD.fullmatch(what):
        help_line = did_you_mean(found[1], _known_at(cls, path))
        return f"{subject} cannot be `{brief(found[1])}`: {help_line}"
    if found := _UNKNOWN_FIELD.fullmatch(what):
        help_line = did_you_mean(found[1], _known_at(cls, path))
        return f"{subject} has no {part} `{brief(found[1])}`: {help_line}"
    if found := _MISSING_FIELD.fullmatch(what):
        return f"{subject} needs the {part} `{found[1]}`"
    return f"{subject} is not valid: {what[:1].lower()}{what[1:]}"


def _in_words(types: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in types.split(" | "))


def _known_at(cls: type[Struct], path: str) -> list[str]:
    info: inspect.Type | None = inspect.type_info(cls)
    for step in _STEP.finditer(path):
        info = _enter(info, step[1])
    match _solid(info):
        case inspect.StructType(fields=fields):
            return [field.encode_name for field in fields]
        case inspect.EnumType(cls=words):
            return [word.value for word in words]
    return []


def _enter(info: inspect.Type | None, name: str | None) -> inspect.Type | None:
    match _solid(info):
        case inspect.StructType(fields=fields):
            return next((field.type for field in fields if field.encode_name == name), None)
        case inspect.DictType(value_type=inner):
            return inner
        case inspect.VarTupleType(item_type=inner):
            return inner
    return None


def _solid(info: inspect.Type | None) -> inspect.Type | None:
    if not isinstance(info, inspect.UnionType):
        return info
    kinds = (inspect.StructType, inspect.EnumType, inspect.DictType, inspect.VarTupleType)
    return next((member for member in info.types if isinstance(member, kinds)), None)
