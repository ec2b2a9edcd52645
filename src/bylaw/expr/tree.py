"""The one tree that both grammars are read into: sixteen kinds of node, each with its span.

Spans are offsets into the source that holds the expression and do not count in comparisons,
so a tree equals the tree of its printed text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, TypeAlias

from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

Constant: TypeAlias = bool | int | float | str | None
NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """Any part of an expression."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Const(Node):
    """`1`, `"text"`, `true`, `None`."""

    value: Constant


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A variable."""

    id: str


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`object.name`."""

    object: Node
    name: str
    name_span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`object[key]`."""

    object: Node
    key: Node


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """`object[lower:upper:step]`."""

    object: Node
    lower: Node | None
    upper: Node | None
    step: Node | None


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """`name=value` in a call."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`function(args)`."""

    function: str
    args: tuple[Node, ...]
    keywords: tuple[Keyword, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Method(Node):
    """`object.name(args)`."""

    object: Node
    name: str
    args: tuple[Node, ...]
    keywords: tuple[Keyword, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x`, `+x`, `not x`."""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic: `+ - * / // % **`."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """`first op operand …`; more than one operator is a chain."""

    first: Node
    ops: tuple[str, ...]
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`a and b and c`, `a or b`."""

    op: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Items(Node):
    """A literal `list`, `tuple` or `set`."""

    kind: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Pairs(Node):
    """A literal map."""

    keys: tuple[Node, ...]
    values: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Text(Node):
    """An f-string: constant texts and values in between."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """`for names in iterable if … if …` of a comprehension."""

    names: tuple[str, ...]
    unpacks: bool
    iterable: Node
    conditions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """A `list`, `set` or `map` made by clauses; `value` only for a map."""

    kind: str
    element: Node
    value: Node | None
    clauses: tuple[Clause, ...]


def children(node: Node) -> Iterator[Node]:
    """The direct parts of a node, in source order of its fields."""
    kind = type(node)
    names = _PARTS.get(kind)
    if names is None:
        names = _PARTS[kind] = _parts_of(kind)
    for name in names:
        part = getattr(node, name)
        if isinstance(part, Node):
            yield part
        elif isinstance(part, tuple):
            yield from (item for item in part if isinstance(item, Node))


_PARTS: dict[type[Node], tuple[str, ...]] = {}


def _parts_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields that may hold nodes."""
    # Annotations are texts here; every class of node is called Node, Keyword or Clause in them.
    words = ("Node", "Keyword", "Clause")
    return tuple(one.name for one in fields(kind) if any(word in one.type for word in words))


def walk(root: Node) -> Iterator[Node]:
    """Every node below and including the root."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def dotted(node: Node) -> str | None:
    """`a.b.c` when the node is a name with attributes only, else None."""
    names: list[str] = []
    while isinstance(node, Attribute):
        names.append(node.name)
        node = node.object
    if not isinstance(node, Name):
        return None
    names.append(node.id)
    return ".".join(reversed(names))


def depth_over(root: Node, limit: int) -> Node | None:
    """The first node that lies deeper than the limit, or None."""
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > limit:
            return node
        stack.extend((child, depth + 1) for child in children(node))
    return None
