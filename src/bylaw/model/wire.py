"""Events ↔ lines of JSON.

A line that is not exactly an event is rejected with a stable code and a sentence for people. Other
readers use the same sentences for invalid values of their classes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import inspect
from msgspec.structs import replace

from bylaw.model.codes.runtime import (
    EVENT_DUPLICATE_KEY,
    EVENT_FIELD,
    EVENT_KIND,
    EVENT_SYNTAX,
    EVENT_TOO_DEEP,
)
from bylaw.model.display import brief
from bylaw.model.errors import BylawError
from bylaw.model.event import (
    DEFAULT_SESSION,
    EVENT_CLASSES,
    NO_FACTS,
    NO_LAW_FACTS,
    NO_TOOL_FACTS,
    NO_WORK_FACTS,
    Event,
)
from bylaw.model.suggest import did_you_mean
from bylaw.model.values import (
    JsonError,
    JsonErrorKind,
    check_json_depth,
    check_json_keys,
    decode_utf8,
    find_json_error,
)

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


def explain_invalid_value(
    cls: type[Struct], complaint: str, whole: str = "the event", part: str = "field"
) -> str:
    """Explain what is wrong with a value of this class, and suggest a known name."""
    what, _, path = complaint.partition(" - at `$")
    path = path.removesuffix("`")
    subject = f"`{path.lstrip('.')}`" if path else whole
    if found := _WRONG_TYPE.fullmatch(what):
        return f"{subject} must be {_type_words(found[1])}, not {_type_words(found[2])}"
    if found := _OUT_OF_BOUNDS.fullmatch(what):
        return f"{subject} must be {_BOUNDS[found[1]]} {found[2]}"
    if found := _UNKNOWN_WORD.fullmatch(what):
        help_line = did_you_mean(found[1], _known_names_at(cls, path))
        return f"{subject} cannot be `{brief(found[1])}`: {help_line}"
    if found := _UNKNOWN_FIELD.fullmatch(what):
        help_line = did_you_mean(found[1], _known_names_at(cls, path))
        return f"{subject} has no {part} `{brief(found[1])}`: {help_line}"
    if found := _MISSING_FIELD.fullmatch(what):
        return f"{subject} needs the {part} `{found[1]}`"
    return f"{subject} is not valid: {what[:1].lower()}{what[1:]}"


def _type_words(types: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in types.split(" | "))


def _known_names_at(cls: type[Struct], path: str) -> list[str]:
    info: inspect.Type | None = inspect.type_info(cls)
    for step in _STEP.finditer(path):
        info = _enter(info, step[1])
    match _structured_type(info):
        case inspect.StructType(fields=fields):
            return [field.encode_name for field in fields]
        case inspect.EnumType(cls=words):
            return [word.value for word in words]
    return []


def _enter(info: inspect.Type | None, name: str | None) -> inspect.Type | None:
    match _structured_type(info):
        case inspect.StructType(fields=fields):
            return next((field.type for field in fields if field.encode_name == name), None)
        case inspect.DictType(value_type=inner):
            return inner
        case inspect.VarTupleType(item_type=inner):
            return inner
    return None


def _structured_type(info: inspect.Type | None) -> inspect.Type | None:
    if not isinstance(info, inspect.UnionType):
        return info
    kinds = (inspect.StructType, inspect.EnumType, inspect.DictType, inspect.VarTupleType)
    return next((member for member in info.types if isinstance(member, kinds)), None)


# Keys keep their order: a guard may iterate over a map, and a replay must give the same result.
_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)

_EMPTY = (NO_FACTS, NO_TOOL_FACTS, NO_WORK_FACTS, NO_LAW_FACTS)
_NO_FACTS = {type(facts): facts for facts in _EMPTY}

_CODES = {
    JsonErrorKind.SYNTAX: EVENT_SYNTAX,
    JsonErrorKind.DUPLICATE_KEY: EVENT_DUPLICATE_KEY,
    JsonErrorKind.TOO_DEEP: EVENT_TOO_DEEP,
}


class EventError(BylawError):
    """A line that is not an event. Holds a stable code and a message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class _Head(msgspec.Struct):
    kind: str


def encode_event(event: Event) -> bytes:
    """Encode as one line without a line break. Fields with their default value are omitted."""
    return _ENCODER.encode(_share_defaults(event))


def _share_defaults(event: Event) -> Event:
    # msgspec omits a field only if it holds the same object as its default. A value that is only
    # equal must be omitted as well, or equal events would have different bytes.
    facts = _NO_FACTS[type(event.facts)]
    if event.facts == facts and event.facts is not facts:
        event = replace(event, facts=facts)
    if event.session == DEFAULT_SESSION and event.session is not DEFAULT_SESSION:
        event = replace(event, session=DEFAULT_SESSION)
    return event


def round_trip(event: Event) -> Event:
    """Return the event as a reader would decode it. Raises EventError if it cannot be encoded."""
    try:
        return _DECODER.decode(encode_event(event))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as wrong:
        why = f"the event cannot be written as JSON: {wrong}"
        raise EventError(EVENT_FIELD.name, why) from None


def decode_event(line: bytes) -> Event:
    """Decode one line. Raises EventError with a message that names the problem."""
    try:
        text = decode_utf8(line)
        check_json_depth(text)
        event = _decode_checked(line, text)
        check_json_keys(text)
    except JsonError as error:
        raise _json_event_error(error) from None
    return event


def _decode_checked(line: bytes, text: str) -> Event:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise _value_event_error(line, str(error)) from None
    except msgspec.DecodeError:
        raise find_json_error(text) from None


def _json_event_error(error: JsonError) -> EventError:
    message = error.sentence_about("the line is")
    if error.flaw is JsonErrorKind.SYNTAX:
        message += f"; see column {error.span.start + 1}"
    return EventError(_CODES[error.flaw].name, message)


def _value_event_error(line: bytes, complaint: str) -> EventError:
    kind = _kind_of(line)
    if kind in EVENT_CLASSES:
        return EventError(EVENT_FIELD.name, explain_invalid_value(EVENT_CLASSES[kind], complaint))
    if kind is None:
        return EventError(EVENT_KIND.name, "an event is an object with a `kind` that is a string")
    help_line = did_you_mean(kind, EVENT_CLASSES)
    return EventError(EVENT_KIND.name, f"`{brief(kind)}` is not a kind of event: {help_line}")


def _kind_of(line: bytes) -> str | None:
    try:
        return msgspec.json.decode(line, type=_Head).kind
    except msgspec.MsgspecError:
        return None
