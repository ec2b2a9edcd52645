"""A finding about a text, as a value. The printers show it; the codes are in `codes`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.source import SourceFile, Span  # noqa: TC001 - `help()` reads a struct's types

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort by file, position and code: the order in which every printer shows them."""
    return sorted(diagnostics, key=lambda d: (d.source.path, d.span, d.code, d.headline))
