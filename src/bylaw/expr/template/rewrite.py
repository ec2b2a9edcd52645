"""The checked tree of a template → the tree that is compiled.

Operations with limits replace those of Jinja, and a missing value can become null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from bylaw.expr.template.check import ASKING_TESTS, path_of
from bylaw.expr.template.filters import FILTERS
from bylaw.expr.template.sandbox import EACH, JOINED, OR_NULL, SANDBOX, SLICED, SOUGHT, WEIGHED

if TYPE_CHECKING:
    from collections.abc import Collection

    from bylaw.expr.template.check import Path


class _Rewriter(NodeTransformer):
    """Wraps operations in our filters, where Jinja has no limit or reports a missing value."""

    def __init__(self, null_below: Collection[Path]) -> None:
        self.null_below = null_below

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Node:  # noqa: N802 - Jinja's name
        return self._or_null(node)

    def _or_null(self, node: nodes.Getattr | nodes.Getitem) -> nodes.Node:
        may_miss = path_of(node.node) in self.null_below
        self.generic_visit(node)
        if not may_miss or (isinstance(node, nodes.Getattr) and node.attr.startswith("_")):
            return node
        key = nodes.Const(node.attr) if isinstance(node, nodes.Getattr) else node.arg
        return _filtered(node.node, OR_NULL, key)

    def visit_Filter(self, node: nodes.Filter) -> nodes.Node:  # noqa: N802 - Jinja's name
        return self._around(node, asks=FILTERS[node.name].takes_missing)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802 - Jinja's name
        return self._around(node, asks=node.name in ASKING_TESTS)

    def _around(self, node: nodes.Filter | nodes.Test, *, asks: bool) -> nodes.Node:
        """Keep a value missing for a test or filter that checks for it; for others it is null."""
        operand = node.node
        self.generic_visit(node)
        if asks and isinstance(node.node, nodes.Filter) and node.node.name == OR_NULL:
            node.node = operand
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), JOINED)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 - Jinja's name
        if not isinstance(node.arg, nodes.Slice):
            return self._or_null(node)
        self.generic_visit(node)
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        args = [bound or nodes.Const(None, lineno=node.lineno) for bound in bounds]
        return _filtered(node.node, SLICED, *args)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - Jinja's name
        every_round = [*node.body, *([node.test] if node.test else [])]
        cost = 1 + sum(1 + sum(1 for _ in part.find_all(nodes.Node)) for part in every_round)
        self.generic_visit(node)
        assert isinstance(node.iter, nodes.Expr), "the checker requires a path"
        node.iter = _filtered(node.iter, EACH, nodes.Const(cost, lineno=node.lineno))
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        is_search = any(operand.op in ("in", "notin") for operand in node.ops)
        node.expr = _filtered(node.expr, SOUGHT if is_search else WEIGHED)
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, WEIGHED)
        return node


def _filtered(node: nodes.Expr, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


def rewritten(tree: nodes.Template, null_below: Collection[Path]) -> nodes.Template:
    """Replace every operation without a limit by one with a limit, and return the template.

    A missing key directly below one of the paths `null_below` reads as null.
    """
    _Rewriter(null_below).visit(tree)
    tree.set_environment(SANDBOX)
    return tree
