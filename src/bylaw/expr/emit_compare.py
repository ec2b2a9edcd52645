"""Comparisons → Python: the plain operator if it cannot fail and has the same meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.expr.tree import Compare, Const, Items, Node

if TYPE_CHECKING:
    from bylaw.expr.emit import Emitter
    from bylaw.expr.types import Type

_ORDER = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_SCALARS = ("null", "bool", "int", "float", "str")


def emit_compare(emitter: Emitter, node: Compare) -> str:
    """Emit a comparison, or a chain of them that evaluates each operand at most once."""
    left, code = node.first, emitter.emit(node.first)
    parts: list[str] = []
    for place, (op, right) in enumerate(zip(node.ops, node.operands, strict=True)):
        right_code = emitter.emit(right)
        next_code = right_code
        if place < len(node.ops) - 1 and not _is_constant(right):
            next_code = emitter.fresh()
            right_code = f"({next_code} := {right_code})"
        parts.append(_emit(emitter, op, (left, code), (right, right_code), node))
        left, code = right, next_code
    return parts[0] if len(parts) == 1 else "(" + " and ".join(parts) + ")"


def _emit(
    emitter: Emitter, op: str, left: tuple[Node, str], right: tuple[Node, str], node: Compare
) -> str:
    if op in ("is", "is not"):
        return f"({left[1]} {op} {right[1]})"
    if op in ("==", "!="):
        return _emit_equal(emitter, op, left, right, node)
    if op in _ORDER:
        return _emit_order(emitter, op, left, right, node)
    inside = _emit_in(emitter, left, right, node)
    return f"(not {inside})" if op == "not in" else inside


def _emit_equal(
    emitter: Emitter, op: str, left: tuple[Node, str], right: tuple[Node, str], node: Compare
) -> str:
    a, b = emitter.type(left[0]), emitter.type(right[0])
    if emitter.strict:
        if _equals_natively(a, b) or _equals_natively(b, a):
            return f"({left[1]} {op} {right[1]})"
        code = f"same({left[1]}, {right[1]}, {emitter.share})"
    else:
        plain = a.within(*_SCALARS) or b.within(*_SCALARS)
        if plain and not emitter.may_be_long(left[0], right[0]):
            return f"({left[1]} {op} {right[1]})"
        code = f"equal({left[1]}, {right[1]}, B, {emitter.site(node, left[0], right[0])})"
    return f"(not {code})" if op == "!=" else code


def _equals_natively(one: Type, other: Type) -> bool:
    """Whether Python's == is right for these types: it is wrong only for booleans and numbers."""
    if one.within("str", "null"):
        return True
    if one.within("int", "float"):
        return other.never("bool")
    return one.within("bool") and other.never("int", "float")


def _emit_order(
    emitter: Emitter, op: str, left: tuple[Node, str], right: tuple[Node, str], node: Compare
) -> str:
    a, b = emitter.type(left[0]), emitter.type(right[0])
    numbers = ("int", "float") if emitter.strict else ("int", "float", "bool")
    texts = a.within("str") and b.within("str") and not emitter.may_be_long(left[0], right[0])
    if texts or (a.within(*numbers) and b.within(*numbers)):
        return f"({left[1]} {op} {right[1]})"
    slow = f"{emitter.flavour}_{_ORDER[op]}"
    site = emitter.site(node, left[0], right[0])
    if not _is_number(right[0]):
        return f"{slow}({left[1]}, {right[1]}{'' if emitter.strict else ', B'}, {site})"
    # The usual case needs no call: a number that may be null, compared with a limit. Other values
    # nearly always fail, so a budget is made only for them.
    name, budget = emitter.fresh(), "" if emitter.strict else ", Budget(0)"
    test = f"({name} := {left[1]}).__class__ {_class_test(a)}"
    return f"({name} {op} {right[1]} if {test} else {slow}({name}, {right[1]}{budget}, {site}))"


def _class_test(type_: Type) -> str:
    kinds = type_.kinds & {"int", "float"}
    return f"is {min(kinds).upper()}" if len(kinds) == 1 else "in NUMBERS"


def _is_constant(node: Node) -> bool:
    items = node.items if isinstance(node, Items) else (node,)
    return all(isinstance(item, Const) for item in items)


def _is_number(node: Node) -> bool:
    return isinstance(node, Const) and node.value.__class__ in (int, float)


def _emit_in(
    emitter: Emitter, left: tuple[Node, str], right: tuple[Node, str], node: Compare
) -> str:
    items = right[0]
    if isinstance(items, Items) and items.kind != "set":
        a, b = emitter.type(left[0]), emitter.type(items).item
        if b is None:
            return f"({left[1]} in ())"
        plain = _equals_natively(b, a) if emitter.strict else a.within(*_SCALARS)
        if plain and _is_constant(items):
            inside = "".join(f"{emitter.emit(item)}, " for item in items.items)
            return f"({left[1]} in ({inside}))"
    site = emitter.site(node, left[0], right[0])
    if emitter.strict:
        return f"member({left[1]}, {right[1]}, {site}, {emitter.share})"
    return f"contains({left[1]}, {right[1]}, B, {site})"
