"""Tree → checked tree: check names, arguments and literals, and infer the type of every node.

A wrong name or number of arguments is an error. A certain type error is only a warning, because
the language defines what happens if a guard fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr import check_calls
from bylaw.expr.limits import MAX_DEPTH, MAX_LOOPS, MAX_NODES
from bylaw.expr.operator_types import binary_type, comparable, unary_type
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
    children,
    dotted,
)
from bylaw.expr.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    TEXT,
    Type,
    either,
    in_words,
    kind_type,
    optional,
)
from bylaw.model.codes import expressions as codes
from bylaw.model.diagnostic import Diagnostic, Severity, error, warning
from bylaw.model.errors import LoadError, load_error
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.expr.environment import Environment
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile, Span

_SPLIT = "split it into several rules"


class Checked(Struct, frozen=True):
    """A tree that can be compiled: every name is known, and every node has a type."""

    source: SourceFile
    tree: Node
    environment: Environment
    types: dict[int, Type]  # by `id` of the node; the tree keeps its nodes alive
    warnings: list[Diagnostic]
    size: int  # in nodes

    def type_of(self, node: Node) -> Type:
        """Return the inferred type of a node."""
        return self.types[id(node)]


def check(source: SourceFile, tree: Node, environment: Environment) -> Checked:
    """Check a tree; raise LoadError with all its errors."""
    nodes = _all_nodes(source, tree)
    checker = Checker(source, environment)
    checker.infer(tree)
    check_calls.check_time(checker, nodes)
    errors = [d for d in checker.found if d.severity is Severity.ERROR]
    if errors:
        raise LoadError(errors)
    return Checked(source, tree, environment, checker.types, checker.found, len(nodes))


def _all_nodes(source: SourceFile, tree: Node) -> list[Node]:
    """Return all nodes level by level; raise LoadError if the tree is too deep or too large."""
    nodes: list[Node] = []
    level = [tree]
    for _ in range(MAX_DEPTH):
        nodes += level
        level = [child for node in level for child in children(node)]
        if not level:
            break
    else:
        headline = f"nested more than {MAX_DEPTH:,} levels deep"
        raise load_error(codes.EXPRESSION_TOO_DEEP, headline, source, level[-1].span, help=_SPLIT)
    if len(nodes) > MAX_NODES:
        headline = f"the expression has more than {MAX_NODES:,} parts"
        raise load_error(codes.EXPRESSION_TOO_LONG, headline, source, tree.span, help=_SPLIT)
    return nodes


class Checker:
    """Infers types and collects findings in one walk over a tree."""

    def __init__(self, source: SourceFile, environment: Environment) -> None:
        self.source = source
        self.environment = environment
        self.types: dict[int, Type] = {}
        self.found: list[Diagnostic] = []
        self.scope: dict[str, Type] = {}
        self.loops = 0

    def infer(self, node: Node) -> Type:
        """Check a node and everything below it, and return its type."""
        handler: Callable[..., Type] = _HANDLERS[type(node)]
        found = handler(self, node)
        self.types[id(node)] = found
        return found

    def error(self, code: Code, headline: str, span: Span, help_: str = "", note: str = "") -> None:
        """Record an error."""
        self.found.append(error(code, headline, self.source, span, help=help_, note=note))

    def doubt(self, headline: str, span: Span, help_: str = "") -> None:
        """Record a warning about an operation that fails whenever it is evaluated."""
        note = "this fails for every event"
        self.found.append(
            warning(codes.CERTAIN_TYPE_ERROR, headline, self.source, span, note=note, help=help_)
        )

    def join(self, nodes: Iterable[Node]) -> Type | None:
        joined: Type | None = None
        for node in nodes:
            found = self.infer(node)
            joined = found if joined is None else either(joined, found)
        return joined

    def const(self, node: Const) -> Type:
        return _CONST_TYPES[type(node.value)]

    def name(self, node: Name) -> Type:
        if node.id in self.scope:
            return self.scope[node.id]
        variable = self.environment.variables.get(node.id)
        if variable is not None:
            return variable.type
        self.unknown_name(node)
        return ANY

    def unknown_name(self, node: Name) -> None:
        below = self.environment.starts(node.id)
        if below:
            known = ", ".join(f"`{name}`" for name in below)
            headline = f"`{node.id}` is not a value by itself"
            self.error(codes.UNKNOWN_NAME, headline, node.span, f"read one of {known}")
            return
        if node.id in self.environment.functions:
            headline = f"`{node.id}` is a function"
            self.error(codes.UNKNOWN_NAME, headline, node.span, f"call it: `{node.id}(…)`")
            return
        known_names = {name.split(".")[0] for name in self.environment.variables}
        help_ = self.environment.spellings.get(node.id) or did_you_mean(
            node.id, {*known_names, *self.scope}
        )
        self.error(codes.UNKNOWN_NAME, f"`{node.id}` is not a known name", node.span, help_)

    def attribute(self, node: Attribute) -> Type:
        path = dotted(node)
        if path is not None and path.split(".")[0] not in self.scope:
            variable = self.environment.variables.get(path)
            if variable is not None:
                return variable.type
            root = path.split(".")[0]
            if root not in self.environment.variables and self.environment.starts(root):
                self.unknown_dotted(node, path)
                return ANY
        owner = self.infer(node.object)
        return self.field(owner, node.name, node.name_span, node)

    def unknown_dotted(self, node: Attribute, path: str) -> None:
        known = self.environment.starts(path.split(".", maxsplit=1)[0])
        help_ = did_you_mean(path, known)
        self.error(codes.UNKNOWN_ATTRIBUTE, f"unknown attribute `{path}`", node.span, help_)

    def field(self, owner: Type, name: str, span: Span, node: Node) -> Type:
        """Return the type of a named part of a map."""
        if owner.never("map"):
            self.doubt(f"{in_words(owner.kinds)} has no `{name}`", node.span)
            return ANY
        if owner.fields is not None:
            if name in owner.fields:
                return owner.fields[name]
            help_ = did_you_mean(name, owner.fields)
            self.error(codes.UNKNOWN_ATTRIBUTE, f"unknown attribute `{name}`", span, help_)
            return ANY
        if name in self.environment.methods and isinstance(node, Attribute):
            self.key_like_method(name, span)
        inside = owner.item or ANY
        return optional(inside) if owner.missing_is_null else inside

    def key_like_method(self, name: str, span: Span) -> None:
        self.found.append(
            warning(
                codes.KEY_LIKE_METHOD,
                f"`{name}` is read as a key here",
                self.source,
                span,
                help=f"write `.{name}()` for the method, or `['{name}']` for the key",
            )
        )

    def index(self, node: Index) -> Type:
        owner, key = self.infer(node.object), self.infer(node.key)
        if owner.never("map", "list", "tuple", "str"):
            self.doubt(f"{in_words(owner.kinds)} cannot be indexed", node.span)
            return ANY
        if isinstance(node.key, Const) and isinstance(node.key.value, str):
            if owner.fields is not None:
                return self.field(owner, node.key.value, node.key.span, node)
            if owner.never("map"):
                self.doubt("an index must be a whole number", node.span)
        if owner.within("str"):
            return TEXT
        # In a union of kinds, `item` describes only one kind; the others are unknown.
        inside = owner.item if owner.within("list", "tuple") and key.within("int") else None
        return inside or ANY

    def slice(self, node: Slice) -> Type:
        owner = self.infer(node.object)
        for bound in (node.lower, node.upper, node.step):
            if bound is not None:
                self.infer(bound)
        kinds = owner.kinds & {"str", "list", "tuple"}
        if not kinds:
            self.doubt("only a text or list can be sliced", node.span)
        return Type(kinds or ANY.kinds, owner.item)

    def call(self, node: Call) -> Type:
        return check_calls.call_type(self, node)

    def method(self, node: Method) -> Type:
        return check_calls.method_type(self, node)

    def unary(self, node: Unary) -> Type:
        operand = self.infer(node.operand)
        found = unary_type(node.op, operand, strict=self.environment.strict)
        if found is None:
            needed = "a boolean" if node.op == "not" else "a number"
            self.doubt(f"`{node.op}` needs {needed}", node.span)
            return ANY
        return found

    def binary(self, node: Binary) -> Type:
        left, right = self.infer(node.left), self.infer(node.right)
        found = binary_type(node.op, left, right, strict=self.environment.strict)
        if found is None:
            self.doubt(f"`{node.op}` is not defined for these values", node.span)
            return ANY
        return found

    def compare(self, node: Compare) -> Type:
        sides = [node.first, *node.operands]
        types = [self.infer(side) for side in sides]
        for place, op in enumerate(node.ops):
            if not comparable(op, types[place], types[place + 1], strict=self.environment.strict):
                span = sides[place].span.to(sides[place + 1].span)
                self.doubt(f"`{op}` is not defined for these values", span)
        return BOOL

    def logic(self, node: Logic) -> Type:
        types = [self.infer(operand) for operand in node.operands]
        if not self.environment.strict:
            joined = types[0]
            for found in types[1:]:
                joined = either(joined, found)
            return joined
        for operand, found in zip(node.operands, types, strict=True):
            if found.never("bool"):
                self.doubt(f"`{node.op}` needs booleans", operand.span, "compare it first")
        return BOOL

    def choice(self, node: Choice) -> Type:
        self.infer(node.test)
        return either(self.infer(node.then), self.infer(node.otherwise))

    def items(self, node: Items) -> Type:
        return Type(frozenset({node.kind}), self.join(node.items))

    def pairs(self, node: Pairs) -> Type:
        self.join(node.keys)
        return Type(frozenset({"map"}), self.join(node.values))

    def text(self, node: Text) -> Type:
        self.join(node.parts)
        return TEXT

    def comprehension(self, node: Comprehension) -> Type:
        outer = self.scope
        self.scope = dict(outer)
        self.loops += len(node.clauses)
        if self.loops > MAX_LOOPS:
            headline = f"more than {MAX_LOOPS:,} loops inside each other"
            self.error(codes.EXPRESSION_TOO_DEEP, headline, node.span, _SPLIT)
        for clause in node.clauses:
            self.clause(clause)
        element = self.infer(node.element)
        value = element if node.value is None else self.infer(node.value)
        self.scope = outer
        self.loops -= len(node.clauses)
        return Type(frozenset({node.kind}), value)

    def clause(self, node: Clause) -> Type:
        iterable = self.infer(node.iterable)
        if iterable.never("list", "tuple", "set", "map", "str"):
            self.doubt("this has no elements", node.iterable.span)
        for name in node.names:
            self.scope[name] = ANY if node.unpacks else _element(iterable)
        for condition in node.conditions:
            self.infer(condition)
        self.types[id(node)] = ANY
        return ANY


def _element(iterable: Type) -> Type:
    if iterable.within("str"):
        return TEXT
    # A loop over a map gives its keys, so `item` is used only for lists, tuples and sets.
    return (iterable.item or ANY) if iterable.within("list", "tuple", "set") else ANY


_CONST_TYPES = {
    type(None): kind_type("null"),
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: TEXT,
}
_HANDLERS: dict[type[Node], Callable[..., Type]] = {
    Const: Checker.const,
    Name: Checker.name,
    Attribute: Checker.attribute,
    Index: Checker.index,
    Slice: Checker.slice,
    Call: Checker.call,
    Method: Checker.method,
    Unary: Checker.unary,
    Binary: Checker.binary,
    Compare: Checker.compare,
    Logic: Checker.logic,
    Choice: Checker.choice,
    Items: Checker.items,
    Pairs: Checker.pairs,
    Text: Checker.text,
    Comprehension: Checker.comprehension,
}
