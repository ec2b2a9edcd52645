"""The grammar of TOML conditions: Python's expression syntax, narrowed to the simpleeval profile.

Python's own parser reads the text. Its syntax errors become our messages here. An allow-list of
nodes converts Python's tree to our tree (TR-A06). A node that is not in `_HANDLERS` is rejected,
including nodes that a future Python adds.
"""

from __future__ import annotations

import ast
import re
import warnings
from itertools import groupby
from typing import TYPE_CHECKING

from bylaw.expr.limits import MAX_DEPTH, MAX_INT_BITS, check_length
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
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
# A lone surrogate: no text from outside has one, and a text with one cannot be encoded.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not"}
_COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_REJECTED_NODES = {
    ast.Lambda: "`lambda`", ast.NamedExpr: "`:=`", ast.Starred: "`*`", ast.Await: "`await`",
    ast.Yield: "`yield`", ast.YieldFrom: "`yield`",
}  # fmt: skip


def depth_error(source: SourceFile, span: Span) -> LoadError:
    """Return the error for an expression that is nested too deeply."""
    return load_error(
        codes.EXPRESSION_TOO_DEEP, f"nested more than {MAX_DEPTH:,} levels deep", source, span,
        help="split it into several rules",
    )  # fmt: skip


class PythonTreeReader:
    """Converts Python's tree to our tree, with one method for each kind of node."""

    def __init__(self, source: SourceFile, piece: SourceFile, start: int) -> None:
        self.source = source
        self.piece = piece
        self.start = start
        self.depth = 0
        # Positions inside an f-string are wrong before Python 3.12, so its parts get its span.
        self.text_span: Span | None = None
        # True for most expressions: then a column in bytes is also an offset in characters.
        self.plain = "\n" not in piece.text and piece.text.isascii()

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> Span:
        """Return the span of a node in the source."""
        if self.text_span is not None:
            return self.text_span
        if self.plain:
            end_offset = node.end_col_offset or 0
            return Span(self.start + node.col_offset, self.start + end_offset)
        begin = self.piece.offset_of_bytes(node.lineno, node.col_offset)
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        end = self.piece.offset_of_bytes(end_line, end_column)
        return Span(self.start + begin, self.start + max(end, begin))

    def node(self, node: ast.expr) -> Node:
        """Convert a node to our tree, or raise LoadError."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            word = _REJECTED_NODES.get(type(node), "this construct")
            raise self.unsupported_error(f"{word} is not part of the condition language", node)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise depth_error(self.source, self.span(node))
        lowered = handler(self, node)
        self.depth -= 1
        return lowered

    def nodes(self, nodes: Iterable[ast.expr]) -> tuple[Node, ...]:
        return tuple(map(self.node, nodes))

    def optional_node(self, node: ast.expr | None) -> Node | None:
        return None if node is None else self.node(node)

    def unsupported_error(self, headline: str, node: ast.expr, help_: str = "") -> LoadError:
        return load_error(
            codes.UNSUPPORTED_SYNTAX, headline, self.source, self.span(node), help=help_
        )

    def check_public(self, name: str, span: Span) -> str:
        if name.startswith("_"):
            raise load_error(
                codes.PRIVATE_NAME, f"`{name}` begins with an underscore", self.source, span,
                help="read a declared value instead",
            )  # fmt: skip
        return name

    def attribute_name(self, node: ast.Attribute, whole: Span) -> tuple[str, Span]:
        """Return the name after the dot, and its span."""
        span = Span(max(whole.start, whole.end - len(node.attr)), whole.end)
        return self.check_public(node.attr, span), span

    def const(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, str) and _HALF_CHARACTER.search(value):
            raise load_error(
                codes.EXPRESSION_SYNTAX, "this text has half a character", self.source,
                self.span(node), help="write the character itself",
            )  # fmt: skip
        if value is None or isinstance(value, bool | str):
            return Const(value, span=self.span(node))
        if not isinstance(value, int | float):
            raise self.unsupported_error(
                "only numbers, texts, True, False and None are literals", node
            )
        too_large = value == float("inf") or (
            isinstance(value, int) and value.bit_length() > MAX_INT_BITS
        )
        if too_large:
            raise load_error(
                codes.MALFORMED_NUMBER, "this number is too large", self.source, self.span(node)
            )
        return Const(value, span=self.span(node))

    def name(self, node: ast.Name) -> Node:
        span = self.span(node)
        return Name(self.check_public(node.id, span), span=span)

    def attribute(self, node: ast.Attribute) -> Node:
        span = self.span(node)
        name, name_span = self.attribute_name(node, span)
        return Attribute(self.node(node.value), name, span=span, name_span=name_span)

    def subscript(self, node: ast.Subscript) -> Node:
        object_ = self.node(node.value)
        key = node.slice
        if isinstance(key, ast.Slice):
            bounds = (
                self.optional_node(key.lower),
                self.optional_node(key.upper),
                self.optional_node(key.step),
            )
            return Slice(object_, *bounds, span=self.span(node))
        return Index(object_, self.node(key), span=self.span(node))

    def call(self, node: ast.Call) -> Node:
        span, function = self.span(node), node.func
        if isinstance(function, ast.Attribute):
            name, name_span = self.attribute_name(function, self.span(function))
            object_ = self.node(function.value)
            args, keywords = self.arguments(node)
            return Method(object_, name, args, keywords, span=span, name_span=name_span)
        if not isinstance(function, ast.Name):
            raise self.unsupported_error("only a function or a method can be called", node)
        # No check for an underscore: the checker reports such a name as an unknown function.
        args, keywords = self.arguments(node)
        return Call(function.id, args, keywords, span=span, name_span=self.span(function))

    def arguments(self, node: ast.Call) -> tuple[tuple[Node, ...], tuple[Keyword, ...]]:
        keywords: list[Keyword] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.unsupported_error(
                    "`**` is not part of the condition language", keyword.value
                )
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
        return load_error(
            codes.UNSUPPORTED_OPERATOR, "bit and matrix operators are not supported", self.source,
            self.span(node),
        )  # fmt: skip

    def compare(self, node: ast.Compare) -> Node:
        first, operands = self.node(node.left), self.nodes(node.comparators)
        ops = tuple([_COMPARE[type(op)] for op in node.ops])
        compared = (first, *operands)
        for place, op in enumerate(ops):
            if op.startswith("is"):
                self.check_identity(compared[place], compared[place + 1], op)
        return Compare(first, ops, operands, span=self.span(node))

    def check_identity(self, left: Node, right: Node, op: str) -> None:
        for side in (left, right):
            if isinstance(side, Const) and (side.value is None or isinstance(side.value, bool)):
                return
        raise load_error(
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
                raise self.unsupported_error("`**` is not part of the condition language", value)
            keys.append(self.node(key))
        return Pairs(tuple(keys), self.nodes(node.values), span=self.span(node))

    def text(self, node: ast.JoinedStr) -> Node:
        span = self.span(node)
        outer, self.text_span = self.text_span, span
        parts = self.nodes(node.values)
        self.text_span = outer
        return Text(tuple(_merge_texts(parts, span)), span=span)

    def formatted_value(self, node: ast.FormattedValue) -> Node:
        if node.format_spec is not None or node.conversion != -1:
            raise self.unsupported_error("f-strings cannot have format specs or conversions", node)
        return self.node(node.value)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Node:
        # A generator becomes a list: no condition can tell the two apart.
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
            raise self.unsupported_error(
                "`async` is not part of the condition language", generator.iter
            )
        unpacks = isinstance(generator.target, ast.Tuple)
        targets = generator.target.elts if unpacks else [generator.target]  # type: ignore[attr-defined]  # checked on the line above
        names: list[str] = []
        for target in targets:
            if not isinstance(target, ast.Name):
                raise self.unsupported_error("a loop variable must be a plain name", target)
            names.append(self.check_public(target.id, self.span(target)))
        iterable, conditions = self.node(generator.iter), self.nodes(generator.ifs)
        return Clause(tuple(names), unpacks, iterable, conditions, span=iterable.span)


def _merge_texts(parts: Iterable[Node], span: Span) -> Iterator[Node]:
    """Merge neighbouring constant texts of an f-string: `{'a'}b` becomes `ab`."""
    for is_text, few in groupby(parts, _is_text):
        if not is_text:
            yield from few
        elif text := "".join(str(one.value) for one in few if isinstance(one, Const)):
            yield Const(text, span=span)


def _is_text(node: Node) -> bool:
    return isinstance(node, Const) and isinstance(node.value, str)


_HANDLERS: dict[type[ast.expr], Callable[..., Node]] = {
    ast.Constant: PythonTreeReader.const,
    ast.Name: PythonTreeReader.name,
    ast.Attribute: PythonTreeReader.attribute,
    ast.Subscript: PythonTreeReader.subscript,
    ast.Call: PythonTreeReader.call,
    ast.UnaryOp: PythonTreeReader.unary,
    ast.BinOp: PythonTreeReader.binary,
    ast.Compare: PythonTreeReader.compare,
    ast.BoolOp: PythonTreeReader.logic,
    ast.IfExp: PythonTreeReader.choice,
    ast.List: PythonTreeReader.items,
    ast.Tuple: PythonTreeReader.items,
    ast.Set: PythonTreeReader.items,
    ast.Dict: PythonTreeReader.pairs,
    ast.JoinedStr: PythonTreeReader.text,
    ast.FormattedValue: PythonTreeReader.formatted_value,
    ast.ListComp: PythonTreeReader.comprehension,
    ast.SetComp: PythonTreeReader.comprehension,
    ast.GeneratorExp: PythonTreeReader.comprehension,
    ast.DictComp: PythonTreeReader.map_comprehension,
}


# Python's messages differ between versions; these parts have been the same for a long time.
_MESSAGES = [
    ("was never closed", "this bracket is never closed"),
    ("unmatched", "this bracket was never opened"),
    ("does not match opening", "this bracket closes another kind of bracket"),
    ("unterminated", "this text has no closing quote"),
    ("forgot a comma", "a comma or an operator is missing here"),
    ("leading zeros", "a number cannot have leading zeros"),
]
_DEFAULT_MESSAGE = "this is not an expression"
# Operators of other languages.
_OPERATOR_HELP = {"&&": "write `and`", "||": "write `or`", "===": "write `==`", "!": "write `not`"}
_LINES_HELP = "put brackets around an expression of several lines"
# Python's parser warns about escapes and about a number next to a word: `'\d'`, `1or 2`.
_MAY_WARN = re.compile(r"\\|\d\.?[A-Za-z_]")
_NESTED_BRACKETS = "too many nested"
_LONG_NUMBER = "Exceeds the limit"


def parse_condition(source: SourceFile, span: Span) -> Node:
    """Parse one condition, or raise LoadError."""
    check_length(source, span)
    text = source.slice(span)
    start = span.start + len(text) - len(text.lstrip())
    piece = SourceFile(source.path, text.strip())
    return PythonTreeReader(source, piece, start).node(_python_tree(source, piece, start))


def _python_tree(source: SourceFile, piece: SourceFile, start: int) -> ast.expr:
    if not piece.text:
        raise load_error(
            codes.EXPRESSION_SYNTAX, "the expression is empty", source, Span(start, start)
        )
    try:
        return _parse(piece.text).body
    except SyntaxError as problem:
        raise _syntax_error(source, piece, start, problem) from None
    except (RecursionError, MemoryError):
        raise depth_error(source, Span(start, start + 1)) from None
    except ValueError:  # Python's parser rejects NUL and lone surrogates
        raise _character_error(source, piece, start) from None


def _parse(text: str) -> ast.Expression:
    if not _MAY_WARN.search(text):
        return ast.parse(text, mode="eval")
    with warnings.catch_warnings():  # affects the whole process, so only if needed
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval")


def _statements(text: str) -> list[ast.stmt]:
    """Parse a text as Python statements; return an empty list if that fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return []


