"""The types that the checker infers: a set of kinds, and the types inside a container."""

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
    """The kinds a value can have, the type of its elements, and the fields of a closed map."""

    kinds: frozenset[str]
    item: Type | None = None
    fields: Mapping[str, Type] | None = None
    # True: a missing key of the map reads as null (TR-A18: state). False: it is an error.
    missing_is_null: bool = False

    def within(self, *kinds: str) -> bool:
        """Whether the value certainly has one of these kinds."""
        return self.kinds.issubset(kinds)

    def never(self, *kinds: str) -> bool:
        """Whether the value certainly has none of these kinds."""
        return self.kinds.isdisjoint(kinds)


def kind_type(*kinds: str) -> Type:
    """Return a type of these kinds; the types of their elements are unknown."""
    return Type(frozenset(kinds))


ANY = kind_type(*KIND_WORDS)
BOOL = kind_type("bool")
INT = kind_type("int")
FLOAT = kind_type("float")
NUMBER = kind_type("int", "float")
TEXT = kind_type("str")


def list_of(item: Type) -> Type:
    """Return the type of a list whose elements have one type."""
    return Type(frozenset({"list"}), item)


def map_of(item: Type, *, missing_is_null: bool = False) -> Type:
    """Return the type of a map with any keys whose values have one type."""
    return Type(frozenset({"map"}), item, missing_is_null=missing_is_null)


def record(fields: Mapping[str, Type]) -> Type:
    """Return the type of a map with exactly these keys."""
    return Type(frozenset({"map"}), fields=fields)


def optional(type_: Type) -> Type:
    """Return the type with null added."""
    return Type(type_.kinds | {"null"}, type_.item, type_.fields, type_.missing_is_null)


def either(left: Type, right: Type) -> Type:
    """Return the type of a value that has one type or the other."""
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
    """Return the kind of a plain value."""
    if value is None:
        return "null"
    name = value.__class__.__name__
    return {"dict": "map", "frozenset": "set"}.get(name, name)


def in_words(kinds: Iterable[str]) -> str:
    """Return kinds as text, such as `a number or null`; null comes last."""
    known = list(kinds)
    if {"int", "float"} <= set(known):
        known.remove("int")  # `a number` includes whole numbers
    words = [KIND_WORDS[kind] for kind in KIND_WORDS if kind in known and kind != "null"]
    return " or ".join([*words, *(["null"] if "null" in known else [])])
