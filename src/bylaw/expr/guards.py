"""The grammar of ChatMD guards: text → tokens → tree, by precedence climbing.

From loosest to tightest: `or`, `and`, `not`, comparison and `in` (which do not chain), `+ -`,
`* / %`, unary minus (CM-044). Everything else is rejected with a help text.
"""

from __future__ import annotations

import re

from msgspec import Struct

from bylaw.expr.limits import MAX_DEPTH, MAX_INT_BITS, check_length
from bylaw.expr.tree import (
    Attribute,
    Binary,
    Call,
    Compare,
    Const,
    Items,
    Logic,
    Name,
    Node,
    Pairs,
    Unary,
)
from bylaw.model.codes import expressions as codes
from bylaw.model.display import MAX_BRIEF, brief
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import SourceFile, Span

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?P<tail>[\w.]*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
      | (?P<op>==|!=|<=|>=|\*\*|//|&&|\|\||<<|>>|:=|[-+*/%<>()\[\]{},.:?!=&|^~@])""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_WORD_OPERATORS = frozenset({"and", "or", "not", "in", "is"})


class Token(Struct, frozen=True):
    """`kind` is number, text, name, op or end; `value` is the value of a literal, else the text."""

    kind: str
    value: str | int | float
    span: Span

    def is_op(self, *ops: str) -> bool:
        """Whether this is one of these operators."""
        return self.kind == "op" and self.value in ops


def scan(source: SourceFile, span: Span) -> list[Token]:
    """Return the tokens of a part of a source; the last one is an end token."""
    tokens: list[Token] = []
    at = span.start
    while at < span.end:
        match = _TOKEN.match(source.text, at, span.end)
        if match is None:
            raise _scan_error(source, Span(at, span.end))
        at = match.end()
        if match.lastgroup != "space":
            tokens.append(_token(source, match))
    tokens.append(Token("end", "", Span(span.end, span.end)))
    return tokens


def _token(source: SourceFile, match: re.Match[str]) -> Token:
    span = Span(*match.span())
    word = match.group()
    if match["number"]:
        return Token("number", _number(source, span, match), span)
    if match["text"]:
        return Token("text", _text(source, span), span)
    if match["name"] and word not in _WORD_OPERATORS:
        return Token("name", word, span)
    return Token("op", word, span)


def _number(source: SourceFile, span: Span, match: re.Match[str]) -> int | float:
    digits = match["number"]
    if match["tail"] or re.match(r"0\d", digits):
        raise load_error(
            codes.MALFORMED_NUMBER, "this is not a number of the guard language", source, span,
            help="write plain decimal digits, such as `1000` or `0.5`",
        )  # fmt: skip
    # A digit has more than three bits: a number that is shortened here is still too large.
    value = float(digits) if not digits.isdigit() else int(digits[: MAX_INT_BITS // 3])
    if value == float("inf") or (isinstance(value, int) and value.bit_length() > MAX_INT_BITS):
        raise load_error(codes.MALFORMED_NUMBER, "this number is too large", source, span)
    return value


def _text(source: SourceFile, span: Span) -> str:
    def decode(match: re.Match[str]) -> str:
        escape = match[1]
        if escape in _ESCAPES:
            return _ESCAPES[escape]
        if len(escape) > 1 and not 0xD800 <= int(escape[1:], 16) <= 0xDFFF:  # noqa: PLR2004 - surrogates
            return chr(int(escape[1:], 16))
        at = span.start + 1 + match.start()
        raise load_error(
            codes.UNKNOWN_ESCAPE, f"`{match[0]}` is not an escape of the guard language", source,
            Span(at, at + len(match[0])), help="write `\\\\` for a backslash",
        )  # fmt: skip

    return _ESCAPE.sub(decode, source.text[span.start + 1 : span.end - 1])


def _scan_error(source: SourceFile, rest: Span) -> LoadError:
    first = source.text[rest.start]
    if first in "'\"":
        return load_error(
            codes.UNTERMINATED_TEXT, "this text has no closing quote", source, rest,
            help=f"close it with `{first}`",
        )  # fmt: skip
    return load_error(
        codes.EXPRESSION_SYNTAX, f"unexpected character `{first}`", source,
        Span(rest.start, rest.start + 1),
    )  # fmt: skip


_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS = range(1, 8)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_POWERS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(_COMPARISONS, _COMPARE),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
}
_FOREIGN_OPERATORS = {
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "=": "write `==` to compare",
    ":=": "write `==` to compare",
    "is": "write `==`",
    "not": "write `not (a in b)`",
    "**": "multiply instead",
    "//": "use `/`, the only division",
    "?": "use `and` and `or` instead of a conditional",
    **dict.fromkeys(("&", "|", "^", "~", "<<", ">>", "@"), "bit operators are not supported"),
}
_POSTFIX = {
    ".": ("only `event` has attributes", 'read a nested argument with `arg("a.b")`'),
    "[": ("indexing is not supported", 'read an argument of the call with `arg("list.0")`'),
    "(": ("only a function can be called", "write the function's name before `(`"),
}
_CONSTANTS = {"true": True, "false": False}


def parse_guard(source: SourceFile, span: Span) -> Node:
    """Parse one guard expression, or raise LoadError."""
    check_length(source, span)
    return _Parser(source, scan(source, span)).whole()


def parse_object(source: SourceFile, span: Span) -> Node:
    """Parse one object whose values are guard expressions, or raise LoadError (CM-A05).

    Objects and arrays can be nested in it.
    """
    check_length(source, span)
    parser = _Parser(source, scan(source, span), has_objects=True)
    if not parser.next.is_op("{"):
        raise parser.unexpected_token()
    return parser.whole()


class _Parser:
    def __init__(
        self, source: SourceFile, tokens: list[Token], *, has_objects: bool = False
    ) -> None:
        self.source = source
        self.tokens = tokens
        self.has_objects = has_objects
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.next
        self.at += 1
        return token

    def whole(self) -> Node:
        node = self.expression(_OR)
        if self.next.kind != "end":
            raise self.unexpected_token()
        return node

    def expression(self, power: int) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise load_error(
                codes.EXPRESSION_TOO_DEEP, f"nested more than {MAX_DEPTH:,} levels deep",
                self.source, self.next.span, help="split it into several rules",
            )  # fmt: skip
        start = self.next.span.start
        left = self.operand(power)
        while self.next.kind == "op" and _POWERS.get(str(self.next.value), 0) >= power:
            left = self.operation(left, start)
        self.refuse_foreign_operator()
        self.depth -= 1
        return left

    def since(self, start: int) -> Span:
        """Return the span from an offset to the end of the last consumed token."""
        return Span(start, self.tokens[self.at - 1].span.end)

    def operation(self, left: Node, start: int) -> Node:
        op = str(self.next.value)
        power = _POWERS[op]
        if power <= _AND:
            return self.logic(left, op, start)
        self.take()
        right = self.expression(power + 1)
        span = self.since(start)
        if power == _COMPARE:
            self.refuse_chain()
            return Compare(left, (op,), (right,), span=span)
        return Binary(op, left, right, span=span)

    def logic(self, left: Node, op: str, start: int) -> Node:
        operands = [left]
        while self.next.is_op(op):
            self.take()
            operands.append(self.expression(_POWERS[op] + 1))
        return Logic(op, tuple(operands), span=self.since(start))

    def operand(self, power: int) -> Node:
        token = self.next
        if token.is_op("not") and power <= _NOT:
            self.take()
            inner = self.expression(_NOT)
            return Unary("not", inner, span=self.since(token.span.start))
        if token.is_op("-"):
            self.take()
            inner = self.expression(_MINUS)
            return Unary("-", inner, span=self.since(token.span.start))
        return self.primary()

    def primary(self) -> Node:
        token = self.next
        if token.kind in ("number", "text"):
            self.take()
            node: Node = Const(token.value, span=token.span)
        elif token.kind == "name":
            node = self.name()
        elif token.is_op("("):
            self.take()
            node = self.expression(_OR)
            self.expect(")", token)
        elif token.is_op("["):
            node = self.array()
        elif token.is_op("{") and self.has_objects:
            node = self.object()
        else:
            raise self.unexpected_token()
        self.refuse_postfix()
        return node

    def name(self) -> Node:
        token = self.take()
        word = str(token.value)
        if word in _CONSTANTS:
            return Const(_CONSTANTS[word], span=token.span)
        if self.next.is_op("("):
            return self.call(token)
        node: Node = Name(word, span=token.span)
        while self.next.is_op(".") and word == "event":
            self.take()
            part = self.take()
            if part.kind != "name":
                self.at -= 1
                raise self.unexpected_token()
            node = Attribute(
                node, str(part.value), span=node.span.to(part.span), name_span=part.span
            )
        return node

    def call(self, name: Token) -> Node:
        opening = self.take()
        args = self.items(")", opening)
        span = self.since(name.span.start)
        return Call(str(name.value), args, span=span, name_span=name.span)

    def array(self) -> Node:
        opening = self.take()
        items = self.items("]", opening)
        return Items("list", items, span=self.since(opening.span.start))

    def object(self) -> Node:
        opening = self.take()
        pairs: dict[Node, Node] = {}
        while not self.next.is_op("}") or pairs:
            self.pair(pairs)
            if not self.next.is_op(","):
                break
            self.take()
        self.expect("}", opening)
        span = self.since(opening.span.start)
        return Pairs(tuple(pairs), tuple(pairs.values()), span=span)

    def pair(self, pairs: dict[Node, Node]) -> None:
        token = self.next
        if token.kind != "text":
            raise self.unexpected_token()
        key = Const(self.take().value, span=token.span)
        if key in pairs:
            headline = f"duplicate key {self.source.slice(token.span)}"
            raise load_error(codes.EXPRESSION_SYNTAX, headline, self.source, token.span)
        if not self.next.is_op(":"):
            raise self.unexpected_token()
        self.take()
        pairs[key] = self.expression(_OR)

    def items(self, closing: str, opening: Token) -> tuple[Node, ...]:
        items: list[Node] = []
        if not self.next.is_op(closing):
            items.append(self.expression(_OR))
            while self.next.is_op(","):
                self.take()
                items.append(self.expression(_OR))
        self.expect(closing, opening)
        return tuple(items)

    def expect(self, closing: str, opening: Token) -> None:
        if self.next.is_op(closing):
            self.take()
            return
        if self.next.kind == "end":
            raise load_error(
                codes.EXPRESSION_SYNTAX, f"`{opening.value}` is never closed", self.source,
                opening.span, help=f"add `{closing}`",
            )  # fmt: skip
        raise self.unexpected_token()

    def unexpected_token(self) -> LoadError:
        """Return the error for the next token; raise a better one for a foreign operator."""
        token = self.next
        self.refuse_foreign_operator()
        if token.kind != "end":
            what = f"unexpected `{self.source.slice(token.span)}`"
            return load_error(codes.EXPRESSION_SYNTAX, what, self.source, token.span)
        if not self.at:
            return load_error(
                codes.EXPRESSION_SYNTAX, "the expression is empty", self.source, token.span
            )
        last = self.tokens[self.at - 1].span
        what = "an operand is missing at the end"
        return load_error(codes.EXPRESSION_SYNTAX, what, self.source, last)

    def refuse_foreign_operator(self) -> None:
        token = self.next
        if token.kind != "op":
            return
        op = str(token.value)
        span = token.span
        if op == "not":
            if not self.tokens[self.at + 1].is_op("in"):
                raise load_error(
                    codes.EXPRESSION_SYNTAX, "unexpected `not`", self.source, span,
                    help="put `not …` in parentheses",
                )  # fmt: skip
            span = span.to(self.tokens[self.at + 1].span)
        if op in _FOREIGN_OPERATORS:
            raise load_error(
                codes.UNSUPPORTED_OPERATOR,
                f"`{self.source.slice(span)}` is not an operator of the guard language",
                self.source, span, help=_FOREIGN_OPERATORS[op],
            )  # fmt: skip

    def refuse_chain(self) -> None:
        if self.next.is_op(*_COMPARISONS):
            raise load_error(
                codes.CHAINED_COMPARISON, "comparisons do not chain", self.source,
                self.next.span, help="write two comparisons joined with `and`",
            )  # fmt: skip

    def refuse_postfix(self) -> None:
        token = self.next
        if not token.is_op(".", "[", "("):
            return
        what, help_ = _POSTFIX[str(token.value)]
        if token.is_op("."):
            begin = self.source.text.rfind("\n", 0, token.span.start) + 1
            what += f", not `{brief(self.source.text[begin : token.span.start][-MAX_BRIEF:])}`"
        raise load_error(codes.UNSUPPORTED_SYNTAX, what, self.source, token.span, help=help_)