def _syntax_error(
    source: SourceFile, piece: SourceFile, start: int, problem: SyntaxError
) -> LoadError:
    if statements := _statements(piece.text):
        return _statement_error(source, piece, start, statements)
    last = len(piece.text) - 1
    at = start + last  # an offset of 0 means that the text ended too early
    if problem.lineno and problem.offset:
        line_start = piece.offset_of_bytes(problem.lineno, 0)
        at = start + min(line_start + problem.offset - 1, last)
    message = str(problem.msg)
    if "null byte" in message:
        return _character_error(source, piece, start)
    if _NESTED_BRACKETS in message:
        return depth_error(source, Span(at, at + 1))
    if _LONG_NUMBER in message:
        return load_error(
            codes.MALFORMED_NUMBER, "a number is too large", source, Span(start, start + last + 1)
        )
    headline = next((ours for theirs, ours in _MESSAGES if theirs in message), _DEFAULT_MESSAGE)
    help_ = _syntax_help(piece.text, at - start) if headline == _DEFAULT_MESSAGE else ""
    return load_error(codes.EXPRESSION_SYNTAX, headline, source, Span(at, at + 1), help=help_)


def _syntax_help(text: str, at: int) -> str:
    near = text[max(at - 2, 0) : at + 2].replace("!=", "")
    written = next((ours for theirs, ours in _OPERATOR_HELP.items() if theirs in near), "")
    return written or (_LINES_HELP if "\n" in text[:at] else "")


def _statement_error(
    source: SourceFile, piece: SourceFile, start: int, statements: list[ast.stmt]
) -> LoadError:
    lowering = PythonTreeReader(source, piece, start)
    if isinstance(statements[0], ast.Assign | ast.AugAssign | ast.AnnAssign):
        return load_error(
            codes.ASSIGNMENT, "this assigns a value instead of comparing", source,
            lowering.span(statements[0]), help="write `==` to compare",
        )  # fmt: skip
    if len(statements) > 1:
        return load_error(
            codes.SEVERAL_EXPRESSIONS, "a condition is one expression", source,
            lowering.span(statements[1]), note="this one would be ignored",
            help="join them with `and` or `or`",
        )  # fmt: skip
    return load_error(
        codes.UNSUPPORTED_SYNTAX, "a statement is not a condition", source,
        lowering.span(statements[0]),
    )  # fmt: skip


def _character_error(source: SourceFile, piece: SourceFile, start: int) -> LoadError:
    bad = (i for i, c in enumerate(piece.text) if c == "\0" or "\ud800" <= c <= "\udfff")
    at = start + next(bad, 0)
    headline = "this character is not allowed in an expression"
    return load_error(codes.EXPRESSION_SYNTAX, headline, source, Span(at, at + 1))
