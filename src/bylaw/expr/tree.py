"""The expression tree: both grammars are parsed into these nodes, each with its span.

A span has offsets into the source of the expression. Comparisons ignore spans, so a tree is equal
to the tree of its printed text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Constant: TypeAlias = bool | int | float | str | None
NOWHERE = Span(0, 0)


# gc=False: nodes cannot form reference cycles.
class Node(Struct, frozen=True, eq=False, kw_only=True, gc=False):
    """Any part of an expression."""

    span: Span = NOWHERE

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _content(self) == _content(other)

    def __ne__(self, other: object) -> bool:
        return not self == other  # otherwise that of Struct would be used

    def __hash__(self) -> int:
        return hash((type(self), _content(self)))


class Const(Node, frozen=True):
    """`1`, `"text"`, `true`, `None`."""

    value: Constant


class Name(Node, frozen=True):
    """A variable."""

    id: str


class Attribute(Node, frozen=True):
    """`object.name`."""

    object: Node
    name: str
    name_span: Span = NOWHERE


class Index(Node, frozen=True):
    """`object[key]`."""

    object: Node
    key: Node


class Slice(Node, frozen=True):
    """`object[lower:upper:step]`."""

    object: Node
    lower: Node | None
    upper: Node | None
    step: Node | None


class Keyword(Node, frozen=True):
    """`name=value` in a call."""

    name: str
    value: Node


class Call(Node, frozen=True):
    """`function(args)`."""

    function: str
    args: tuple[Node, ...]
    keywords: tuple[Keyword, ...] = ()
    name_span: Span = NOWHERE


class Method(Node, frozen=True):
    """`object.name(args)`."""

    object: Node
    name: str
    args: tuple[Node, ...]
    keywords: tuple[Keyword, ...] = ()
    name_span: Span = NOWHERE


class Unary(Node, frozen=True):
    """`-x`, `+x`, `not x`."""

    op: str
    operand: Node


class Binary(Node, frozen=True):
    """Arithmetic: `+ - * / // % **`."""

    op: str
    left: Node
    right: Node


class Compare(Node, frozen=True):
    """`first op operand …`; more than one operator is a chain."""

    first: Node
    ops: tuple[str, ...]
    operands: tuple[Node, ...]


class Logic(Node, frozen=True):
    """`a and b and c`, `a or b`."""

    op: str
    operands: tuple[Node, ...]


class Choice(Node, frozen=True):
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node


class Items(Node, frozen=True):
    """A literal `list`, `tuple` or `set`."""

    kind: str
    items: tuple[Node, ...]


class Pairs(Node, frozen=True):
    """A literal map."""

    keys: tuple[Node, ...]
    values: tuple[Node, ...]


class Text(Node, frozen=True):
    """An f-string: constant texts and the values between them."""

    parts: tuple[Node, ...]


class Clause(Node, frozen=True):
    """`for names in iterable if … if …` of a comprehension."""

    names: tuple[str, ...]
    unpacks: bool
    iterable: Node
    conditions: tuple[Node, ...]


class Comprehension(Node, frozen=True):
    """A comprehension that makes a `list`, `set` or `map`; only a map has a `value`."""

    kind: str
    element: Node
    value: Node | None
    clauses: tuple[Clause, ...]


def _content(node: Any) -> tuple[object, ...]:
    """Return the fields of a node without its spans."""
    names = (name for name in node.__struct_fields__ if name not in _SPAN_FIELDS)
    return tuple(getattr(node, name) for name in names)


_SPAN_FIELDS = ("span", "name_span")
_PARTS: dict[type[Node], Callable[[Any], tuple[Node, ...]]] = {
    Const: lambda _: (),
    Name: lambda _: (),
    Attribute: lambda node: (node.object,),
    Index: lambda node: (node.object, node.key),
    Slice: lambda node: (
        node.object,
        *(bound for bound in (node.lower, node.upper, node.step) if bound is not None),
    ),
    Keyword: lambda node: (node.value,),
    Call: lambda node: (*node.args, *node.keywords),
    Method: lambda node: (node.object, *node.args, *node.keywords),
    Unary: lambda node: (node.operand,),
    Binary: lambda node: (node.left, node.right),
    Compare: lambda node: (node.first, *node.operands),
    Logic: lambda node: node.operands,
    Choice: lambda node: (node.test, node.then, node.otherwise),
    Items: lambda node: node.items,
    Pairs: lambda node: (*node.keys, *node.values),
    Text: lambda node: node.parts,
    Clause: lambda node: (node.iterable, *node.conditions),
    Comprehension: lambda node: (
        node.element,
        *(() if node.value is None else (node.value,)),
        *node.clauses,
    ),
}


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct children of a node, in the order of its fields."""
    return _PARTS[type(node)](node)


def walk(root: Node) -> Iterator[Node]:
    """Yield the root and every node below it."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def dotted(node: Node) -> str | None:
    """Return `a.b.c` if the node is a name with only attributes, else None."""
    names: list[str] = []
    while isinstance(node, Attribute):
        names.append(node.name)
        node = node.object
    if not isinstance(node, Name):
        return None
    names.append(node.id)
    return ".".join(reversed(names))
