"""The body of `<call>` → JSON arguments, an object of expressions, or an error (CM-A05)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.marks import RAW, RAW_END
from bylaw.dialects.chatmd.written import Formula, Unreadable
from bylaw.expr.guards import parse_object
from bylaw.model.codes.chatmd_rules import BAD_CALL_BODY
from bylaw.model.embedded import Embedded
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.model.strict_json import JsonError, read_json

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.elements import ElementReader
    from bylaw.dialects.chatmd.written import Arguments

# CM-A06: a comment in a text is part of the text. Both may be open at the end of the body.
_TEXT_OR_COMMENT = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|<!--.*?(?:-->|\Z)""", re.DOTALL
)
_HELP = 'write `{"name": value}`, with JSON or expressions as values'


def read_arguments(reader: ElementReader) -> Arguments:
    """Read the arguments of a call. An invalid body gives a warning."""
    formula = _without_comments(reader)
    text = formula.source.text
    try:
        value = read_json(text)
    except JsonError:
        return _expressions(reader, formula)
    if isinstance(value, dict):
        return value
    return _unreadable(reader, "call arguments must be an object", formula, Span(0, len(text)))


def _expressions(reader: ElementReader, formula: Formula) -> Formula | Unreadable:
    try:
        parse_object(formula.source, Span(0, len(formula.source.text)))
    except LoadError as refused:
        (why,) = refused.diagnostics
        return _unreadable(reader, why.headline, formula, why.span)
    return formula


def _unreadable(reader: ElementReader, why: str, formula: Formula, span: Span) -> Unreadable:
    place = formula.embedded.span(span)
    if place.start == place.end:
        place = reader.element.start
    headline = f"the body of `<call>` is neither JSON nor an object of expressions: {why}"
    reader.doubt(BAD_CALL_BODY, headline, place, _HELP)
    return Unreadable(f"the body is neither JSON nor an object of expressions: {why}")


def _without_comments(reader: ElementReader) -> Formula:
    """Return the body with a blank for each comment, and the places of its characters."""
    element, source = reader.element, reader.source
    end = element.end.start
    pieces: list[str] = []
    places: list[int] = []
    at = element.start.end
    for found in _TEXT_OR_COMMENT.finditer(source.text, at, max(at, end)):
        if found["text"] is None:
            pieces += [source.text[at : found.start()], " "]
            places += [*range(at, found.start()), found.start()]
            at = found.end()
    pieces.append(source.text[at:end])
    places += range(at, end + 1)
    return _without_raw("".join(pieces), places, source)


def _without_raw(body: str, places: list[int], source: SourceFile) -> Formula:
    """Remove the marks of RAW if they enclose the complete body."""
    inner = body.strip()
    if inner.startswith(RAW) and inner.endswith(RAW_END) and len(inner) >= len(RAW + RAW_END):
        begin = body.index(RAW) + len(RAW)
        end = body.rindex(RAW_END)
        body, places = body[begin:end], places[begin : end + 1]
    return Formula(SourceFile(source.path, body), Embedded(source, places))
