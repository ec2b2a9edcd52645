"""Types of the language, and the value expressions of `set_state` (AC-116 to AC-123).

Values are never coerced to a type (AC-A46). A text that is only a reference keeps the type of its
target. A template is a String.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from bylaw.model.display import brief, list_limited

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from bylaw.model.values import JSON

BOOL, INT, STRING = "Bool", "Int", "String"
PRIMITIVES = (BOOL, INT, STRING)
LIST, SET, MAP = "List", "Set", "Map"
GENERICS = (LIST, SET, MAP)
BUILT_IN = (*PRIMITIVES, *GENERICS)
MAX_TYPE_DEPTH = 16
MAX_TYPE_CHARS = 1_000
MAX_LISTED = 20
# The largest integer that every JSON reader keeps exactly.
MAX_INT = 2**53 - 1
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*|[<>,])\s*")


class TypeTextError(Exception):
    """The text is not a type."""


class TypeText(Struct, frozen=True):
    """A type as written: its name, and the types that it contains."""

    name: str
    of: tuple[TypeText, ...] = ()


class Primitive(Struct, frozen=True):
    """Bool, Int or String."""

    name: str

    def __str__(self) -> str:
        return self.name


class EnumType(Struct, frozen=True):
    """An enum by its qualified name, with its values."""

    name: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


class Container(Struct, frozen=True):
    """A list, a set, or a map with texts as keys."""

    name: str
    of: Type

    def __str__(self) -> str:
        return f"{self.name}<String, {self.of}>" if self.name == MAP else f"{self.name}<{self.of}>"


Type: TypeAlias = Primitive | EnumType | Container


def parse_type(text: str) -> TypeText:
    """Parse `Int`, `List<Int>`, `Map<String, Set<WorkMode>>`; raise TypeTextError if invalid."""
    if len(text) > MAX_TYPE_CHARS:
        raise TypeTextError(f"it has more than {MAX_TYPE_CHARS:,} characters")
    tokens: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise TypeTextError(f"unexpected `{text[at:][:20]}`")
        tokens.append(found[1])
        at = found.end()
    written, rest = _parse_tokens(tokens, 0)
    if rest:
        raise TypeTextError(f"unexpected `{rest[0]}` after the type")
    return written


def _parse_tokens(tokens: Sequence[str], depth: int) -> tuple[TypeText, Sequence[str]]:
    if depth > MAX_TYPE_DEPTH:
        raise TypeTextError(f"types are nested more than {MAX_TYPE_DEPTH} deep")
    if not tokens or tokens[0] in "<>,":
        raise TypeTextError("missing name of a type")
    name, rest = tokens[0], tokens[1:]
    if not rest or rest[0] != "<":
        if name in GENERICS:
            raise TypeTextError(f"`{name}` needs the type of its items: `{name}<…>`")
        return TypeText(name), rest
    of: list[TypeText] = []
    while rest and rest[0] in "<,":
        inner, rest = _parse_tokens(rest[1:], depth + 1)
        of.append(inner)
    if not rest or rest[0] != ">":
        raise TypeTextError(f"`{name}<` is not closed with `>`")
    _check_generic(name, of)
    return TypeText(name, tuple(of)), rest[1:]


def _check_generic(name: str, of: Sequence[TypeText]) -> None:
    if name in PRIMITIVES:
        raise TypeTextError(f"`{name}` cannot contain other types")
    if name == MAP:
        if len(of) != 2 or of[0] != TypeText(STRING):  # noqa: PLR2004 - keys and values
            raise TypeTextError("write a map as `Map<String, Type>`")
    elif name in GENERICS and len(of) != 1:
        raise TypeTextError(f"`{name}` contains exactly one type")


def resolve_type(written: TypeText, enum: Callable[[TypeText], EnumType | None]) -> Type | None:
    """Resolve a type; `enum` finds declared enums. Return None if one of them is unknown."""
    if written.name in PRIMITIVES:
        return Primitive(written.name)
    if written.name in GENERICS:
        of = resolve_type(written.of[-1], enum)
        return None if of is None else Container(written.name, of)
    return enum(written)


def listed_values(values: Sequence[str]) -> str:
    """List the values of an enum for a message."""
    return list_limited(values, MAX_LISTED, brief)


def implicit_default(type_: Type) -> JSON:
    """Return the default of a variable that declares none. An enum has no default."""
    match type_:
        case Primitive(name="Bool"):
            return False
        case Primitive(name="Int"):
            return 0
        case Primitive():
            return ""
        case Container(name="Map"):
            return {}
        case Container():
            return []
    return None


def mismatch(value: object, type_: Type) -> str:
    """Return why a value does not match a type; empty if it does. No coercion (AC-A46)."""
    match type_:
        case Primitive(name=name):
            return _primitive_mismatch(value, name)
        case EnumType(values=values):
            if isinstance(value, str) and value in values:
                return ""
            return f"expected {type_}, one of {listed_values(values)}"
        case Container(name="Map", of=of):
            return _map_mismatch(value, of)
        case Container(name=name, of=of):
            return _items_mismatch(value, name, of)


def _primitive_mismatch(value: object, name: str) -> str:
    if name != INT:
        return "" if isinstance(value, bool if name == BOOL else str) else f"expected {name}"
    if isinstance(value, bool) or not isinstance(value, int):
        return f"expected {name}"
    return "" if abs(value) <= MAX_INT else f"an {name} is at most {MAX_INT:,}"


def _map_mismatch(value: object, of: Type) -> str:
    if not isinstance(value, dict):
        return "expected Map"
    if not all(isinstance(key, str) for key in value):
        return "a key of the map is not a String"
    return _first_reason(mismatch(item, of) for item in value.values())


def _items_mismatch(value: object, name: str, of: Type) -> str:
    if not isinstance(value, list):
        return f"expected {name}"
    why = _first_reason(mismatch(item, of) for item in value)
    if why or name != SET:
        return why
    keys = {_equality_key(item, of) for item in value}
    return "" if len(keys) == len(value) else "the set contains an element twice"


def _equality_key(value: Any, type_: Type) -> Hashable:
    """Return a key that is equal for equal values. Sets and maps have no order (AC-A44)."""
    match type_:
        case Container(name="Map", of=of):
            return frozenset((key, _equality_key(item, of)) for key, item in value.items())
        case Container(name="Set", of=of):
            return frozenset(_equality_key(item, of) for item in value)
        case Container(of=of):
            return tuple(_equality_key(item, of) for item in value)
    return value  # type: ignore[no-any-return]  # of a primitive or an enum


def _first_reason(whys: Iterable[str]) -> str:
    return next((why for why in whys if why), "")


_REFERENCE = r"\$(?:state\.(?P<state>[A-Za-z_][A-Za-z0-9_.-]*)|(?P<name>[A-Za-z_][A-Za-z0-9_-]*))"
_REFERENCE_PATTERN = re.compile(_REFERENCE)
# A text that starts like a reference is always read as one (AC-A35).
_REFERENCE_START = re.compile(r"\$[A-Za-z_]")
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
    if _REFERENCE_START.match(text):
        return _read_reference(text)
    return Template(tuple(_read_parts(text))) if _OPEN in text else Literal(text)


def _read_parts(text: str) -> Iterator[str | Ref]:
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        if start > at:
            yield text[at:start]
        end = text.find(_CLOSE, start)
        if end < 0:
            raise ValueTextError("`${` is not closed with `}`")
        yield _read_reference(text[start + len(_OPEN) : end])
        at = end + len(_CLOSE)
    if at < len(text):
        yield text[at:]


def _read_reference(text: str) -> Ref:
    found = _REFERENCE_PATTERN.fullmatch(text)
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
            return _join(value, look_up)
    return look_up(value)


def _join(template: Template, look_up: Callable[[Ref], JSON]) -> str:
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
