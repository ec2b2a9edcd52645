"""Diagnostics to print: built from a text and the piece of it that must be underlined."""

from bylaw.model.diagnostic import Diagnostic, Label, Severity
from bylaw.model.source import SourceFile, Span


def span_of(text, piece):
    start = text.index(piece)
    return Span(start, start + len(piece))


def finding(text, piece, *, path="prompts/main.chatmd", labels=(), **more):
    span = piece if isinstance(piece, Span) else span_of(text, piece)
    return Diagnostic(
        more.pop("code", "unknown-function"),
        more.pop("severity", Severity.ERROR),
        more.pop("headline", "`ever_caled` is not a function of this dialect"),
        SourceFile(path, text),
        span,
        labels=tuple(Label(span_of(text, where), words) for where, words in labels),
        **more,
    )
