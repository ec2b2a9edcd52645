"""Value expressions of `set_state`: literals, references and templates (AC-116 to AC-123).

A text that is only a reference keeps the type of its target. A template is a String.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.model.values import JSON

_REFERENCE = r"\$(?:state\.(?P<state>[A-Za-z_][A-Za-z0-9_.-]*)|(?P<name>[A-Za-z_][A-Za-z0-9_-]*))"
_WHOLE = re.compile(_REFERENCE)
# A text that starts like a reference is always read as one (AC-A35).
_LOOKS = re.compile(r"\$[A-Za-z_]")
_NUMBERED = re.compile(r"arg(0|[1-9][0-9]{0,5})")
_OPEN, _CLOSE = "${", "}"
# A template may read the variable that it sets, so the text could double with every call.
MAX_TEXT = 65_536


class ValueTextError(Exception):
    """An invalid reference."""


class TooLongError(Exception):
    """The result of a template is too long."""


class Literal(Struct, frozen=True):
    """A value as written."""

    value: JSON


class ArgumentRef(Struct, frozen=True):
    """`$arg0` by its number, `$name` by its name."""

    name: str

    @property
    def number(self) -> int | None:
        """The number of a positional argument; None for a named one."""
        found = _NUMBERED.fullmatch(self.name)
        return None if found is None else int(found[1])


class StateRef(Struct, frozen=True):
    """`$state.name`."""

    name: str


Ref: TypeAlias = ArgumentRef | StateRef


class Template(Struct, frozen=True):
    """Texts and references, joined from left to right."""

    parts: tuple[str | Ref, ...]


Value: TypeAlias = Literal | ArgumentRef | StateRef | Template


def read_value(text: str) -> Value:
    """Parse a text as an expression; raise ValueTextError if a reference in it is invalid."""
    if _LOOKS.match(text):
        return _reference(text)
    return Template(tuple(_parts(text))) if _OPEN in text else Literal(text)


def _parts(text: str) -> Iterator[str | Ref]:
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        if start > at:
            yield text[at:start]
        end = text.find(_CLOSE, start)
        if end < 0:
            raise ValueTextError("`${` is not closed with `}`")
        yield _reference(text[start + len(_OPEN) : end])
        at = end + len(_CLOSE)
    if at < len(text):
        yield text[at:]


def _reference(text: str) -> Ref:
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise ValueTextError(
            f"invalid reference `{brief(text)}`: write `$arg0`, `$name`, `$state.x`"
        )
    return StateRef(found["state"]) if found["state"] else ArgumentRef(found["name"])


def references(value: Value) -> Iterator[Ref]:
    """Yield every reference of an expression."""
    if isinstance(value, Template):
        yield from (part for part in value.parts if not isinstance(part, str))
    elif isinstance(value, ArgumentRef | StateRef):
        yield value


def evaluate(value: Value, look_up: Callable[[Ref], JSON]) -> JSON:
    """Return the value. Inserted values are not parsed again (AC-121)."""
    match value:
        case Literal():
            return value.value
        case Template():
            return _joined(value, look_up)
    return look_up(value)


def _joined(template: Template, look_up: Callable[[Ref], JSON]) -> str:
    texts: list[str] = []
    room = MAX_TEXT
    for part in template.parts:
        texts.append(part if isinstance(part, str) else as_string(look_up(part)))
        room -= len(texts[-1])
        if room < 0:
            raise TooLongError(f"the result of the template is longer than {MAX_TEXT:,} characters")
    return "".join(texts)


def as_string(value: JSON) -> str:
    """Return how a Bool, an Int, a String or an enum value is written in a template."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
