"""Read given files as one context document, or report its problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from bylaw.dialects import context
from bylaw.dialects.base import RuleFile
from bylaw.dialects.context.lowering import lowered, no_rules
from bylaw.dialects.context.problems import DocumentError, Place, Problem
from bylaw.dialects.context.reading import read_document
from bylaw.model.codes.books import NO_RULE_FILES
from bylaw.model.codes.context import PARSE_ERROR
from bylaw.model.codes.input import NOT_UTF8, TOO_LARGE
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.discovery import Why, given
from bylaw.runtime.loading import Library, bind, text_digest
from bylaw.runtime.root import find_root
from bylaw.runtime.rule_texts import read_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.dialects.base import Dialect
    from bylaw.dialects.context.document import Document
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Group
    from bylaw.runtime.discovery import Found, Search
    from bylaw.runtime.loading import LoadedBook
    from bylaw.runtime.rule_texts import RuleText

# A file that is not text fails framing, the first phase of the language: PARSE_ERROR.
_NO_TEXT = (NOT_UTF8.name, TOO_LARGE.name)


class GivenDocument(Struct, frozen=True):
    """Files in the order of their paths, with their document, or its problems."""

    search: Search
    files: tuple[tuple[Found, RuleFile], ...]
    document: Document | None
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> Document:
        """The document. Raises LoadError if it does not load."""
        if self.document is None:
            raise LoadError(self.diagnostics)
        return self.document

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The problems as diagnostics."""
        return [problem.diagnostic() for problem in self.problems]

    @property
    def book(self) -> LoadedBook:
        """The book of the document, without rules if it does not load."""
        found = [one for one, _ in self.files]
        texts = {file.path: file for _, file in self.files}
        return bind(cast("Dialect", context), found, texts, self._groups(), {})

    def _groups(self) -> tuple[Group, ...]:
        if self.document is None:
            return no_rules()
        return lowered(self.document, {file.path: file.digest for _, file in self.files})

    @property
    def library(self) -> Library:
        """The document as a library, as reports need it."""
        return Library(self.search, (self.book,), tuple(self.diagnostics), ())


def read_given(paths: Sequence[str], tell: Callable[[str], None] = lambda _: None) -> GivenDocument:
    """Read files, and files in folders, as one document.

    Raises LoadError if a file cannot be read, or if there is no context document.
    """
    search = given(find_root(), paths)
    if search.refusals:
        raise LoadError(list(search.refusals))
    texts = [text for text in read_all(search, tell) if _is_meant(text)]
    if not texts:
        headline = f"no context document in `{paths[0]}`"
        raise load_error(NO_RULE_FILES, headline, SourceFile(paths[0], ""), Span(0, 0))
    files = tuple((text.found, _rule_file(text)) for text in texts)
    problems = tuple(_no_text(texts))
    if problems:
        return GivenDocument(search, files, None, problems)
    try:
        document = read_document([file.source for _, file in files])
    except DocumentError as wrong:
        return GivenDocument(search, files, None, tuple(wrong.problems))
    return GivenDocument(search, files, document, ())


def _is_meant(text: RuleText) -> bool:
    """Accept every file given by path, and files of a folder that are in this language."""
    found = text.found
    if found.why is Why.GIVEN:
        return True
    is_ours = found.dialect in ("", context.name) and found.path.endswith(context.suffixes)
    return is_ours and context.detect(text.source)


def _rule_file(text: RuleText) -> RuleFile:
    return RuleFile(text.source, text_digest(text.source.text))


def _no_text(texts: Sequence[RuleText]) -> Iterator[Problem]:
    for text in texts:
        for why in text.errors:
            if why.code not in _NO_TEXT:
                raise LoadError([why])
            place = Place(why.source, why.span)
            yield Problem(PARSE_ERROR, why.headline, place, why.help)
