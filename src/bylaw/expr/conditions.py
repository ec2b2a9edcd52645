"""The grammar of TOML conditions: Python's expression syntax, narrowed to the simpleeval profile.

Python's own parser reads the text. Its syntax errors become our messages here. `Lowering` converts
the nodes of the profile and rejects all others.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING

from bylaw.expr.limits import check_length
from bylaw.expr.lower import Lowering, too_deep
from bylaw.model.codes import expressions as codes
from bylaw.model.errors import load_error
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from bylaw.expr.tree import Node
    from bylaw.model.errors import LoadError

# Python's messages differ between versions; these parts have been the same for a long time.
_IN_OUR_WORDS = [
    ("was never closed", "this bracket is never closed"),
    ("unmatched", "this bracket was never opened"),
    ("does not match opening", "this bracket closes another kind of bracket"),
    ("unterminated", "this text has no closing quote"),
    ("forgot a comma", "a comma or an operator is missing here"),
    ("leading zeros", "a number cannot have leading zeros"),
]
_PLAINLY = "this is not an expression"
# Operators of other languages.
_WRITTEN_HERE = {"&&": "write `and`", "||": "write `or`", "===": "write `==`", "!": "write `not`"}
_SEVERAL_LINES = "put brackets around an expression of several lines"
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
    return Lowering(source, piece, start).node(_python_tree(source, piece, start))


def _python_tree(source: SourceFile, piece: SourceFile, start: int) -> ast.expr:
    if not piece.text:
        raise load_error(
            codes.EXPRESSION_SYNTAX, "the expression is empty", source, Span(start, start)
        )
    try:
        return _read(piece.text).body
    except SyntaxError as problem:
        raise _syntax_error(source, piece, start, problem) from None
    except (RecursionError, MemoryError):
        raise too_deep(source, Span(start, start + 1)) from None
    except ValueError:  # Python's parser rejects NUL and lone surrogates
        raise _unreadable(source, piece, start) from None


def _read(text: str) -> ast.Expression:
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
        return _statement(source, piece, start, statements)
    last = len(piece.text) - 1
    at = start + last  # an offset of 0 means that the text ended too early
    if problem.lineno and problem.offset:
        line_start = piece.offset_of_bytes(problem.lineno, 0)
        at = start + min(line_start + problem.offset - 1, last)
    message = str(problem.msg)
    if "null byte" in message:
        return _unreadable(source, piece, start)
    if _NESTED_BRACKETS in message:
        return too_deep(source, Span(at, at + 1))
    if _LONG_NUMBER in message:
        return load_error(
            codes.MALFORMED_NUMBER, "a number is too large", source, Span(start, start + last + 1)
        )
    headline = next((ours for theirs, ours in _IN_OUR_WORDS if theirs in message), _PLAINLY)
    help_ = _what_to_do(piece.text, at - start) if headline == _PLAINLY else ""
    return load_error(codes.EXPRESSION_SYNTAX, headline, source, Span(at, at + 1), help=help_)


def _what_to_do(text: str, at: int) -> str:
    near = text[max(at - 2, 0) : at + 2].replace("!=", "")
    written = next((ours for theirs, ours in _WRITTEN_HERE.items() if theirs in near), "")
    return written or (_SEVERAL_LINES if "\n" in text[:at] else "")


def _statement(
    source: SourceFile, piece: SourceFile, start: int, statements: list[ast.stmt]
) -> LoadError:
    lowering = Lowering(source, piece, start)
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


def _unreadable(source: SourceFile, piece: SourceFile, start: int) -> LoadError:
    bad = (i for i, c in enumerate(piece.text) if c == "\0" or "\ud800" <= c <= "\udfff")
    at = start + next(bad, 0)
    headline = "this character is not allowed in an expression"
    return load_error(codes.EXPRESSION_SYNTAX, headline, source, Span(at, at + 1))
