"""Check the tree of a template against an allow-list of nodes, names, filters and tests.

Also here: the tokens of a template → spans in the file of the template.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from inspect import Parameter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from jinja2 import nodes
from msgspec import Struct, field

from bylaw.expr.limits import MAX_DEPTH, MAX_INT_BITS
from bylaw.expr.template.filters import FILTERS, TESTS, arguments_of_test
from bylaw.expr.template.sandbox import LOOP_ATTRIBUTES, tokenize
from bylaw.model.codes import templates as codes
from bylaw.model.diagnostic import Diagnostic, error, warning
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from inspect import Signature

    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile

Shape: TypeAlias = "Mapping[str, Shape] | None"
Path: TypeAlias = tuple["str | int", ...]

# Tests whose operand may be missing.
MISSING_TESTS = frozenset({"defined", "undefined"})
_LOOP_SHAPE: Shape = dict.fromkeys(LOOP_ATTRIBUTES)

# The `<` of a comparison makes two levels; most tokens make one, or none.
_LEVELS_A_TOKEN = 2

# Nodes that are allowed if their children are.
_PLAIN_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If),
    *(nodes.Slice, nodes.List, nodes.Tuple, nodes.Concat, nodes.Keyword),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Compare, nodes.Operand, nodes.Neg, nodes.Pos),
    *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow),
)


def children(node: nodes.Node) -> list[nodes.Node]:
    """Return the children of a node; `iter_child_nodes` takes three times as long."""
    found: list[nodes.Node] = []
    for name in node.fields:
        part = getattr(node, name, None)
        if isinstance(part, nodes.Node):
            found.append(part)
        elif isinstance(part, list):
            found += [each for each in part if isinstance(each, nodes.Node)]
    return found


def find_too_deep(tree: nodes.Template, tokens: int) -> int | None:
    """Return the offset where a tree is too deep, or None; without recursion."""
    if tokens < MAX_DEPTH // _LEVELS_A_TOKEN:
        return None
    level: list[nodes.Node] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in children(node)]
        if not level:
            return None
    return _offset(level[0])


def _offset(node: nodes.Node) -> int:
    """Return the offset of a node; for a node that Jinja adds, that of the first node in it."""
    inside: nodes.Node | None = node
    while inside is not None and inside.lineno is None:
        inside = next(iter(children(inside)), None)
    return inside.lineno if inside else 0


def path_of(node: nodes.Node) -> Path | None:
    """Return the keys of a plain path such as `context.turn['number']`, or None."""
    keys: list[str | int] = []
    while not isinstance(node, nodes.Name):
        match node:
            case nodes.Getattr():
                keys.append(node.attr)
            case nodes.Getitem(arg=nodes.Const(value=str() | int() as key)):
                keys.append(key)
            case _:
                return None
        node = node.node
    return (node.name, *reversed(keys))


class Checker(Struct):
    """Walks a tree whose depth is bounded and collects errors and warnings."""

    text: TemplateText
    names: Mapping[str, Shape]
    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)

    def check(self, tree: nodes.Template) -> None:
        """Check a template."""
        self._visit(tree, self.names)

    def _error(self, code: Code, headline: str, span: Span, help_: str) -> None:
        self.errors.append(error(code, headline, self.text.source, span, help=help_))

    def _visit(self, node: nodes.Node, scope: Mapping[str, Shape]) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            self._report_forbidden(node)
        else:
            handler(self, node, scope)

    def children(self, node: nodes.Node, scope: Mapping[str, Shape]) -> None:
        for child in children(node):
            self._visit(child, scope)

    def _report_forbidden(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Call):
            span = self.text.call_span(_leftmost(node.node).lineno, node.lineno)
            help_ = "use a filter: `{{ value | upper }}`"
            self._error(codes.TEMPLATE_FORBIDDEN, "a template cannot call anything", span, help_)
            return
        span = self.text.token_span(_offset(node))
        headline = f"`{self.text.source.slice(span)}` is not supported in templates"
        help_ = "use values, filters, `if` and one level of `for`"
        self._error(codes.TEMPLATE_FORBIDDEN, headline, span, help_)

    def choice(self, node: nodes.CondExpr, scope: Mapping[str, Shape]) -> None:
        if node.expr2 is not None:
            self.children(node, scope)
            return
        span = self.text.tag_span(node.lineno)
        headline = "`if` inside an expression needs an `else`"
        self._error(codes.TEMPLATE_FORBIDDEN, headline, span, "add `else ''` to print nothing")

    def const(self, node: nodes.Const, _scope: Mapping[str, Shape]) -> None:
        if isinstance(node.value, int) and node.value.bit_length() > MAX_INT_BITS:
            span = self.text.token_span(node.lineno)
            help_ = f"numbers have at most {MAX_INT_BITS:,} bits"
            self._error(codes.TEMPLATE_NUMBER, "this number is too large", span, help_)

    def name(self, node: nodes.Name, scope: Mapping[str, Shape]) -> None:
        if node.name not in scope:
            span = self.text.token_span(node.lineno)
            headline = f"`{node.name}` is not a name of this template"
            help_ = did_you_mean(node.name, scope)
            self._error(codes.TEMPLATE_UNKNOWN_NAME, headline, span, help_)
        elif scope[node.name] is _LOOP_SHAPE:
            span = self.text.token_span(node.lineno)
            help_ = "use a part of it, such as `loop.index`"
            self._error(codes.TEMPLATE_FORBIDDEN, "`loop` alone is not a value", span, help_)

    def attribute(
        self, node: nodes.Getattr, scope: Mapping[str, Shape], *, may_miss: bool = False
    ) -> None:
        if not (isinstance(node.node, nodes.Name) and node.node.name in scope):
            self._visit(node.node, scope)
        if node.attr.startswith("_"):
            span = self.text.token_after(node.lineno)
            headline = f"`{node.attr}` is private and fails when it is rendered"
            note = warning(
                codes.TEMPLATE_PRIVATE, headline, self.text.source, span, help="delete it"
            )
            self.warnings.append(note)
        elif not may_miss:
            self._known(
                node.attr, _shape(node.node, scope), lambda: self.text.token_after(node.lineno)
            )

    def item(self, node: nodes.Getitem, scope: Mapping[str, Shape]) -> None:
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            at = node.arg.lineno
            self._known(node.arg.value, _shape(node.node, scope), lambda: self.text.token_span(at))
        self.children(node, scope)

    def _known(self, name: str, shape: Shape, place: Callable[[], Span]) -> None:
        if shape is not None and name not in shape:
            span = place()
            headline = f"`{name}` does not exist here and fails when it is rendered"
            help_ = did_you_mean(name, shape)
            source = self.text.source
            self.warnings.append(
                warning(codes.TEMPLATE_UNKNOWN_ATTRIBUTE, headline, source, span, help=help_)
            )

    def filter(self, node: nodes.Filter, scope: Mapping[str, Shape]) -> None:
        if node.name not in FILTERS:
            headline = f"`{node.name}` is not a filter of templates"
            span = self.text.token_span(node.lineno)
            help_ = did_you_mean(node.name, FILTERS)
            self._error(codes.TEMPLATE_UNKNOWN_FILTER, headline, span, help_)
        if node.node is None or node.dyn_args is not None or node.dyn_kwargs is not None:
            self._report_forbidden(node)
            return
        known = FILTERS.get(node.name)
        if known:
            self._arguments(node, known.arguments, lambda: self.text.token_span(node.lineno))
        self._operand(node.node, scope, may_miss=bool(known and known.takes_missing))
        for child in (*node.args, *(named.value for named in node.kwargs)):
            self._visit(child, scope)

    def test(self, node: nodes.Test, scope: Mapping[str, Shape]) -> None:
        if node.name not in TESTS:
            headline = f"`{node.name}` is not a test of templates"
            span = self.text.name_after(node.lineno, node.name)
            help_ = did_you_mean(node.name, TESTS)
            self._error(codes.TEMPLATE_UNKNOWN_TEST, headline, span, help_)
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            self._report_forbidden(node)
            return
        if node.name in TESTS:
            self._arguments(
                node,
                arguments_of_test(node.name),
                lambda: self.text.name_after(node.lineno, node.name),
            )
        self._operand(node.node, scope, may_miss=node.name in MISSING_TESTS)
        for child in (*node.args, *(named.value for named in node.kwargs)):
            self._visit(child, scope)

    def _arguments(
        self, node: nodes.Filter | nodes.Test, expected: Signature, place: Callable[[], Span]
    ) -> None:
        named = {str(each.key): None for each in node.kwargs}
        try:
            expected.bind(*node.args, **named)
        except TypeError:
            headline = f"`{node.name}` does not take these arguments"
            help_ = f"write `{node.name}{_arguments_text(expected)}`"
            self._error(codes.TEMPLATE_ARGUMENTS, headline, place(), help_)

    def _operand(self, node: nodes.Expr, scope: Mapping[str, Shape], *, may_miss: bool) -> None:
        match node:
            case nodes.Getattr() if may_miss:
                self.attribute(node, scope, may_miss=True)
            case nodes.Getitem() if may_miss:
                self._visit(node.node, scope)
                self._visit(node.arg, scope)
            case _:
                self._visit(node, scope)

    def loop(self, node: nodes.For, scope: Mapping[str, Shape]) -> None:
        keyword = self.text.token_span(node.lineno)
        if scope.get("loop") is _LOOP_SHAPE:
            help_ = "use one loop; `join` converts a list in it to a text"
            self._error(codes.TEMPLATE_LOOP, "a loop cannot be inside another loop", keyword, help_)
        if node.recursive:
            self._error(
                codes.TEMPLATE_LOOP, "a loop cannot be recursive", keyword, "write `for` alone"
            )
        if _is_list_path(node.iter):
            self._visit(node.iter, scope)
        else:
            span = self.text.to_end_of_tag(_leftmost(node.iter).lineno)
            help_ = "loop over a path such as `context.history.messages` or a slice of it"
            self._error(codes.TEMPLATE_LOOP, "a loop needs the path of a list", span, help_)
        inner: Mapping[str, Shape] = {**scope, **self._targets(node.target)}
        if node.test:
            self._visit(node.test, inner)
        for child in node.body:
            self._visit(child, {**inner, "loop": _LOOP_SHAPE})
        for child in node.else_:
            self._visit(child, scope)

    def _targets(self, target: nodes.Node) -> dict[str, Shape]:
        """Return the names of the variables of a loop."""
        names = list(_names_in(target))
        for name in names:
            if name.name == "loop":
                span = self.text.token_span(name.lineno)
                headline = "`loop` is reserved for the state of the loop"
                self._error(codes.TEMPLATE_LOOP, headline, span, "use another name")
        return dict.fromkeys(name.name for name in names)


_HANDLERS: dict[type[nodes.Node], Callable[..., None]] = {
    nodes.Name: Checker.name,
    nodes.Getattr: Checker.attribute,
    nodes.Getitem: Checker.item,
    nodes.Filter: Checker.filter,
    nodes.Test: Checker.test,
    nodes.For: Checker.loop,
    nodes.Const: Checker.const,
    nodes.CondExpr: Checker.choice,
    **dict.fromkeys(_PLAIN_NODES, Checker.children),
}


def _arguments_text(expected: Signature) -> str:
    """Return the arguments as an author writes them; an empty text if there are none."""
    shown = [
        each.name if each.default is Parameter.empty else f"{each.name}={each.default!r}"
        for each in expected.parameters.values()
    ]
    return f"({', '.join(shown)})" if shown else ""


def _names_in(target: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(target, nodes.Name):
        yield target
    yield from target.find_all(nodes.Name)


def _leftmost(node: nodes.Node) -> nodes.Node:
    """Return the node whose token comes first: the start of a chain of filters, calls and dots."""
    while isinstance(node, nodes.Getattr | nodes.Getitem | nodes.Call | nodes.Filter | nodes.Test):
        if node.node is None:
            break
        node = node.node
    return node


def _is_list_path(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        return path_of(node.node) is not None and all(map(_is_number, bounds))
    return path_of(node) is not None


def _is_number(node: nodes.Node | None) -> bool:
    inner = node.node if isinstance(node, nodes.Neg) else node
    return inner is None or isinstance(inner, nodes.Const)


def _shape(node: nodes.Node, scope: Mapping[str, Shape]) -> Shape:
    """Return the known keys below a path; None if any key is possible."""
    path = path_of(node)
    shape: Shape = scope if path else None
    for key in path or ():
        shape = shape.get(str(key)) if shape is not None else None
    return shape


_OPENS = ("variable_begin", "block_begin")
_CLOSES = ("variable_end", "block_end")
_LINE_BREAK = re.compile("\r\n?")


class _Token(NamedTuple):
    start: int
    end: int
    kind: str
    value: str


class TemplateText:
    """A template inside a file. Offsets start at its start; a line break is one character."""

    def __init__(self, source: SourceFile, span: Span) -> None:
        self.source = source
        self.span = span
        # The text for Jinja: line breaks are newlines.
        self.text = _LINE_BREAK.sub("\n", source.slice(span))

    @cached_property
    def _double_breaks(self) -> list[int]:
        found = re.finditer("\r\n", self.source.slice(self.span))
        return [each.start() - count for count, each in enumerate(found)]

    def in_file(self, start: int, end: int) -> Span:
        """Return the span in the file of a part of the template, without the blanks around it."""
        end = start + len(self.text[start:end].rstrip())
        start = end - len(self.text[start:end].lstrip())
        return Span(self._offset(start), self._offset(end))

    def _offset(self, at: int) -> int:
        at = min(at, len(self.text))
        return self.span.start + at + bisect_left(self._double_breaks, at)

    @cached_property
    def tokens(self) -> list[_Token]:
        """The tokens with their places; computed when they are first needed."""
        return [
            _Token(start, start + len(value), kind, value)
            for start, kind, value in tokenize(self.text)
        ]

    def _index(self, offset: int) -> int:
        return max(0, bisect_right(self.tokens, offset, key=lambda token: token.start) - 1)

    def token_span(self, offset: int) -> Span:
        """Return the span of the token at an offset."""
        token = self.tokens[self._index(offset)]
        return self.in_file(token.start, token.end)

    def token_after(self, offset: int) -> Span:
        """Return the span of the token after the one at an offset."""
        token = self.tokens[min(self._index(offset) + 1, len(self.tokens) - 1)]
        return self.in_file(token.start, token.end)

    def name_after(self, offset: int, name: str) -> Span:
        """Return the span of the next token with this text, at or after an offset."""
        begin = self._index(offset)
        token = next((t for t in self.tokens[begin:] if t.value == name), self.tokens[begin])
        return self.in_file(token.start, token.end)

    def call_span(self, start: int, bracket: int) -> Span:
        """Return the span from the start of the called value to the closing bracket."""
        depth = 0
        for token in self.tokens[self._index(bracket) :]:
            depth += (token.value == "(") - (token.value == ")")
            if depth == 0:
                return self.in_file(start, token.end)
        return self.in_file(start, bracket + 1)

    def tag_span(self, offset: int) -> Span:
        """Return the span of the `{{ … }}` or `{% … %}` around an offset."""
        begin = end = self._index(offset)
        while begin > 0 and self.tokens[begin].kind not in _OPENS:
            begin -= 1
        while end < len(self.tokens) - 1 and self.tokens[end].kind not in _CLOSES:
            end += 1
        return self.in_file(self.tokens[begin].start, self.tokens[end].end)

    def to_end_of_tag(self, offset: int) -> Span:
        """Return the span from an offset to the end of its tag, without the closing braces."""
        begin = end = self._index(offset)
        while end < len(self.tokens) - 1 and self.tokens[end + 1].kind not in _CLOSES:
            end += 1
        return self.in_file(self.tokens[begin].start, self.tokens[end].end)
