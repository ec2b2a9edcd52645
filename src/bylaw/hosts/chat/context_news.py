"""Tell the model of a chat what its context documents enforce.

When a command changes what is enabled, or sets a variable, the chat gets a block with the new
state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.names import NAME
from bylaw.dialects.context.reading import read_document
from bylaw.dialects.context.render import rendered
from bylaw.model.uid import built_in_uid, dialect_of
from bylaw.model.verdict import is_refused
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.dialects.context.document import Document
    from bylaw.model.procedure import Book
    from bylaw.model.slate import Slate
    from bylaw.runtime.loading import Library

# The rule name of this block. It is not a rule of a document.
RENDERED = "render"
RENDERED_UID = built_in_uid(NAME, RENDERED)


class ContextNews:
    """Reports what the context documents of a chat enforce; nothing if there are none."""

    def __init__(self, document: Document | None = None) -> None:
        self._document = document

    @classmethod
    def of(cls, library: Library) -> ContextNews:
        """Read the active documents. A broken one is skipped: it denies by itself."""
        for loaded in library.books:
            if loaded.dialect.name == NAME and not loaded.broken:
                return cls(read_document([file.source for file in loaded.texts.values()]))
        return cls()

    def since(self, before: Slate, now: Slate) -> str:
        """Return the new state as text for the model, empty if the text did not change."""
        if self._document is None or before == now:
            return ""
        told = rendered(self._document, now)
        return "" if told == rendered(self._document, before) else told.rstrip("\n")


def may_withhold(books: Iterable[Book]) -> bool:
    """Whether a rule of these books can withhold an output."""
    return any(
        Kind.TURN_END in rule.on.kinds and is_refused(rule.judgement.verdict)
        for book in books
        for group in book.groups
        for rule in group.rules
        if rule.judgement is not None
    )


def in_fixed_words(uid: str) -> bool:
    """Whether the language of a rule prescribes the exact text that a person reads."""
    return dialect_of(uid) == NAME
