"""Fields of a payload, read with care: a wrong type is told, a field that is not there is empty.

Not so where rules would be asked about nothing: a prompt without its text, and a call that is to be
made without its tool or its arguments, are refused. Every client sends them. A session that is not
named is one of its own, and where the agent is says its process, too.

What is read is judged by, so what no client sends is refused: a command that is a number would
else be no command. Which arguments of a call are read says `tool_names`, in the same words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.base import PayloadError
from bylaw.model.strict_json import JsonError, read_json, without_halves
from bylaw.model.vocabulary import Moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.base import Payload
    from bylaw.model.values import JSON


class Shape(NamedTuple):
    """What a field may be: one of some types of Python, and of a list, its elements, too."""

    words: str
    types: tuple[type, ...]
    each: tuple[type, ...] = ()

    def fits(self, value: JSON) -> bool:
        """Whether a value is of this shape."""
        if isinstance(value, list) and list in self.types:
            return all(_is_any(one, self.each) for one in value)
        return _is_any(value, self.types)


TEXT = Shape("a text", (str,))
FLAG = Shape("true or false", (bool,))
NUMBER = Shape("a number", (int, float))
OBJECT = Shape("an object", (dict,))
TEXTS = Shape("a list of texts", (list,), (str,))
OBJECTS = Shape("a list of objects", (list,), (dict,))
TEXT_OR_TEXTS = Shape("a text or a list of texts", (str, list), (str,))
TEXT_OR_OBJECT = Shape("a text or an object", (str, dict))

# Fields that clients send as null where they have nothing to say; elsewhere it is a wrong type.
MAY_BE_NULL = frozenset(
    {
        "transcript_path",  # Codex, of a session that is not written down
        "agent_transcript_path",  # Cursor, recorded; Codex, by its schema
        "last_assistant_message",  # Codex, of an agent that said nothing, by its schema
        "exit",  # OpenCode, of a command that was killed
    }
)
_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def text(payload: Payload, key: str, inside: str = "") -> str:
    """A text; empty if it is not there. `inside` is the field that holds the payload, if any."""
    value = _read(payload, key, TEXT, inside)
    return value if isinstance(value, str) else ""


def needed(payload: Payload, key: str) -> str:
    """A text without which nothing can be judged."""
    value = text(payload, key)
    if not value:
        raise PayloadError(f"`{key}` is missing")
    return value


def prompted(payload: Payload, key: str) -> str:
    """What was asked, which may be empty, but must be there."""
    _refuse_absent(payload, key)
    return text(payload, key)


def said(payload: Payload, key: str) -> str | None:
    """A text, None if the client does not say."""
    value = _read(payload, key, TEXT)
    return value if isinstance(value, str) else None


def flag(payload: Payload, key: str) -> bool:
    """A yes or no; no if it is not there."""
    return bool(_read(payload, key, FLAG))


def number(payload: Payload, key: str, inside: str = "") -> float | None:
    """A number, None if the client does not say one."""
    value = _read(payload, key, NUMBER, inside)
    return value if isinstance(value, int | float) else None


def whole(payload: Payload, key: str) -> int | None:
    """A count, None if the client does not say one; fractions are cut."""
    value = number(payload, key)
    return int(value) if value is not None and 0 <= value < 1 << 53 else None


def mapping(payload: Payload, key: str) -> dict[str, JSON]:
    """An object; empty if it is not there."""
    value = _read(payload, key, OBJECT)
    return dict(value) if isinstance(value, dict) else {}


def arguments(payload: Payload, key: str, moment: Moment) -> dict[str, JSON]:
    """What a tool is given; a call that is to be made must say it."""
    if moment is Moment.BEFORE_TOOL:
        _refuse_absent(payload, key)
    return mapping(payload, key)


def arguments_or_json(payload: Payload, key: str, moment: Moment) -> dict[str, JSON]:
    """The same, or its JSON in a text; halves of characters only in what has happened."""
    value = payload.get(key)
    if not isinstance(value, str):
        return arguments(payload, key, moment)
    written = value if moment is Moment.BEFORE_TOOL else without_halves(value)
    try:
        return mapping({key: read_json(written)}, key)
    except JsonError as flaw:
        raise PayloadError(f"`{key}` is not JSON: {flaw}") from None


def texts(payload: Payload, key: str) -> list[str]:
    """Texts; none if they are not there."""
    value = _read(payload, key, TEXTS)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def own_transcript(payload: Payload, *, is_sub: bool) -> str:
    """The transcript of the agent that stops: that of the main agent lacks a subagent's words."""
    main = text(payload, "transcript_path")
    own = text(payload, "agent_transcript_path") if is_sub else main
    return "" if is_sub and own == main else own


def text_or_object(payload: Payload, key: str) -> JSON:
    """Either, None if it is not there."""
    return _read(payload, key, TEXT_OR_OBJECT)


def refuse_other(where: str, value: JSON, shape: Shape) -> None:
    """PayloadError if a value has another shape; `where` is said of it."""
    if shape.fits(value):
        return
    found = _KINDS[type(value)]
    if isinstance(value, list) and list in shape.types:
        wrong = next(one for one in value if not _is_any(one, shape.each))
        found = f"a list with {_KINDS[type(wrong)]} in it"
    raise PayloadError(f"{where} is {found}, not {shape.words}")


def unknown(payload: Payload, known: frozenset[str]) -> tuple[str, ...]:
    """The fields that we do not know, sorted."""
    return tuple(sorted(payload.keys() - known))


def _refuse_absent(payload: Payload, key: str) -> None:
    if key not in payload:
        raise PayloadError(f"`{key}` is missing")


def _read(payload: Payload, key: str, shape: Shape, inside: str = "") -> JSON:
    value = payload.get(key)
    if key in payload and not (value is None and key in MAY_BE_NULL):
        refuse_other(f"`{inside}.{key}`" if inside else f"`{key}`", value, shape)
    return value


def _is_any(value: JSON, types: tuple[type, ...]) -> bool:
    return type(value) in types  # to Python, true is a number, too
