"""The top of a ChatMD file → its elements with those of the files it imports in their place.

A path counts from the folder of the file that names it; no file outside the folder of the first
one is read. An import inside a message is not followed: it is a piece of that message.
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
MAX_IMPORT_DEPTH = 16  # files that import one another
MAX_IMPORTS = 256  # of one chat, counted as often as they are written
ATTRIBUTES = ("src", "namespace")
# Older files have it; it says what is always so.
_TAKEN = frozenset((*ATTRIBUTES, "local"))

Placed: TypeAlias = tuple[Element, SourceFile]
"""An element, and the text in which it stands."""


def expanded(document: Document, beside: Beside) -> tuple[list[Placed], list[Diagnostic]]:
    """The elements of a file and of what it imports, and what is wrong with imports."""
    importing = _Importing(document, beside)
    importing.expand(document, (basename(document.source.path),))
    return importing.placed, importing.found


class _Importing:
    """All imports of one chat."""

    def __init__(self, document: Document, beside: Beside) -> None:
        self.placed: list[Placed] = []
        self.found: list[Diagnostic] = []
        self._folder = dirname(document.source.path)
        self._beside = beside
        self._documents: dict[str, Document] = {}
        self._count = 0

    def expand(self, document: Document, chain: tuple[str, ...]) -> None:
        """Place the elements of a file; `chain` are the paths that lead to it, and its own."""
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
            help_ = "a path counts from the folder of the file that imports"
            self.found.append(error(CHATMD_IMPORT, str(wrong), source, element.start, help=help_))
        else:
            self.expand(imported, (*chain, path))

    def _document(self, element: Element, path: str, chain: tuple[str, ...]) -> Document:
        """The file at a path; BesideError if it is not to be imported."""
        self._count += 1
        if not element.value("src"):
            raise BesideError("`<import>` has no `src`")
        if path in chain:
            raise BesideError(f"`{brief(path)}` imports itself: {_circle(chain, path)}")
        if len(chain) > MAX_IMPORT_DEPTH:
            raise BesideError(f"imports are more than {MAX_IMPORT_DEPTH} levels deep")
        if self._count > MAX_IMPORTS:
            raise BesideError(f"there are more than {MAX_IMPORTS} imports")
        if path not in self._documents:
            named = SourceFile(join(self._folder, path), self._beside.read(path))
            self._documents[path], found = parse(named)
            self.found += found
        return self._documents[path]

    def _check_attributes(self, element: Element, source: SourceFile) -> None:
        for attribute in element.attributes:
            if attribute.name not in _TAKEN:
                headline = f"`{brief(attribute.name)}` has no meaning in `<import>`"
                help_ = did_you_mean(attribute.name, ATTRIBUTES)
                self.found.append(
                    warning(CHATMD_IMPORT_ATTRIBUTE, headline, source, attribute.span, help=help_)
                )


def _circle(chain: tuple[str, ...], path: str) -> str:
    files = (*chain[chain.index(path) :], path)
    return " → ".join(f"`{brief(one)}`" for one in files)
