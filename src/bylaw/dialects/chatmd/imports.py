"""The top of a ChatMD file → its elements, with imports replaced by the elements of their files.

A path is relative to the folder of the file that contains the import. Files outside of the folder
of the first file are not read. An import in a message is not followed: it is part of the message.
"""

from __future__ import annotations

from posixpath import basename, dirname, join, normpath
from typing import TYPE_CHECKING, TypeAlias

from bylaw.dialects.base import BesideError
from bylaw.dialects.chatmd.syntax.nodes import Element
from bylaw.dialects.chatmd.syntax.parse import parse
from bylaw.model.codes.chatmd import CHATMD_IMPORT, CHATMD_IMPORT_ATTRIBUTE
from bylaw.model.diagnostic import error, warning
from bylaw.model.source import SourceFile
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.dialects.base import Beside
    from bylaw.dialects.chatmd.syntax.nodes import Document
    from bylaw.model.diagnostic import Diagnostic

IMPORT = "import"
MAX_IMPORT_DEPTH = 16  # files in one chain of imports
MAX_IMPORTS = 256  # of one chat; each use counts
ATTRIBUTES = ("src", "namespace")
# Older files have `local`. It changes nothing.
_TAKEN = frozenset((*ATTRIBUTES, "local"))

Placed: TypeAlias = tuple[Element, SourceFile]
"""An element, and the source that contains it."""


def expanded(document: Document, beside: Beside) -> tuple[list[Placed], list[Diagnostic]]:
    """Return the elements of a file and its imports, with findings about imports."""
    importing = _Importing(document, beside)
    importing.expand(document, (basename(document.source.path),))
    return importing.placed, importing.found


class _Importing:
    """Follows the imports of one chat."""

    def __init__(self, document: Document, beside: Beside) -> None:
        self.placed: list[Placed] = []
        self.found: list[Diagnostic] = []
        self._folder = dirname(document.source.path)
        self._beside = beside
        self._documents: dict[str, Document] = {}
        self._count = 0

    def expand(self, document: Document, chain: tuple[str, ...]) -> None:
        """Add the elements of a file. `chain` has the paths that lead to it, and its own path."""
        for element in document.elements:
            if element.name == IMPORT:
                self._import(element, document.source, chain)
            else:
                self.placed.append((element, document.source))

    def _import(self, element: Element, source: SourceFile, chain: tuple[str, ...]) -> None:
        self._check_attributes(element, source)
        path = normpath(join(dirname(chain[-1]), element.value("src")))
        try:
            imported = self._document(element, path, chain)
        except BesideError as wrong:
            help_ = "write a path relative to the folder of the importing file"
            self.found.append(error(CHATMD_IMPORT, str(wrong), source, element.start, help=help_))
        else:
            self.expand(imported, (*chain, path))

    def _document(self, element: Element, path: str, chain: tuple[str, ...]) -> Document:
        """Read the file at a path. Raises `BesideError` if it cannot be imported."""
        self._count += 1
        if not element.value("src"):
            raise BesideError("`<import>` has no `src`")
        if path in chain:
            raise BesideError(f"`{brief(path)}` imports itself: {_circle(chain, path)}")
        if len(chain) > MAX_IMPORT_DEPTH:
            raise BesideError(f"imports are more than {MAX_IMPORT_DEPTH} levels deep")
        if self._count > MAX_IMPORTS:
            raise BesideError(f"the chat has more than {MAX_IMPORTS} imports")
        if path not in self._documents:
            named = SourceFile(join(self._folder, path), self._beside.read(path))
            self._documents[path], found = parse(named)
            self.found += found
        return self._documents[path]

    def _check_attributes(self, element: Element, source: SourceFile) -> None:
        for attribute in element.attributes:
            if attribute.name not in _TAKEN:
                headline = f"unknown attribute `{brief(attribute.name)}` in `<import>`"
                help_ = did_you_mean(attribute.name, ATTRIBUTES)
                self.found.append(
                    warning(CHATMD_IMPORT_ATTRIBUTE, headline, source, attribute.span, help=help_)
                )


def _circle(chain: tuple[str, ...], path: str) -> str:
    files = (*chain[chain.index(path) :], path)
    return " → ".join(f"`{brief(one)}`" for one in files)
