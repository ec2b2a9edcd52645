"""The grammar of TOML conditions: Python's expression syntax, narrowed to the simpleeval profile.

Python's own reader does the reading; `_Lowering` takes over what the profile has (TR-A06) and
refuses everything else. The list below is an allow-list: a node that is not in it is refused.
"""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from bylaw.expr.guard_tokens import refuse
from bylaw.expr.limits import MAX_DEPTH, MAX_INT_BITS, MAX_SOURCE_CHARS
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
    Keyword,
    Logic,
    Method,
    Name,
    Node,
    Pairs,
    Slice,
    Text,
    Unary,
)
from bylaw.model.codes import expressions as codes
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.model.errors import LoadError

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not"}
_COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_REFUSED_WORDS = {
    ast.Lambda: "`lambda`", ast.NamedExpr: "`:=`", ast.Starred: "`*`", ast.Await: "`await`",
    ast.Yield: "`yield`", ast.YieldFrom: "`yield`",
}  # fmt: skip


def parse_condition(source: SourceFile, span: Span) -> Node:
    """Read one condition, or raise LoadError."""
    if span.end - span.start > MAX_SOURCE_CHARS:
        raise refuse(
            codes.EXPRESSION_TOO_LONG,
            f"the expression is longer than {MAX_SOURCE_CHARS} characters", source,
            Span(span.start, span.start + 1), help="split it into several rules",
        )  # fmt: skip
    text = source.slice(span)
    start = span.start + len(text) - len(text.lstrip())
    piece = SourceFile(source.path, text.strip())
    return _Lowering(source, piece, start).node(_python_tree(source, piece, start))


def _python_tree(source: SourceFile, piece: SourceFile, start: int) -> ast.expr:
    if not piece.text:
        raise refuse(codes.EXPRESSION_SYNTAX, "the expression is empty", source, Span(start, start))
    try:
        return _read(piece.text, "eval").body
    except SyntaxError as problem:
        raise _syntax_error(source, piece, start, problem) from None
    except (RecursionError, MemoryError):
        raise _too_deep(source, Span(start, start + 1)) from None
    except ValueError:  # NUL and lone surrogates: what Python's reader does not take as text
        raise _unreadable(source, piece, start) from None


def _read(text: str, mode: str) -> ast.Expression:
    with warnings.catch_warnings():
        # Python warns of `\d` and of `is` with a literal; we have diagnostics of our own.
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)  # type: ignore[return-value]  # a Module for "exec"


def _syntax_error(
    source: SourceFile, piece: SourceFile, start: int, problem: SyntaxError
) -> LoadError:
    try:
        statements = _read(piece.text, "exec").body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        statements = None
    if isinstance(statements, list) and statements:
        return _statement(source, piece, start, statements)
    last = len(piece.text) - 1
    at = start + last  # an offset of 0 means that the text ended too early
    if problem.lineno and problem.offset:
        line_start = piece.offset_of_bytes(problem.lineno, 0)
        at = start + min(line_start + problem.offset - 1, last)
    if "null byte" in str(problem.msg):
        return _unreadable(source, piece, start)
    return refuse(
        codes.EXPRESSION_SYNTAX, f"this is not an expression: {problem.msg}", source,
        Span(at, at + 1),
    )  # fmt: skip


def _statement(
    source: SourceFile, piece: SourceFile, start: int, statements: list[ast.stmt]
) -> LoadError:
    lowering = _Lowering(source, piece, start)
    if isinstance(statements[0], ast.Assign | ast.AugAssign | ast.AnnAssign):
        return refuse(
            codes.ASSIGNMENT, "this assigns a value instead of comparing", source,
            lowering.span(statements[0]), help="write `==` to compare",
        )  # fmt: skip
    if len(statements) > 1:
        return refuse(
            codes.SEVERAL_EXPRESSIONS, "a condition is one expression", source,
            lowering.span(statements[1]), note="this one would be ignored",
            help="join them with `and` or `or`",
        )  # fmt: skip
    return refuse(
        codes.UNSUPPORTED_SYNTAX, "a statement is no condition", source,
        lowering.span(statements[0]),
    )  # fmt: skip


def _unreadable(source: SourceFile, piece: SourceFile, start: int) -> LoadError:
    bad = (i for i, c in enumerate(piece.text) if c == "\0" or "\ud800" <= c <= "\udfff")
    at = start + next(bad, 0)
    headline = "this character cannot stand in an expression"
    return refuse(codes.EXPRESSION_SYNTAX, headline, source, Span(at, at + 1))


def _too_deep(source: SourceFile, span: Span) -> LoadError:
    return refuse(
        codes.EXPRESSION_TOO_DEEP, f"nested more than {MAX_DEPTH} levels deep", source, span,
        help="split it into several rules",
    )  # fmt: skip


