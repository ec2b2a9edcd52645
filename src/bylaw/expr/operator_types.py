"""Infer the type of the result of an operator from the types of its operands.

None means that the operation fails for all values of these types.
"""

from __future__ import annotations

from bylaw.expr.types import BOOL, FLOAT, NUMBER, Type, kind_type

_NUMBERS = frozenset({"int", "float"})
_COUNTED = _NUMBERS | {"bool"}
_REPEATED = frozenset({"str", "list", "tuple"})
_ORDERED = frozenset({"str", "list", "tuple", "set"})


def _numeric(type_: Type, *, strict: bool) -> frozenset[str]:
    """Return the number kinds a value can have; if not `strict`, a boolean is an integer."""
    kinds = type_.kinds & _NUMBERS
    return kinds if strict or "bool" not in type_.kinds else kinds | {"int"}


def unary_type(op: str, operand: Type, *, strict: bool) -> Type | None:
    """Return the type of `op operand`, or None if it always fails."""
    if op == "not":
        return None if strict and operand.never("bool") else BOOL
    kinds = _numeric(operand, strict=strict)
    return Type(kinds) if kinds else None


def binary_type(op: str, left: Type, right: Type, *, strict: bool) -> Type | None:
    """Return the type of `left op right`, or None if it always fails."""
    a, b = _numeric(left, strict=strict), _numeric(right, strict=strict)
    kinds: set[str] = set()
    if a and b:
        kinds |= _number_result(op, a, b)
    if op == "+":
        joined = {"str"} if strict else _REPEATED
        kinds |= left.kinds & right.kinds & joined
    if op == "*" and not strict:
        kinds |= (left.kinds & _REPEATED if "int" in b else set()) | (
            right.kinds & _REPEATED if "int" in a else set()
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


def comparable(op: str, left: Type, right: Type, *, strict: bool) -> bool:
    """Whether a comparison can succeed for some values of these types."""
    if op in ("==", "!=", "is", "is not"):
        return True
    if op in ("in", "not in"):
        return _can_contain(left, right, strict=strict)
    numbers = _NUMBERS if strict else _COUNTED
    if not left.kinds.isdisjoint(numbers) and not right.kinds.isdisjoint(numbers):
        return True
    ordered = frozenset({"str"}) if strict else _ORDERED
    return bool(left.kinds & right.kinds & ordered)


def _can_contain(item: Type, container: Type, *, strict: bool) -> bool:
    if strict:
        return "list" in container.kinds
    if container.within("str"):
        return "str" in item.kinds
    return bool(container.kinds & {"str", "list", "tuple", "set", "map"})
