"""Select the source lines to show for a diagnostic, with the rows of marks below each.

A mark is one span on one line. A span over many lines has marks only on its first and last line. A
long line is cut around its marks, and shown twice if they are far apart.

Print diagnostics for people: the source line, the underlined part, the help.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from bylaw.model.display import columns, display_text
from bylaw.model.paint import Paint, Style
from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.source import SourceFile

# Characters shown of a long line, and how many of them are before the marked part.
MAX_SHOWN = 120
MAX_BEFORE = 40
# Of a span with more lines, only the first and the last line are shown.
MAX_SPAN_LINES = 4
MAX_LABELS = 20


class RowPart(NamedTuple):
    """A piece of a row. A piece of the primary span is coloured by severity."""

    text: str
    primary: bool


Row = list[RowPart]


class Excerpt(Struct, frozen=True):
    """A line number, the text shown of that line, and the rows of marks and notes below it."""

    line: int
    text: str
    rows: list[Row]


class _Mark(Struct, frozen=True):
    line: int
    start: int  # first in characters of the line, later in columns of the excerpt
    end: int
    note: str
    primary: bool


def excerpts_of(diagnostic: Diagnostic) -> list[Excerpt]:
    """Return the excerpts of a diagnostic from top to bottom, [] if the source has no text."""
    source = diagnostic.source
    if not source.text:
        return []
    marks = list(_marks(source, diagnostic.span, diagnostic.note, primary=True))
    for label in diagnostic.labels[:MAX_LABELS]:
        marks += _marks(source, label.span, label.text, primary=False)
    marks.sort(key=lambda mark: (mark.line, not mark.primary, mark.start))
    return [
        excerpt
        for line, group in groupby(marks, key=lambda mark: mark.line)
        for excerpt in _excerpts_of_line(source.line_text(line), line, list(group))
    ]


def _marks(source: SourceFile, span: Span, note: str, *, primary: bool) -> Iterator[_Mark]:
    first, last = source.position(span.start), source.position(max(span.start, span.end))
    last_line = last.line
    if last_line > first.line and last.column == 1:
        last_line -= 1  # the span ends with the line break of the line before
    lines = range(first.line, last_line + 1)
    for line in lines if len(lines) <= MAX_SPAN_LINES else (lines[0], lines[-1]):
        text = source.line_text(line)
        start = first.column - 1 if line == first.line else len(text) - len(text.lstrip())
        end = last.column - 1 if line == last.line else len(text)
        if start < end or line in (first.line, last_line):
            told = display_text(note) if line == last_line else ""
            yield _Mark(line, min(start, len(text)), min(end, len(text)), told, primary)


def _excerpts_of_line(text: str, line: int, marks: list[_Mark]) -> Iterator[Excerpt]:
    """Yield one excerpt, or several if the line is long and its marks are far apart."""
    while marks:
        low, high = _window(text, marks[0])
        near = [mark for mark in marks if low <= mark.start <= high]
        marks = [mark for mark in marks if not low <= mark.start <= high]
        yield _excerpt(text, line, Span(low, high), near)


def _window(text: str, mark: _Mark) -> tuple[int, int]:
    if len(text) <= MAX_SHOWN:
        return 0, len(text)
    low = max(0, min(mark.start - MAX_BEFORE, len(text) - MAX_SHOWN))
    return low, min(len(text), low + MAX_SHOWN)


def _excerpt(text: str, line: int, window: Span, marks: Sequence[_Mark]) -> Excerpt:
    body, starts = columns(text[window.start : window.end])
    left = "…" if window.start > 0 else ""
    right = "…" if window.end < len(text) else ""
    placed = [_place_mark(mark, window, starts, len(left)) for mark in marks]
    return Excerpt(line, left + body + right, _rows(placed))


def _place_mark(mark: _Mark, window: Span, starts: list[int], indent: int) -> _Mark:
    start = starts[mark.start - window.start] + indent
    end = starts[min(max(mark.start, mark.end), window.end) - window.start] + indent
    # An empty span, or a span of zero width, still gets a caret.
    return _Mark(mark.line, start, max(end, start + 1), mark.note, mark.primary)


def _rows(marks: Sequence[_Mark]) -> list[Row]:
    """Draw the underlines with the note of the rightmost mark. Other notes hang below."""
    canvas = _Canvas()
    for mark in sorted(marks, key=lambda mark: (mark.start - mark.end, mark.primary)):
        canvas.put(mark.start, ("^" if mark.primary else "-") * (mark.end - mark.start), mark)
    by_end = sorted(marks, key=lambda mark: (mark.end, mark.primary))
    rightmost = by_end.pop()
    if rightmost.note:
        canvas.put(rightmost.end + 1, rightmost.note, rightmost)
    return [canvas.row(), *_hanging_notes(sorted(by_end, key=lambda mark: mark.start))]


def _hanging_notes(marks: Sequence[_Mark]) -> Iterator[Row]:
    waiting = [mark for mark in marks if mark.note]
    if waiting:
        yield _connectors(waiting).row()
    while waiting:
        mark = waiting.pop()
        canvas = _connectors(waiting)
        canvas.put(mark.start, mark.note, mark)
        yield canvas.row()


def _connectors(marks: Sequence[_Mark]) -> _Canvas:
    canvas = _Canvas()
    for mark in marks:
        canvas.put(mark.start, "|", mark)
    return canvas


class _Canvas:
    """One row. A later text overwrites an earlier one."""

    def __init__(self) -> None:
        self._cells: list[RowPart] = []

    def put(self, column: int, text: str, mark: _Mark) -> None:
        cells = self._cells
        cells += [RowPart(" ", primary=False)] * (column + len(text) - len(cells))
        # A note is last in its row, so its wide characters do not shift other text.
        cells[column : column + len(text)] = [RowPart(char, mark.primary) for char in text]

    def row(self) -> Row:
        runs = groupby(self._cells, key=lambda part: part.primary)
        return [RowPart("".join(part.text for part in run), primary) for primary, run in runs]


_SEVERITY = {
    Severity.ERROR: Style.BAD,
    Severity.WARNING: Style.WARNING,
    Severity.INFO: Style.HELP,
}


def render(diagnostics: Sequence[Diagnostic], *, color: bool = False) -> str:
    """Print all diagnostics, separated by blank lines. Return an empty text if there are none."""
    return "\n".join(
        _diagnostic_text(diagnostic, Paint(color)) for diagnostic in sort_diagnostics(diagnostics)
    )


def _diagnostic_text(diagnostic: Diagnostic, paint: Paint) -> str:
    return "\n".join([*_lines(diagnostic, paint), ""])


def _lines(diagnostic: Diagnostic, paint: Paint) -> Iterator[str]:
    style = _SEVERITY[diagnostic.severity]
    excerpts = excerpts_of(diagnostic)
    gutter = max((len(str(excerpt.line)) for excerpt in excerpts), default=1)
    bar = paint(Style.FRAME, f"{'':{gutter + 2}}|")
    title = paint(style, f"{diagnostic.severity}[{display_text(diagnostic.code)}]")
    yield title + paint(Style.STRONG, f": {display_text(diagnostic.headline)}")
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
        yield paint(Style.HELP, "help") + f": {display_text(diagnostic.help)}"


def _place(diagnostic: Diagnostic) -> str:
    source = diagnostic.source
    if not source.text:
        return display_text(source.path)
    at = source.position(diagnostic.span.start)
    return f"{display_text(source.path)}:{at.line}:{at.column}"


def _excerpt_lines(excerpt: Excerpt, gutter: int, style: Style, paint: Paint) -> Iterator[str]:
    number = paint(Style.FRAME, f" {excerpt.line:>{gutter}} |")
    bar = paint(Style.FRAME, f"{'':{gutter + 2}}|")
    yield f"{number} {excerpt.text}".rstrip()
    for row in excerpt.rows:
        yield f"{bar} {_paint_row(row, style, paint)}"


def _paint_row(row: Row, style: Style, paint: Paint) -> str:
    return "".join(paint(style if part.primary else Style.FRAME, part.text) for part in row)
