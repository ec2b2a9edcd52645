"""Events ↔ lines of JSON. A line that is not exactly an event is rejected with a clear message."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from bylaw.model.codes.events import (
    EVENT_DUPLICATE_KEY,
    EVENT_FIELD,
    EVENT_KIND,
    EVENT_SYNTAX,
    EVENT_TOO_DEEP,
)
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
from bylaw.model.refusal import explain
from bylaw.model.strict_json import (
    Flaw,
    JsonError,
    decode_utf8,
    flaw_in,
    refuse_depth,
    refuse_duplicate_keys,
)
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

# Keys keep their order: a guard may iterate over a map, and a replay must give the same result.
_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)

_EMPTY = (NO_FACTS, NO_TOOL_FACTS, NO_WORK_FACTS, NO_LAW_FACTS)
_NO_FACTS = {type(facts): facts for facts in _EMPTY}

_CODES = {
    Flaw.SYNTAX: EVENT_SYNTAX,
    Flaw.DUPLICATE_KEY: EVENT_DUPLICATE_KEY,
    Flaw.TOO_DEEP: EVENT_TOO_DEEP,
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


def as_written(event: Event) -> Event:
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
        refuse_depth(text)
        event = _decoded(line, text)
        refuse_duplicate_keys(text)
    except JsonError as error:
        raise _refused_json(error) from None
    return event


def _decoded(line: bytes, text: str) -> Event:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise _refused_value(line, str(error)) from None
    except msgspec.DecodeError:
        raise flaw_in(text) from None


def _refused_json(error: JsonError) -> EventError:
    message = error.told_of("the line is")
    if error.flaw is Flaw.SYNTAX:
        message += f"; see column {error.span.start + 1}"
    return EventError(_CODES[error.flaw].name, message)


def _refused_value(line: bytes, complaint: str) -> EventError:
    kind = _kind_of(line)
    if kind in EVENT_CLASSES:
        return EventError(EVENT_FIELD.name, explain(EVENT_CLASSES[kind], complaint))
    if kind is None:
        return EventError(EVENT_KIND.name, "an event is an object with a `kind` that is a string")
    help_line = did_you_mean(kind, EVENT_CLASSES)
    return EventError(EVENT_KIND.name, f"`{brief(kind)}` is not a kind of event: {help_line}")


def _kind_of(line: bytes) -> str | None:
    try:
        return msgspec.json.decode(line, type=_Head).kind
    except msgspec.MsgspecError:
        return None
