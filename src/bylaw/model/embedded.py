"""Findings about a text that a file contains with escapes → findings about the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.diagnostic import Diagnostic, Label
from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.source import SourceFile


class Embedded(Struct, frozen=True):
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
