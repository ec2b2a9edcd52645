"""Checked tree → Python source, node by node.

An operation on values of known kinds becomes the plain Python operator. An operation that can fail
becomes a call of an operator with limits. The call has the site of the node, so that an error can
name the part and its values.

Comprehensions become local functions, defined before the expression. A loop reads outer names by
closure, and each element charges the cost of the loop body.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bylaw.expr.limits import MAX_INT_BITS, MAX_STEPS
from bylaw.expr.tree import (
    Attribute,
    Binary,
    Call,
    Choice,
    Clause,
    Compare,
    Comprehension,
    Const,
    Index,
    Items,
    Logic,
    Method,
    Name,
    Node,
    Pairs,
    Slice,
    Text,
    Unary,
    dotted,
    walk,
)
from bylaw.expr.types import Argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.expr.check import CheckedTree
    from bylaw.expr.types import Function, Type
    from bylaw.model.source import Span

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


_EMPTY = {"list": "[]", "map": "{}", "set": "{*()}"}
_INDENT = "    "


def emit_comprehension(emitter: Emitter, node: Comprehension) -> str:
    """Define the loop and return the code of its call."""
    outer_scope, outer_definitions = emitter.scope, emitter.definitions
    emitter.scope, emitter.definitions = dict(outer_scope), []
    name, made = emitter.fresh(), emitter.fresh()
    lines = [f"def {name}():", f"{_INDENT}{made} = {_EMPTY[node.kind]}"]
    cost = sum(1 for _ in walk(node))
    indent = _INDENT
    for clause in node.clauses:
        lines += _emit_loop(emitter, clause, cost, indent)
        indent += _INDENT * (1 + bool(clause.conditions))
    kept = _emit_append(emitter, node, made)
    lines += [indent + line for line in (*_pop_definitions(emitter), kept)]
    lines.append(f"{_INDENT}return {made}")
    emitter.scope, emitter.definitions = outer_scope, outer_definitions
    emitter.definitions += lines
    return f"{name}()"


def _emit_loop(emitter: Emitter, clause: Clause, cost: int, indent: str) -> list[str]:
    iterable = emitter.emit(clause.iterable)
    lines = [indent + line for line in _pop_definitions(emitter)]
    site = emitter.site(clause.iterable, clause.iterable)
    names = [emitter.fresh() for _ in clause.names]
    element = emitter.fresh() if clause.unpacks else names[0]
    lines.append(f"{indent}for {element} in each({iterable}, B, {cost}, {site}):")
    inner = indent + _INDENT
    if clause.unpacks:
        targets = "".join(f"{name}, " for name in names)
        lines.append(f"{inner}{targets}= unpack({element}, {len(names)}, {site})")
    emitter.scope.update(zip(clause.names, names, strict=True))
    if clause.conditions:
        tests = " and ".join(emitter.emit(condition) for condition in clause.conditions)
        lines += [inner + line for line in _pop_definitions(emitter)]
        lines.append(f"{inner}if {tests}:")
    return lines


def _pop_definitions(emitter: Emitter) -> list[str]:
    """Remove and return the pending definitions: inner loops, to be defined inside this one."""
    taken, emitter.definitions = emitter.definitions, []
    return taken


def _emit_append(emitter: Emitter, node: Comprehension, made: str) -> str:
    element = emitter.emit(node.element)
    if node.kind == "list":
        return f"{made}.append({element})"
    element = emitter.key(node.element, element)
    if node.value is None:
        return f"{made}.add({element})"
    return f"{made}[{element}] = {emitter.emit(node.value)}"


_WORDS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder",
          "//": "floor_divide", "**": "power"}  # fmt: skip
_LENIENT_ONLY = ("//", "**")
# Integers from a host fit in this many bits: counters, clocks, lengths.
_HOST_INT_BITS = 64
# Python's own division of integers overflows above about a thousand bits.
_DIVIDE_BITS = 1_000


class FailurePlace:
    """A place that can fail: the span of the node, and those of the operands."""

    __slots__ = ("operands", "span")

    def __init__(self, span: Span, operands: tuple[Span, ...]) -> None:
        self.span = span
        self.operands = operands


class Emitter:
    """Emits Python expressions for nodes; comprehensions become local functions before them."""

    def __init__(self, checked: CheckedTree, view: str = "v.") -> None:
        self.checked = checked
        self.view = view
        self.strict = checked.environment.strict
        self.sites: list[FailurePlace] = []
        self.definitions: list[str] = []
        self.scope: dict[str, str] = {}
        self.made = 0

    @cached_property
    def share(self) -> int:
        """The steps that one comparison may take.

        A guard has no loops, so its budget is divided among its comparisons at load.
        """
        compared = sum(isinstance(node, Compare) for node in walk(self.checked.tree))
        return MAX_STEPS // max(compared, 1)

    def fresh(self) -> str:
        """Return a new local name."""
        self.made += 1
        return f"t{self.made}"

    def site(self, node: Node, *operands: Node) -> int:
        """Register a place that can fail, and return its number."""
        # All parts of an f-string have its span, so an error cannot name a part.
        nameless = any(part is not node and part.span == node.span for part in operands)
        spans = () if nameless else tuple(operand.span for operand in operands)
        self.sites.append(FailurePlace(node.span, spans))
        return len(self.sites) - 1

    def type(self, node: Node) -> Type:
        """Return the inferred type of a node."""
        return self.checked.type_of(node)

    def emit(self, node: Node) -> str:
        """Return the Python expression for a node; it needs no parentheses."""
        handler: Callable[..., str] = _HANDLERS[type(node)]
        return handler(self, node)

    def const(self, node: Const) -> str:
        negative = isinstance(node.value, float | int) and node.value < 0
        return f"({node.value!r})" if negative else repr(node.value)

    def name(self, node: Name) -> str:
        local = self.scope.get(node.id)
        return local or self.view + self.checked.environment.variables[node.id].code

    def attribute(self, node: Attribute) -> str:
        path = dotted(node)
        if path is not None and path.split(".")[0] not in self.scope:
            variable = self.checked.environment.variables.get(path)
            if variable is not None:
                return self.view + variable.code
        return self.field(node, node.object, node.name)

    def field(self, node: Node, owner: Node, name: str) -> str:
        known = self.type(owner)
        code = self.emit(owner)
        if known.fields is not None and known.within("map"):
            return f"{code}[{name!r}]"
        if known.fields is not None and known.within("map", "null"):
            return f"present({code}, {self.site(node, owner)})[{name!r}]"
        reader = "attribute_or_null" if known.missing_is_null else "attribute"
        return f"{reader}({code}, {name!r}, {self.site(node, owner)})"

    def index(self, node: Index) -> str:
        key = node.key
        if isinstance(key, Const) and isinstance(key.value, str) and self.type(node.object).fields:
            return self.field(node, node.object, key.value)
        site = self.site(node, node.object, key)
        return f"index({self.emit(node.object)}, {self.emit(key)}, B, {site})"

    def slice(self, node: Slice) -> str:
        bounds = (node.lower, node.upper, node.step)
        codes = ", ".join("None" if bound is None else self.emit(bound) for bound in bounds)
        given = [bound for bound in bounds if bound is not None]
        return f"cut({self.emit(node.object)}, {codes}, B, {self.site(node, node.object, *given)})"

    def call(self, node: Call) -> str:
        function = self.checked.environment.functions[node.function]
        args = [self.argument(arg, function, place) for place, arg in enumerate(node.args)]
        args += [Argument(f"{word.name}={self.emit(word.value)}") for word in node.keywords]
        given = (*node.args, *(word.value for word in node.keywords))
        return function.emit(args, self.site(node, *given), self.view)

    def argument(self, node: Node, function: Function, place: int) -> Argument:
        """Return an argument; for an inlined call, its code checks the kind of the value."""
        code = self.emit(node)
        literal = node.value if isinstance(node, Const) else None
        if function.inlined:
            kinds = function.parameters[place].kinds
            if not self.type(node).within(*kinds):
                code = f"has_kind({code}, {kinds!r}, {self.site(node, node)})"
            if self.may_be_long(node):
                code = f"key({code}, B, {self.site(node, node)})"
        return Argument(code, literal)

    def method(self, node: Method) -> str:
        known = self.checked.environment.methods[node.name]
        args = [Argument(self.emit(part)) for part in (node.object, *node.args)]
        if node.name == "get" and self.type(node.object).within("map"):
            owner, key, *default = (arg.code for arg in args)
            if isinstance(node.args[0], Const):  # a constant key cannot fail
                return f"{owner}.get({', '.join((key, *default))})"
        args += [Argument(f"{word.name}={self.emit(word.value)}") for word in node.keywords]
        given = (node.object, *node.args, *(word.value for word in node.keywords))
        return known.emit(args, self.site(node, *given), self.view)

    def unary(self, node: Unary) -> str:
        if node.op == "not":
            emit = self.boolean if self.strict else self.emit
            return f"(not {emit(node.operand)})"
        operand, known = self.emit(node.operand), self.type(node.operand)
        if known.within("int", "float"):
            return f"({node.op}{operand})"
        word = "positive" if node.op == "+" else f"{self.flavour}_negate"
        return f"{word}({operand}, {self.site(node, node.operand)})"

    @property
    def flavour(self) -> str:
        return "strict" if self.strict else "lenient"

    def may_be_long(self, *nodes: Node) -> bool:
        """Whether comparing these in a loop must be charged, because they may be long texts."""
        return bool(self.scope) and not any(
            isinstance(node, Const) or self.type(node).never("str") for node in nodes
        )

    def boolean(self, node: Node) -> str:
        """Return the code of an operand that must be a boolean."""
        code = self.emit(node)
        return code if self.type(node).within("bool") else f"truth({code}, {self.site(node, node)})"

    def binary(self, node: Binary) -> str:
        left, right = self.emit(node.left), self.emit(node.right)
        if self.is_safe(node):
            return f"({left} {node.op} {right})"
        site = self.site(node, node.left, node.right)
        word = _WORDS[node.op]
        name = word if node.op in _LENIENT_ONLY else f"{self.flavour}_{word}"
        budget = "" if self.strict else ", B"
        return f"{name}({left}, {right}{budget}, {site})"

    def is_safe(self, node: Binary) -> bool:
        """Whether the plain operator can neither fail nor exceed the limits."""
        sides = (self.type(node.left), self.type(node.right))
        if not all(side.within("int", "float") for side in sides) or node.op == "**":
            return False
        if node.op in ("/", "%", "//") and not _is_nonzero_number(node.right):
            return False
        if all(side.within("int") for side in sides) and node.op in ("+", "-", "*"):
            return self.bits(node) <= MAX_INT_BITS
        # Float operations + - * raise no error; an integer must be small enough for a float.
        return max(self.bits(node.left), self.bits(node.right)) <= _DIVIDE_BITS

    def bits(self, node: Node) -> int:
        """Return the maximum bits of an integer value of this node; above the limit if unknown."""
        if isinstance(node, Const) and isinstance(node.value, int):
            return node.value.bit_length()
        if self.type(node).within("float"):
            return 0
        if isinstance(node, Unary) and node.op in ("-", "+"):
            return self.bits(node.operand)
        if isinstance(node, Binary) and node.op in ("+", "-", "*", "%", "//"):
            left, right = self.bits(node.left), self.bits(node.right)
            return left + right if node.op == "*" else max(left, right) + 1
        counted = isinstance(node, Call) and node.function not in _UNBOUNDED_INT_FUNCTIONS
        return _HOST_INT_BITS if counted or self.is_from_host(node) else MAX_INT_BITS + 1

    def is_from_host(self, node: Node) -> bool:
        """Whether the value comes from the host: a declared variable, or a field of a record."""
        path = dotted(node)
        declared = path in self.checked.environment.variables
        if path is not None and declared and path.split(".")[0] not in self.scope:
            return True
        return isinstance(node, Attribute) and self.type(node.object).fields is not None

    def compare(self, node: Compare) -> str:
        return emit_compare(self, node)

    def logic(self, node: Logic) -> str:
        parts = [self.boolean(o) if self.strict else self.emit(o) for o in node.operands]
        return "(" + f" {node.op} ".join(parts) + ")"

    def choice(self, node: Choice) -> str:
        then, test, otherwise = (self.emit(n) for n in (node.then, node.test, node.otherwise))
        return f"({then} if {test} else {otherwise})"

    def items(self, node: Items) -> str:
        codes = [self.emit(item) for item in node.items]
        if node.kind == "set":
            keys = [self.key(i, c) for i, c in zip(node.items, codes, strict=True)]
            return "{" + ", ".join(keys) + "}"
        inside = "".join(f"{code}, " for code in codes)
        return f"[{inside}]" if node.kind == "list" else f"({inside})"

    def key(self, node: Node, code: str) -> str:
        scalar = self.type(node).within("null", "bool", "int", "float", "str")
        if scalar and not self.may_be_long(node):
            return code
        return f"key({code}, B, {self.site(node, node)})"

    def pairs(self, node: Pairs) -> str:
        keys = [self.key(key, self.emit(key)) for key in node.keys]
        values = [self.emit(value) for value in node.values]
        return "{" + ", ".join(f"{k}: {v}" for k, v in zip(keys, values, strict=True)) + "}"

    def text(self, node: Text) -> str:
        codes = "".join(f", {self.emit(part)}" for part in node.parts)
        return f"joined(B, {self.site(node, *node.parts)}{codes})"

    def comprehension(self, node: Comprehension) -> str:
        return emit_comprehension(self, node)


def _is_nonzero_number(node: Node) -> bool:
    return isinstance(node, Const) and isinstance(node.value, int | float) and node.value != 0


_UNBOUNDED_INT_FUNCTIONS = frozenset({"int", "sum", "abs", "round", "min", "max"})
_HANDLERS: dict[type[Node], Callable[..., str]] = {
    Const: Emitter.const,
    Name: Emitter.name,
    Attribute: Emitter.attribute,
    Index: Emitter.index,
    Slice: Emitter.slice,
    Call: Emitter.call,
    Method: Emitter.method,
    Unary: Emitter.unary,
    Binary: Emitter.binary,
    Compare: Emitter.compare,
    Logic: Emitter.logic,
    Choice: Emitter.choice,
    Items: Emitter.items,
    Pairs: Emitter.pairs,
    Text: Emitter.text,
    Comprehension: Emitter.comprehension,
}
