"""Read the fields of a payload: a wrong type is an error, a missing field is empty.

A prompt without its text, and a call without its tool or its arguments, are errors, too: rules
would have nothing to check. Every client sends these fields. Payloads of a client without a session
id belong to one session. A missing folder is taken from the process.

Rules decide by these values. So a type that no client sends is an error: otherwise a command that
is a number would not be checked as a command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.clients.base import PayloadError
from bylaw.model.values import JsonError, read_json, replace_lone_surrogates
from bylaw.model.vocabulary import HookPoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.clients.base import Payload
    from bylaw.model.values import JSON


class FieldType(NamedTuple):
    """The types that a field may have. `each` are the types of the elements, if it is a list."""

    words: str
    types: tuple[type, ...]
    each: tuple[type, ...] = ()

    def fits(self, value: JSON) -> bool:
        """Return whether a value has one of the types."""
        if isinstance(value, list) and list in self.types:
            return all(_has_type(one, self.each) for one in value)
        return _has_type(value, self.types)


TEXT = FieldType("a text", (str,))
FLAG = FieldType("true or false", (bool,))
NUMBER = FieldType("a number", (int, float))
OBJECT = FieldType("an object", (dict,))
TEXTS = FieldType("a list of texts", (list,), (str,))
OBJECTS = FieldType("a list of objects", (list,), (dict,))
TEXT_OR_TEXTS = FieldType("a text or a list of texts", (str, list), (str,))
TEXT_OR_OBJECT = FieldType("a text or an object", (str, dict))

# Fields that clients send as null if they have no value. In other fields null is a wrong type.
MAY_BE_NULL = frozenset(
    {
        "transcript_path",  # Codex, for a session without a transcript
        "agent_transcript_path",  # Cursor (recorded), Codex (in its schema)
        "last_assistant_message",  # Codex (in its schema), if the agent said nothing
        "exit",  # OpenCode, for a command that was killed
    }
)
_TYPE_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def text(payload: Payload, key: str, inside: str = "") -> str:
    """Return a text, empty if it is missing. `inside` is the field that contains the payload."""
    value = _read_field(payload, key, TEXT, inside)
    return value if isinstance(value, str) else ""


def required_text(payload: Payload, key: str) -> str:
    """Return a text that must not be missing or empty."""
    value = text(payload, key)
    if not value:
        raise PayloadError(f"`{key}` is missing")
    return value


def prompt_text(payload: Payload, key: str) -> str:
    """Return a text that may be empty, but must not be missing."""
    _require_key(payload, key)
    return text(payload, key)


def optional_text(payload: Payload, key: str) -> str | None:
    """Return a text, None if it is missing."""
    value = _read_field(payload, key, TEXT)
    return value if isinstance(value, str) else None


def flag(payload: Payload, key: str) -> bool:
    """Return true or false; false if it is missing."""
    return bool(_read_field(payload, key, FLAG))


def number(payload: Payload, key: str, inside: str = "") -> float | None:
    """Return a number, None if it is missing."""
    value = _read_field(payload, key, NUMBER, inside)
    return value if isinstance(value, int | float) else None


def count(payload: Payload, key: str) -> int | None:
    """Return a count, None if it is missing or out of range. Fractions are cut off."""
    value = number(payload, key)
    return int(value) if value is not None and 0 <= value < 1 << 53 else None


def mapping(payload: Payload, key: str) -> dict[str, JSON]:
    """Return an object, empty if it is missing."""
    value = _read_field(payload, key, OBJECT)
    return dict(value) if isinstance(value, dict) else {}


def arguments(payload: Payload, key: str, moment: HookPoint) -> dict[str, JSON]:
    """Return the arguments of a tool call. Before the call they must not be missing."""
    if moment is HookPoint.BEFORE_TOOL:
        _require_key(payload, key)
    return mapping(payload, key)


def arguments_or_json(payload: Payload, key: str, moment: HookPoint) -> dict[str, JSON]:
    """Return the arguments of a tool call, which may be JSON in a text.

    Half of a character in that text is an error before the call, and replaced after it.
    """
    value = payload.get(key)
    if not isinstance(value, str):
        return arguments(payload, key, moment)
    written = value if moment is HookPoint.BEFORE_TOOL else replace_lone_surrogates(value)
    try:
        return mapping({key: read_json(written)}, key)
    except JsonError as flaw:
        raise PayloadError(f"`{key}` is not JSON: {flaw}") from None


def texts(payload: Payload, key: str) -> list[str]:
    """Return a list of texts, empty if it is missing."""
    value = _read_field(payload, key, TEXTS)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def own_transcript(payload: Payload, *, is_sub: bool) -> str:
    """Return the transcript of the agent that stops; the main agent's lacks a subagent's text."""
    main = text(payload, "transcript_path")
    own = text(payload, "agent_transcript_path") if is_sub else main
    return "" if is_sub and own == main else own


def text_or_object(payload: Payload, key: str) -> JSON:
    """Return a text or an object, None if it is missing."""
    return _read_field(payload, key, TEXT_OR_OBJECT)


def require_type(where: str, value: JSON, shape: FieldType) -> None:
    """Raise PayloadError if a value has another shape. `where` names the value in the message."""
    if shape.fits(value):
        return
    found = _TYPE_NAMES[type(value)]
    if isinstance(value, list) and list in shape.types:
        wrong = next(one for one in value if not _has_type(one, shape.each))
        found = f"a list with {_TYPE_NAMES[type(wrong)]} in it"
    raise PayloadError(f"{where} is {found}, not {shape.words}")


def unknown_names(payload: Payload, known: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the unknown fields, sorted."""
    return tuple(sorted(payload.keys() - known))


def _require_key(payload: Payload, key: str) -> None:
    if key not in payload:
        raise PayloadError(f"`{key}` is missing")


def _read_field(payload: Payload, key: str, shape: FieldType, inside: str = "") -> JSON:
    value = payload.get(key)
    if key in payload and not (value is None and key in MAY_BE_NULL):
        require_type(f"`{inside}.{key}`" if inside else f"`{key}`", value, shape)
    return value


def _has_type(value: JSON, types: tuple[type, ...]) -> bool:
    return type(value) in types  # not isinstance: in Python, True is an int
