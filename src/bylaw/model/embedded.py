"""A text inside a file that is written with escapes → findings about it, placed in the file."""

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
    """Where each character of the text stands in the file, and behind the last one its end."""

    source: SourceFile
    places: Sequence[int]

    def span(self, span: Span) -> Span:
        """A piece of the text as a piece of the file."""
        last = len(self.places) - 1
        start, end = min(span.start, last), min(span.end, last)
        return Span(self.places[start], max(self.places[end], self.places[start]))

    def relocated(self, finding: Diagnostic) -> Diagnostic:
        """The finding as one about the file; what a fix would have to escape is left out."""
        labels = tuple(Label(self.span(label.span), label.text) for label in finding.labels)
        place = self.span(finding.span)
        return replace(finding, source=self.source, span=place, labels=labels, fix=None)
