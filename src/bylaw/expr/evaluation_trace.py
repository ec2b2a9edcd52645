"""An expression and a view → the values of its parts in one evaluation.

The expression is compiled again, with code that records the value of each part. A part that short
circuit skips has no value, and a part that fails has an error. Parts inside a loop have many
values, so they are left out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bylaw.expr.compile import compile_checked
from bylaw.expr.emit import Emitter
from bylaw.expr.limits import Fault, OverBudget
from bylaw.expr.tree import Attribute, Const, Index, Items, Pairs, Slice, Unary, children, dotted
from bylaw.model.errors import GuardError

if TYPE_CHECKING:
    from bylaw.expr.check import CheckedTree
    from bylaw.expr.expression import Expression
    from bylaw.expr.tree import Node
    from bylaw.expr.views import ExpressionGuard
    from bylaw.model.rule import View
    from bylaw.model.source import SourceFile, Span

# More is not readable, and each level uses one of the parentheses that Python can nest.
MAX_PARTS = 200
MAX_DEPTH = 12

_RECORD_NAME = "told"


class State(StrEnum):
    """The result of a part."""

    VALUE = "value"
    FAILED = "failed"
    NOT_EVALUATED = "not evaluated"


class Part(Struct, frozen=True):
    """A part of an expression: its place in the source, and its value or error."""

    span: Span
    text: str
    state: State
    value: Any = None
    error: str = ""
    parts: tuple[Part, ...] = ()


class ExpressionTrace(Struct, frozen=True):
    """An expression with the values of its parts; `error` says why it has no value."""

    source: SourceFile
    span: Span
    part: Part
    error: str = ""


def explain_guard(guard: ExpressionGuard, view: View) -> ExpressionTrace:
    """Return the parts of a rule's guard for an event."""
    return explain(guard.expression, guard.reader.read(view, guard.fields))


def explain(expression: Expression, view: object) -> ExpressionTrace:
    """Return the parts of a guard expression for a view; its value must be true or false."""
    emitter = _TraceEmitter(expression.checked)
    compiled = compile_checked(expression.checked, emitter, {_RECORD_NAME: emitter.tell})
    failed_at: Span | None = None
    try:
        compiled.function(view)
    except Fault as fault:
        failed_at = compiled.sites[fault.site].span
    except OverBudget:
        failed_at = expression.tree.span
    error = _error_text(expression, view)
    tree = _PartBuilder(expression.checked.source, emitter.values, failed_at, error)
    return ExpressionTrace(
        expression.checked.source, expression.span, tree.part(emitter.root), error
    )


def _error_text(expression: Expression, view: object) -> str:
    try:
        expression.test(view)
    except GuardError as problem:
        return problem.message
    return ""


class _TracedNode(Struct):
    """A node whose value is recorded, and those below it."""

    node: Node
    number: int
    below: dict[int, _TracedNode] = field(default_factory=dict)


class _TraceEmitter(Emitter):
    """Emits code that records the value of each part."""

    def __init__(self, checked: CheckedTree) -> None:
        super().__init__(checked)
        self.values: dict[int, Any] = {}
        self.root = _TracedNode(checked.tree, 0)
        self._path = [self.root]
        self._count = 0

    def emit(self, node: Node) -> str:
        """Return the code of a node inside a call that records its value."""
        if node is self.root.node:
            return f"{_RECORD_NAME}(0, {super().emit(node)})"
        if self._is_left_out(node):
            return super().emit(node)
        # A node may be emitted twice, with only one of the codes used.
        below = self._path[-1].below
        told = below.get(id(node)) or self._new(node)
        below[id(node)] = told
        self._path.append(told)
        code = super().emit(node)
        self._path.pop()
        return f"{_RECORD_NAME}({told.number}, {code})"

    def tell(self, number: int, value: Any) -> Any:
        """Record a value; called by the compiled code."""
        self.values[number] = value
        return value

    def _new(self, node: Node) -> _TracedNode:
        self._count += 1
        return _TracedNode(node, self._count)

    def _is_left_out(self, node: Node) -> bool:
        """Whether a node is not recorded: a constant, inside a loop, too many or too deep."""
        if self.scope or self._count >= MAX_PARTS or _is_constant(node):
            return True
        # Below the depth limit, record the variables that are read, but not each link of a path.
        beginning = dotted(self._path[-1].node) is not None
        return len(self._path) >= MAX_DEPTH and (beginning or dotted(node) is None)


def _is_constant(node: Node) -> bool:
    if isinstance(node, Items | Pairs | Unary):
        return all(map(_is_constant, children(node)))
    return isinstance(node, Const)


class _PartBuilder(Struct, frozen=True):
    """Converts the recorded values to parts."""

    source: SourceFile
    values: dict[int, Any]
    failed_at: Span | None
    error: str

    def part(self, told: _TracedNode) -> Part:
        state = self._state(told)
        here = self.failed_at == told.node.span
        return Part(
            told.node.span,
            self.source.slice(told.node.span),
            state,
            self.values.get(told.number),
            self.error if here and not self._fails_below(told) else "",
            tuple(self.part(one) for one in self._shown(told)),
        )

    def _state(self, told: _TracedNode) -> State:
        if told.number in self.values:
            return State.VALUE
        failed = self.failed_at is not None and _contains_span(told.node.span, self.failed_at)
        return State.FAILED if failed else State.NOT_EVALUATED

    def _fails_below(self, told: _TracedNode) -> bool:
        return any(one.node.span == self.failed_at for one in told.below.values())

    def _shown(self, told: _TracedNode) -> list[_TracedNode]:
        """Return the parts below, without the beginnings of a path that was read."""
        state = self._state(told)
        if state is State.NOT_EVALUATED:
            return []
        if state is State.VALUE and isinstance(told.node, Attribute | Index | Slice):
            return [
                deeper
                for one in told.below.values()
                for deeper in (self._shown(one) if one.node is told.node.object else [one])
            ]
        return list(told.below.values())


def _contains_span(span: Span, other: Span) -> bool:
    return span.start <= other.start and other.end <= span.end