class _Lowering:
    """Python's tree → ours, node kind by node kind."""

    def __init__(self, source: SourceFile, piece: SourceFile, start: int) -> None:
        self.source = source
        self.piece = piece
        self.start = start
        self.depth = 0
        # Positions inside an f-string are not reliable before Python 3.12: its own span is used.
        self.text_span: Span | None = None

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> Span:
        if self.text_span is not None:
            return self.text_span
        begin = self.piece.offset_of_bytes(node.lineno, node.col_offset)
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        end = self.piece.offset_of_bytes(end_line, end_column)
        return Span(self.start + begin, self.start + max(end, begin))

    def node(self, node: ast.expr) -> Node:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            word = _REFUSED_WORDS.get(type(node), "this construct")
            raise self.unsupported(f"{word} is not part of the condition language", node)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.source, self.span(node))
        lowered = handler(self, node)
        self.depth -= 1
        return lowered

    def nodes(self, nodes: Iterable[ast.expr]) -> tuple[Node, ...]:
        return tuple(self.node(node) for node in nodes)

    def maybe(self, node: ast.expr | None) -> Node | None:
        return None if node is None else self.node(node)

    def unsupported(self, headline: str, node: ast.expr, help_: str = "") -> LoadError:
        return refuse(codes.UNSUPPORTED_SYNTAX, headline, self.source, self.span(node), help=help_)

    def public(self, name: str, span: Span) -> str:
        if name.startswith("_"):
            raise refuse(
                codes.PRIVATE_NAME, f"`{name}` begins with an underscore", self.source, span,
                help="read a declared value instead",
            )  # fmt: skip
        return name

    def name_span(self, node: ast.Attribute) -> Span:
        whole = self.span(node)
        return Span(max(whole.start, whole.end - len(node.attr)), whole.end)

    def const(self, node: ast.Constant) -> Node:
        value = node.value
        if value is None or isinstance(value, bool | str):
            return Const(value, span=self.span(node))
        if not isinstance(value, int | float):
            raise self.unsupported("only numbers, texts, True, False and None are literals", node)
        too_large = value == float("inf") or (
            isinstance(value, int) and value.bit_length() > MAX_INT_BITS
        )
        if too_large:
            raise refuse(
                codes.MALFORMED_NUMBER, "this number is too large", self.source, self.span(node)
            )
        return Const(value, span=self.span(node))

    def name(self, node: ast.Name) -> Node:
        span = self.span(node)
        return Name(self.public(node.id, span), span=span)

    def attribute(self, node: ast.Attribute) -> Node:
        name_span = self.name_span(node)
        name = self.public(node.attr, name_span)
        return Attribute(self.node(node.value), name, span=self.span(node), name_span=name_span)

    def subscript(self, node: ast.Subscript) -> Node:
        object_ = self.node(node.value)
        key = node.slice
        if isinstance(key, ast.Slice):
            bounds = (self.maybe(key.lower), self.maybe(key.upper), self.maybe(key.step))
            return Slice(object_, *bounds, span=self.span(node))
        return Index(object_, self.node(key), span=self.span(node))

    def call(self, node: ast.Call) -> Node:
        span, function = self.span(node), node.func
        if isinstance(function, ast.Attribute):
            name_span = self.name_span(function)
            name = self.public(function.attr, name_span)
            object_ = self.node(function.value)
            args, keywords = self.arguments(node)
            return Method(object_, name, args, keywords, span=span, name_span=name_span)
        if not isinstance(function, ast.Name):
            raise self.unsupported("only a function or a method can be called", node)
        # A name with underscores is reported as an unknown function: that is what it is here.
        args, keywords = self.arguments(node)
        return Call(function.id, args, keywords, span=span, name_span=self.span(function))

    def arguments(self, node: ast.Call) -> tuple[tuple[Node, ...], tuple[Keyword, ...]]:
        keywords: list[Keyword] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.unsupported("`**` is not part of the condition language", keyword.value)
            value = self.node(keyword.value)
            keywords.append(Keyword(keyword.arg, value, span=self.span(keyword)))
        return self.nodes(node.args), tuple(keywords)

    def unary(self, node: ast.UnaryOp) -> Node:
        op = _UNARY.get(type(node.op))
        if op is None:
            raise self.bit_operator(node)
        return Unary(op, self.node(node.operand), span=self.span(node))

    def binary(self, node: ast.BinOp) -> Node:
        op = _BINARY.get(type(node.op))
        if op is None:
            raise self.bit_operator(node)
        return Binary(op, self.node(node.left), self.node(node.right), span=self.span(node))

    def bit_operator(self, node: ast.expr) -> LoadError:
        return refuse(
            codes.UNSUPPORTED_OPERATOR, "there are no bit or matrix operators", self.source,
            self.span(node),
        )  # fmt: skip

    def compare(self, node: ast.Compare) -> Node:
        first, operands = self.node(node.left), self.nodes(node.comparators)
        ops = tuple(_COMPARE[type(op)] for op in node.ops)
        compared = (first, *operands)
        for place, op in enumerate(ops):
            if op.startswith("is"):
                self.check_identity(compared[place], compared[place + 1], op)
        return Compare(first, ops, operands, span=self.span(node))

    def check_identity(self, left: Node, right: Node, op: str) -> None:
        for side in (left, right):
            if isinstance(side, Const) and (side.value is None or isinstance(side.value, bool)):
                return
        raise refuse(
            codes.UNCERTAIN_IDENTITY, f"`{op}` is only for None, True and False", self.source,
            left.span.to(right.span), help=f"write `{'==' if op == 'is' else '!='}`",
        )  # fmt: skip

    def logic(self, node: ast.BoolOp) -> Node:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return Logic(op, self.nodes(node.values), span=self.span(node))

    def choice(self, node: ast.IfExp) -> Node:
        parts = (self.node(node.test), self.node(node.body), self.node(node.orelse))
        return Choice(*parts, span=self.span(node))

    def items(self, node: ast.List | ast.Tuple | ast.Set) -> Node:
        return Items(type(node).__name__.lower(), self.nodes(node.elts), span=self.span(node))

    def pairs(self, node: ast.Dict) -> Node:
        keys: list[Node] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.unsupported("`**` is not part of the condition language", value)
            keys.append(self.node(key))
        return Pairs(tuple(keys), self.nodes(node.values), span=self.span(node))

    def text(self, node: ast.JoinedStr) -> Node:
        span = self.span(node)
        outer, self.text_span = self.text_span, span
        parts = self.nodes(node.values)
        self.text_span = outer
        return Text(parts, span=span)

    def formatted(self, node: ast.FormattedValue) -> Node:
        if node.format_spec is not None or node.conversion != -1:
            raise self.unsupported("f-strings have no format specs or conversions here", node)
        return self.node(node.value)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Node:
        # A generator is read as the list it makes: nothing here can tell the two apart.
        kind = "set" if isinstance(node, ast.SetComp) else "list"
        clauses = self.clauses(node.generators)
        return Comprehension(kind, self.node(node.elt), None, clauses, span=self.span(node))

    def map_comprehension(self, node: ast.DictComp) -> Node:
        clauses = self.clauses(node.generators)
        key, value = self.node(node.key), self.node(node.value)
        return Comprehension("map", key, value, clauses, span=self.span(node))

    def clauses(self, generators: list[ast.comprehension]) -> tuple[Clause, ...]:
        return tuple(self.clause(generator) for generator in generators)

    def clause(self, generator: ast.comprehension) -> Clause:
        if generator.is_async:
            raise self.unsupported("`async` is not part of the condition language", generator.iter)
        unpacks = isinstance(generator.target, ast.Tuple)
        targets = generator.target.elts if unpacks else [generator.target]  # type: ignore[attr-defined]  # checked on the line above
        names: list[str] = []
        for target in targets:
            if not isinstance(target, ast.Name):
                raise self.unsupported("a loop variable is a plain name", target)
            names.append(self.public(target.id, self.span(target)))
        iterable, conditions = self.node(generator.iter), self.nodes(generator.ifs)
        return Clause(tuple(names), unpacks, iterable, conditions, span=iterable.span)


_HANDLERS: dict[type[ast.expr], Callable[..., Node]] = {
    ast.Constant: _Lowering.const,
    ast.Name: _Lowering.name,
    ast.Attribute: _Lowering.attribute,
    ast.Subscript: _Lowering.subscript,
    ast.Call: _Lowering.call,
    ast.UnaryOp: _Lowering.unary,
    ast.BinOp: _Lowering.binary,
    ast.Compare: _Lowering.compare,
    ast.BoolOp: _Lowering.logic,
    ast.IfExp: _Lowering.choice,
    ast.List: _Lowering.items,
    ast.Tuple: _Lowering.items,
    ast.Set: _Lowering.items,
    ast.Dict: _Lowering.pairs,
    ast.JoinedStr: _Lowering.text,
    ast.FormattedValue: _Lowering.formatted,
    ast.ListComp: _Lowering.comprehension,
    ast.SetComp: _Lowering.comprehension,
    ast.GeneratorExp: _Lowering.comprehension,
    ast.DictComp: _Lowering.map_comprehension,
}
