"""Checked tree → Python source, node by node.

An operation on values of known kinds becomes the plain Python operator. An operation that can fail
becomes a call of an operator with limits. The call has the site of the node, so that an error can
name the part and its values.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bylaw.expr.emit_compare import emit_compare
from bylaw.expr.emit_loop import emit_comprehension
from bylaw.expr.environment import Argument
from bylaw.expr.limits import MAX_INT_BITS, MAX_STEPS
from bylaw.expr.tree import (
    Attribute,
    Binary,
    Call,
    Choice,
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.expr.check import Checked
    from bylaw.expr.environment import Function
    from bylaw.expr.types import Type
    from bylaw.model.source import Span

_WORDS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder",
          "//": "floor_divide", "**": "power"}  # fmt: skip
_LENIENT_ONLY = ("//", "**")
# Integers from a host fit in this many bits: counters, clocks, lengths.
_HOST_INT_BITS = 64
# Python's own division of integers overflows above about a thousand bits.
_DIVIDE_BITS = 1_000


class Site:
    """A place that can fail: the span of the node, and those of the operands."""

    __slots__ = ("operands", "span")

    def __init__(self, span: Span, operands: tuple[Span, ...]) -> None:
        self.span = span
        self.operands = operands


class Emitter:
    """Emits Python expressions for nodes; comprehensions become local functions before them."""

    def __init__(self, checked: Checked, view: str = "v.") -> None:
        self.checked = checked
        self.view = view
        self.strict = checked.environment.strict
        self.sites: list[Site] = []
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
        self.sites.append(Site(node.span, spans))
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
