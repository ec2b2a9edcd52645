"""Find headings and fenced blocks of Markdown, with spans. All other text is prose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.source import SourceFile

# Possessive, so that long lines cause no backtracking.
_HEADING = re.compile(r"(#{1,6}) ++(.*+)")
_FENCE = re.compile(r"(`{3,}+) *+([^`]*+)$")


class Heading(Struct, frozen=True):
    """A line that begins with `#`. `span` is the span of the title."""

    level: int
    title: str
    span: Span


class Fence(Struct, frozen=True):
    """A fenced block. `span` covers its info string, `body` the lines inside."""

    info: str
    span: Span
    body: Span
    closed: bool


def scan(source: SourceFile) -> Iterator[Heading | Fence]:
    """Yield headings and blocks in the order of the page."""
    lines = _lines(source.text)
    for start, line in lines:
        if heading := _HEADING.match(line):
            yield Heading(len(heading[1]), heading[2].rstrip(" "), _span(start, heading))
        elif fence := _FENCE.match(line):
            body = Span(start + len(line) + 1, start + len(line) + 1)
            yield _fence(fence[1], fence[2].rstrip(" "), _span(start, fence), body, lines)


def lines_of(source: SourceFile, body: Span) -> Iterator[Span]:
    """Yield the lines inside a block, without their line breaks."""
    start = body.start
    for line in source.slice(body).removesuffix("\n").split("\n"):
        yield Span(start, start + len(line.removesuffix("\r")))
        start += len(line) + 1


def _fence(
    ticks: str, info: str, span: Span, body: Span, lines: Iterator[tuple[int, str]]
) -> Fence:
    for start, line in lines:
        if line.rstrip() == ticks:
            return Fence(info, span, body, closed=True)
        body = Span(body.start, start + len(line) + 1)
    return Fence(info, span, body, closed=False)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line.removesuffix("\r")
        start += len(line) + 1


def _span(start: int, found: re.Match[str]) -> Span:
    at = start + found.start(2)
    return Span(at, at + len(found[2].rstrip(" ")))
