"""What is known of a value before it exists: a set of kinds, and the shape of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KIND_WORDS = {
    "null": "null",
    "bool": "a boolean",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "list": "a list",
    "tuple": "a tuple",
    "set": "a set",
    "map": "a map",
}
_CONTAINERS = frozenset({"list", "tuple", "set", "map"})


class Type(Struct, frozen=True):
    """The kinds a value can have; `item` of what is inside, `fields` of a closed map."""

    kinds: frozenset[str]
    item: Type | None = None
    fields: Mapping[str, Type] | None = None
    # A map of which a missing key reads as null (TR-A18: state); else it is an error.
    missing_is_null: bool = False

    def within(self, *kinds: str) -> bool:
        """Whether the value certainly has one of these kinds."""
        return self.kinds.issubset(kinds)

    def never(self, *kinds: str) -> bool:
        """Whether the value certainly has none of these kinds."""
        return self.kinds.isdisjoint(kinds)


def kind_type(*kinds: str) -> Type:
    """A type of these kinds with nothing known of what is inside."""
    return Type(frozenset(kinds))


ANY = kind_type(*KIND_WORDS)
BOOL = kind_type("bool")
INT = kind_type("int")
FLOAT = kind_type("float")
NUMBER = kind_type("int", "float")
TEXT = kind_type("str")


def list_of(item: Type) -> Type:
    """A list with elements of one type."""
    return Type(frozenset({"list"}), item)


def map_of(item: Type, *, missing_is_null: bool = False) -> Type:
    """A map with any keys and values of one type."""
    return Type(frozenset({"map"}), item, missing_is_null=missing_is_null)


def record(fields: Mapping[str, Type]) -> Type:
    """A map with exactly these keys."""
    return Type(frozenset({"map"}), fields=fields)


def optional(type_: Type) -> Type:
    """The type, or null."""
    return Type(type_.kinds | {"null"}, type_.item, type_.fields, type_.missing_is_null)


def either(left: Type, right: Type) -> Type:
    """What is known of a value that is one or the other."""
    if left is right or left == right:
        return left
    if not left.kinds & _CONTAINERS:
        return Type(left.kinds | right.kinds, right.item, right.fields, right.missing_is_null)
    if not right.kinds & _CONTAINERS:
        return Type(left.kinds | right.kinds, left.item, left.fields, left.missing_is_null)
    same = (left.item, left.fields) == (right.item, right.fields)
    return (
        Type(left.kinds | right.kinds, left.item, left.fields)
        if same
        else kind_type(*left.kinds, *right.kinds)
    )


def kind_of(value: object) -> str:
    """The kind of a plain value."""
    if value is None:
        return "null"
    name = value.__class__.__name__
    return {"dict": "map", "frozenset": "set"}.get(name, name)


def in_words(kinds: Iterable[str]) -> str:
    """Kinds as people say them: `a number or null`; what is unusual comes last."""
    known = list(kinds)
    if {"int", "float"} <= set(known):
        known.remove("int")  # any number will do
    words = [KIND_WORDS[kind] for kind in KIND_WORDS if kind in known and kind != "null"]
    return " or ".join([*words, *(["null"] if "null" in known else [])])
