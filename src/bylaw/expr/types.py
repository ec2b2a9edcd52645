"""The types that the checker infers, the results of operators, and environments of expressions.

An environment has the names that an expression may read and call, with the code that reads them.
Both grammars are checked against one. Compiled code reads the fields of a view: `v.turn_index`, or
a local variable `v_turn_index` in a function of many guards. So the code of a variable starts with
the name of a field, and an `emit` function receives the prefix of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.expr.tree import Constant
    from bylaw.model.codes import Code

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


def union(left: Type, right: Type) -> Type:
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


def describe_kinds(kinds: Iterable[str]) -> str:
    """Return kinds as text, such as `a number or null`; null comes last."""
    known = list(kinds)
    if {"int", "float"} <= set(known):
        known.remove("int")  # `a number` includes whole numbers
    words = [KIND_WORDS[kind] for kind in KIND_WORDS if kind in known and kind != "null"]
    return " or ".join([*words, *(["null"] if "null" in known else [])])


class Argument(Struct, frozen=True):
    """The code of one argument of a call; `literal` is its value if it is written as a literal."""

    code: str
    literal: Constant = None


# Receives the arguments, the site of the call, and the prefix of a view field.
Emit: TypeAlias = Callable[[Sequence[Argument], int, str], str]


class Variable(Struct, frozen=True):
    """A name that can be read, and the code that reads it from a field of the view."""

    type: Type
    code: str


class Parameter(Struct, frozen=True):
    """One parameter; a `literal` argument must be a quoted text, because it is checked at load."""

    name: str
    kinds: tuple[str, ...] = ()
    required: bool = True
    how: str = "position"  # position, keyword or either
    literal: bool = False
    choices: tuple[str, ...] = ()
    names_rule: bool = False  # it must be the id of a rule of the same file
    # Returns the code and message of a diagnostic if a literal is wrong, else None.
    problem: Callable[[str], tuple[Code, str] | None] | None = None


class Function(Struct, frozen=True):
    """A function or method: parameters, result, and how it is compiled."""

    parameters: tuple[Parameter, ...]
    result: Type
    emit: Emit
    inlined: bool = False  # compiled in place, so the compiler checks the arguments
    many: bool = False  # the last parameter can be repeated
    reads_time: bool = False
    reads_call: bool = False
    owners: tuple[str, ...] = ()  # for a method: the kinds of value that have it

    @property
    def required(self) -> int:
        """The number of required arguments."""
        return sum(parameter.required for parameter in self.parameters)


class Environment(Struct, frozen=True):
    """The names that one expression may use."""

    variables: Mapping[str, Variable]
    functions: Mapping[str, Function]
    methods: Mapping[str, Function] = field(default_factory=dict)
    # True: the rules of the guard language (CM-A21). False: Python's rules, with limits.
    strict: bool = True
    # Spellings from other languages, and the help text for each.
    spellings: Mapping[str, str] = field(default_factory=dict)
    has_call: bool = True
    rule_ids: frozenset[str] | None = None

    def starts(self, name: str) -> list[str]:
        """Return the declared dotted names below a name: `event.name`, … for `event`."""
        return [known for known in self.variables if known.startswith(name + ".")]


_NUMBERS = frozenset({"int", "float"})
_NUMBERS_AND_BOOL = _NUMBERS | {"bool"}
_REPEATABLE = frozenset({"str", "list", "tuple"})
_ORDERABLE = frozenset({"str", "list", "tuple", "set"})


def _number_kinds(type_: Type, *, strict: bool) -> frozenset[str]:
    """Return the number kinds a value can have; if not `strict`, a boolean is an integer."""
    kinds = type_.kinds & _NUMBERS
    return kinds if strict or "bool" not in type_.kinds else kinds | {"int"}


def unary_type(op: str, operand: Type, *, strict: bool) -> Type | None:
    """Return the type of `op operand`, or None if it always fails."""
    if op == "not":
        return None if strict and operand.never("bool") else BOOL
    kinds = _number_kinds(operand, strict=strict)
    return Type(kinds) if kinds else None


def binary_type(op: str, left: Type, right: Type, *, strict: bool) -> Type | None:
    """Return the type of `left op right`, or None if it always fails."""
    a, b = _number_kinds(left, strict=strict), _number_kinds(right, strict=strict)
    kinds: set[str] = set()
    if a and b:
        kinds |= _number_result(op, a, b)
    if op == "+":
        joined = {"str"} if strict else _REPEATABLE
        kinds |= left.kinds & right.kinds & joined
    if op == "*" and not strict:
        kinds |= (left.kinds & _REPEATABLE if "int" in b else set()) | (
            right.kinds & _REPEATABLE if "int" in a else set()
        )
    if op == "-" and not strict:
        kinds |= left.kinds & right.kinds & {"set"}
    return kind_type(*kinds) if kinds else None


def _number_result(op: str, left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    if op == "/":
        return FLOAT.kinds
    if op == "**":
        return NUMBER.kinds  # a negative exponent makes a fraction
    both_can_be_int = "int" in left and "int" in right
    some_can_be_float = "float" in left or "float" in right
    result = frozenset({"int"} if both_can_be_int else ())
    return result | ({"float"} if some_can_be_float else frozenset())


def can_compare(op: str, left: Type, right: Type, *, strict: bool) -> bool:
    """Whether a comparison can succeed for some values of these types."""
    if op in ("==", "!=", "is", "is not"):
        return True
    if op in ("in", "not in"):
        return _can_contain(left, right, strict=strict)
    numbers = _NUMBERS if strict else _NUMBERS_AND_BOOL
    if not left.kinds.isdisjoint(numbers) and not right.kinds.isdisjoint(numbers):
        return True
    ordered = frozenset({"str"}) if strict else _ORDERABLE
    return bool(left.kinds & right.kinds & ordered)


def _can_contain(item: Type, container: Type, *, strict: bool) -> bool:
    if strict:
        return "list" in container.kinds
    if container.within("str"):
        return "str" in item.kinds
    return bool(container.kinds & {"str", "list", "tuple", "set", "map"})
