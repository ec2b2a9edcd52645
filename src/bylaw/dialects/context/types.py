"""Types of the language: how their text is parsed, and how values are checked against them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from bylaw.model.visible import brief, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

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
    written, rest = _parsed(tokens, 0)
    if rest:
        raise TypeTextError(f"unexpected `{rest[0]}` after the type")
    return written


def _parsed(tokens: Sequence[str], depth: int) -> tuple[TypeText, Sequence[str]]:
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
        inner, rest = _parsed(rest[1:], depth + 1)
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


def resolved(written: TypeText, enum: Callable[[TypeText], EnumType | None]) -> Type | None:
    """Resolve a type; `enum` finds declared enums. Return None if one of them is unknown."""
    if written.name in PRIMITIVES:
        return Primitive(written.name)
    if written.name in GENERICS:
        of = resolved(written.of[-1], enum)
        return None if of is None else Container(written.name, of)
    return enum(written)


def listed_values(values: Sequence[str]) -> str:
    """List the values of an enum for a message."""
    return listed(values, MAX_LISTED, brief)


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
    return _first(mismatch(item, of) for item in value.values())


def _items_mismatch(value: object, name: str, of: Type) -> str:
    if not isinstance(value, list):
        return f"expected {name}"
    why = _first(mismatch(item, of) for item in value)
    if why or name != SET:
        return why
    keys = {_key(item, of) for item in value}
    return "" if len(keys) == len(value) else "the set contains an element twice"


def _key(value: Any, type_: Type) -> Hashable:
    """Return a key that is equal for equal values. Sets and maps have no order (AC-A44)."""
    match type_:
        case Container(name="Map", of=of):
            return frozenset((key, _key(item, of)) for key, item in value.items())
        case Container(name="Set", of=of):
            return frozenset(_key(item, of) for item in value)
        case Container(of=of):
            return tuple(_key(item, of) for item in value)
    return value  # type: ignore[no-any-return]  # of a primitive or an enum


def _first(whys: Iterable[str]) -> str:
    return next((why for why in whys if why), "")
