"""A place in an imported file → the place of the import in the chat file.

Rules belong to the chat file: the origin of a rule, and every error that prevents loading, is a
place in that file. If it is the place of an import, the headline names the imported file and line.
"""

from __future__ import annotations

from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.dialects.chatmd.imports import IMPORT
from bylaw.model.diagnostic import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.dialects.chatmd.elements import ElementReader
    from bylaw.dialects.chatmd.imports import Placed
    from bylaw.dialects.chatmd.syntax.nodes import Document, Element
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import Span


class Places:
    """The imports of a file, by the paths of the imported files."""

    def __init__(self, document: Document, placed: Iterable[Placed]) -> None:
        self._source = document.source
        folder = dirname(document.source.path)
        imports = [one for one in document.elements if one.name == IMPORT]
        self._first = imports[0] if imports else None
        self._through: dict[str, Element] = {}
        for one in imports:
            self._through.setdefault(normpath(join(folder, one.value("src"))), one)
        through = self._first
        for _, source in placed:
            # A file that an imported file imports belongs to the same import.
            through = self._through.get(source.path, through)
            if through is not None:
                self._through.setdefault(source.path, through)

    def span(self, reader: ElementReader) -> Span:
        """Return the place of an element, or of the import that it comes from."""
        through = None if reader.source is self._source else self._import(reader.source.path)
        return (through or reader.element).span

    def relocated(self, finding: Diagnostic) -> Diagnostic:
        """Move an error of an imported file to this file. Other findings stay as they are."""
        through = self._import(finding.source.path)
        if finding.severity is not Severity.ERROR or finding.source is self._source or not through:
            return finding
        line = finding.source.position(finding.span.start).line
        headline = f"`{finding.source.path}`, line {line}: {finding.headline}"
        return replace(
            finding,
            headline=headline,
            source=self._source,
            span=through.start,
            note="",
            labels=(),
            fix=None,
        )

    def _import(self, path: str) -> Element | None:
        return self._through.get(path, self._first)
