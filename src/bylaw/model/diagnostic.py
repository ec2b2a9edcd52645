"""A finding about a text, as a value, and what helps to make one.

Also here: the list of findings about one text, and findings about a text that a file contains with
escapes. The codes are in `codes/`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.model.codes import Code


class Severity(StrEnum):
    """How serious a finding is. An error means that the text was rejected."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Label(Struct, frozen=True):
    """A remark on another piece of the same source."""

    span: Span
    text: str


class Fix(Struct, frozen=True):
    """A replacement that a tool can apply: `text` replaces `span`."""

    span: Span
    text: str


class Diagnostic(Struct, frozen=True):
    """What is wrong (headline), where (span, note at the underline), what to do (help, fix)."""

    code: str
    severity: Severity
    headline: str
    source: SourceFile
    span: Span
    note: str = ""
    labels: tuple[Label, ...] = ()
    help: str = ""
    fix: Fix | None = None

    @property
    def underlined(self) -> str:
        """The text that a printer underlines."""
        return self.source.slice(self.span)


def error(
    code: Code,
    headline: str,
    source: SourceFile,
    span: Span,
    *,
    note: str = "",
    labels: tuple[Label, ...] = (),
    help: str = "",  # noqa: A002 - the word that users see
    fix: Fix | None = None,
) -> Diagnostic:
    """Build a diagnostic of severity error."""
    return Diagnostic(code.name, Severity.ERROR, headline, source, span, note, labels, help, fix)


def warning(
    code: Code,
    headline: str,
    source: SourceFile,
    span: Span,
    *,
    note: str = "",
    help: str = "",  # noqa: A002 - the word that users see
) -> Diagnostic:
    """Build a diagnostic of severity warning."""
    return Diagnostic(code.name, Severity.WARNING, headline, source, span, note, (), help)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a text was rejected."""
    return any(one.severity is Severity.ERROR for one in diagnostics)


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort by file, position and code: the order in which every printer shows them."""
    return sorted(diagnostics, key=lambda d: (d.source.path, d.span, d.code, d.headline))


# A text with more errors is not fixed line by line.
MAX_ERRORS = 100


class FindingList:
    """The findings about one text, in `found`, and the number of errors among them."""

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self.found: list[Diagnostic] = []
        self.errors = 0
        self.add(*found)

    def add(self, *findings: Diagnostic) -> None:
        """Add findings."""
        self.found += findings
        self.errors += sum(one.severity is Severity.ERROR for one in findings)

    @property
    def has_too_many(self) -> bool:
        """Whether there are more errors than are shown."""
        return self.errors > MAX_ERRORS

    def told(self) -> list[Diagnostic]:
        """Return all findings; if there are too many errors, only the first of those."""
        if not self.has_too_many:
            return self.found
        return sort_diagnostics(one for one in self.found if one.severity is Severity.ERROR)[
            :MAX_ERRORS
        ]


class EmbeddedText(Struct, frozen=True):
    """The position in the file of each character of the text, and of its end."""

    source: SourceFile
    places: Sequence[int]

    def span(self, span: Span) -> Span:
        """Return the span in the file for a span of the text."""
        last = len(self.places) - 1
        start, end = min(span.start, last), min(span.end, last)
        return Span(self.places[start], max(self.places[end], self.places[start]))

    def relocated(self, finding: Diagnostic) -> Diagnostic:
        """Return the finding as one about the file, without its fix, which would need escapes."""
        labels = tuple(Label(self.span(label.span), label.text) for label in finding.labels)
        place = self.span(finding.span)
        return replace(finding, source=self.source, span=place, labels=labels, fix=None)
