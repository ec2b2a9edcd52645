"""ChatMD guard text → tokens with spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr.limits import MAX_INT_BITS
from bylaw.model.codes import expressions as codes
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile

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
            raise _unreadable(source, Span(at, span.end))
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


def _unreadable(source: SourceFile, rest: Span) -> LoadError:
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
