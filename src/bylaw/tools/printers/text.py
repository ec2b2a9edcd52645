"""Print diagnostics for people: the source line, the underlined part, the help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.diagnostic import Diagnostic, Severity, in_order
from bylaw.tools.printers.excerpt import Excerpt, Row, excerpts_of
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SEVERITY = {
    Severity.ERROR: Style.BAD,
    Severity.WARNING: Style.WARNING,
    Severity.INFO: Style.HELP,
}


def render(diagnostics: Sequence[Diagnostic], *, color: bool = False) -> str:
    """Print all diagnostics, separated by blank lines. Return an empty text if there are none."""
    return "\n".join(_one(diagnostic, Paint(color)) for diagnostic in in_order(diagnostics))


def _one(diagnostic: Diagnostic, paint: Paint) -> str:
    return "\n".join([*_lines(diagnostic, paint), ""])


def _lines(diagnostic: Diagnostic, paint: Paint) -> Iterator[str]:
    style = _SEVERITY[diagnostic.severity]
    excerpts = excerpts_of(diagnostic)
    gutter = max((len(str(excerpt.line)) for excerpt in excerpts), default=1)
    bar = paint(Style.FRAME, f"{'':{gutter + 2}}|")
    title = paint(style, f"{diagnostic.severity}[{shown(diagnostic.code)}]")
    yield title + paint(Style.STRONG, f": {shown(diagnostic.headline)}")
    yield paint(Style.FRAME, f"{'':{gutter + 1}}-->") + f" {_place(diagnostic)}"
    if excerpts:
        yield bar
    for before, excerpt in zip([None, *excerpts], excerpts, strict=False):
        if before is not None and before.line + 1 != excerpt.line:
            yield paint(Style.FRAME, "...")
        yield from _excerpt_lines(excerpt, gutter, style, paint)
    if excerpts and diagnostic.help:
        yield bar
    if diagnostic.help:
        yield paint(Style.HELP, "help") + f": {shown(diagnostic.help)}"


def _place(diagnostic: Diagnostic) -> str:
    source = diagnostic.source
    if not source.text:
        return shown(source.path)
    at = source.position(diagnostic.span.start)
    return f"{shown(source.path)}:{at.line}:{at.column}"


def _excerpt_lines(excerpt: Excerpt, gutter: int, style: Style, paint: Paint) -> Iterator[str]:
    number = paint(Style.FRAME, f" {excerpt.line:>{gutter}} |")
    bar = paint(Style.FRAME, f"{'':{gutter + 2}}|")
    yield f"{number} {excerpt.text}".rstrip()
    for row in excerpt.rows:
        yield f"{bar} {_painted(row, style, paint)}"


def _painted(row: Row, style: Style, paint: Paint) -> str:
    return "".join(paint(style if part.primary else Style.FRAME, part.text) for part in row)
