"""Diagnostics → text for people: the source line, the underlined part, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.diagnostic import Diagnostic, Severity, in_order
from bylaw.tools.printers.excerpt import Excerpt, Row, excerpts_of
from bylaw.tools.printers.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RESET = "\x1b[0m"
_STRONG = "\x1b[1m"
_FRAME = "\x1b[1;34m"
_HELP = "\x1b[1;36m"
_SEVERITY = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.INFO: "\x1b[1;36m",
}


def render(diagnostics: Sequence[Diagnostic], *, color: bool = False) -> str:
    """All diagnostics, a blank line between two; the empty text if there are none."""
    return "\n".join(_one(diagnostic, _Paint(color)) for diagnostic in in_order(diagnostics))


class _Paint:
    """Colours, or none."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, style: str, words: str) -> str:
        return f"{style}{words}{_RESET}" if self._color and words else words


def _one(diagnostic: Diagnostic, paint: _Paint) -> str:
    return "\n".join([*_lines(diagnostic, paint), ""])


def _lines(diagnostic: Diagnostic, paint: _Paint) -> Iterator[str]:
    style = _SEVERITY[diagnostic.severity]
    excerpts = excerpts_of(diagnostic)
    gutter = max((len(str(excerpt.line)) for excerpt in excerpts), default=1)
    bar = paint(_FRAME, f"{'':{gutter + 2}}|")
    title = paint(style, f"{diagnostic.severity}[{shown(diagnostic.code)}]")
    yield title + paint(_STRONG, f": {shown(diagnostic.headline)}")
    yield paint(_FRAME, f"{'':{gutter + 1}}-->") + f" {_place(diagnostic)}"
    if excerpts:
        yield bar
    for before, excerpt in zip([None, *excerpts], excerpts, strict=False):
        if before is not None and before.line + 1 != excerpt.line:
            yield paint(_FRAME, "...")
        yield from _excerpt_lines(excerpt, gutter, style, paint)
    if excerpts and diagnostic.help:
        yield bar
    if diagnostic.help:
        yield paint(_HELP, "help") + f": {shown(diagnostic.help)}"


def _place(diagnostic: Diagnostic) -> str:
    source = diagnostic.source
    if not source.text:
        return shown(source.path)
    at = source.position(diagnostic.span.start)
    return f"{shown(source.path)}:{at.line}:{at.column}"


def _excerpt_lines(excerpt: Excerpt, gutter: int, style: str, paint: _Paint) -> Iterator[str]:
    number = paint(_FRAME, f" {excerpt.line:>{gutter}} |")
    bar = paint(_FRAME, f"{'':{gutter + 2}}|")
    yield f"{number} {excerpt.text}".rstrip()
    for row in excerpt.rows:
        yield f"{bar} {_painted(row, style, paint)}"


def _painted(row: Row, style: str, paint: _Paint) -> str:
    return "".join(paint(style if part.primary else _FRAME, part.text) for part in row)
