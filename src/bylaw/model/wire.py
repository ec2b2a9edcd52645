"""Events to and from lines of JSON; what is not exactly an event is refused in plain words."""

from __future__ import annotations

import json
import re

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
    NO_WORK_FACTS,
    Event,
)
from bylaw.model.refusal import explain
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

# Deep enough for the arguments of any tool, far below where a parser gives up.
MAX_DEPTH = 100

# Keys keep their order: a guard may walk a map, and a replayed event must read the same.
_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)

_NO_FACTS = {type(facts): facts for facts in (NO_FACTS, NO_WORK_FACTS, NO_LAW_FACTS)}

# Possessive, so that no text makes it go back: a string (perhaps unclosed), or a bracket.
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_PLACE = re.compile(r"\(byte (\d+)\)")


class EventError(BylawError):
    """A line that is no event: a stable code, and a message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class _Head(msgspec.Struct):
    kind: str


def encode_event(event: Event) -> bytes:
    """One line without its line break; fields that have their default are left out."""
    return _ENCODER.encode(_share_defaults(event))


def _share_defaults(event: Event) -> Event:
    # msgspec leaves a field out when it holds the very object of its default. A value that is
    # only equal must be left out too, or equal events would have different bytes.
    facts = _NO_FACTS[type(event.facts)]
    if event.facts == facts and event.facts is not facts:
        event = replace(event, facts=facts)
    if event.session == DEFAULT_SESSION and event.session is not DEFAULT_SESSION:
        event = replace(event, session=DEFAULT_SESSION)
    return event


def decode_event(line: bytes) -> Event:
    """An event from one line, or an EventError that says what is wrong with it."""
    text = _read_utf8(line)
    _refuse_depth(line)
    try:
        event = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise _refused_value(line, str(error)) from None
    except msgspec.DecodeError as error:
        raise _refused_syntax(line, str(error)) from None
    json.loads(text, object_pairs_hook=_refuse_duplicates)
    return event


def _read_utf8(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode("utf-8")) + 1
        message = f"the line is not UTF-8: byte 0x{line[error.start]:02x} at column {column}"
        raise EventError(EVENT_SYNTAX.name, message) from None


def _refuse_depth(line: bytes) -> None:
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(line):
        mark = found[0]
        depth += (mark in b"[{") - (mark in b"]}")
        if depth > MAX_DEPTH:
            message = f"lists and objects are nested more than {MAX_DEPTH} deep"
            raise EventError(EVENT_TOO_DEEP.name, message)


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise EventError(EVENT_DUPLICATE_KEY.name, f"the key `{brief(key)}` is there twice")
        found[key] = value
    return found


def _refused_syntax(line: bytes, complaint: str) -> EventError:
    place = _PLACE.search(complaint)
    if place is None:
        message = "the line is not JSON: it ends too early, or escapes half of a character"
        return EventError(EVENT_SYNTAX.name, message)
    column = len(line[: min(int(place[1]), len(line) - 1)].decode("utf-8", "ignore")) + 1
    return EventError(EVENT_SYNTAX.name, f"the line is not JSON: see column {column}")


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
