"""The context documents in force → what the model of a chat is told when they enable something.

What is enforced is also told: whenever a command replaces what is enabled, or sets a variable, the
chat gets a block that says what now holds.
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

# What tells it is no rule of a document, and has a name like one.
RENDERED = "render"
RENDERED_UID = built_in_uid(NAME, RENDERED)


class ContextNews:
    """What a chat's context documents demand; nothing if it has none."""

    def __init__(self, document: Document | None = None) -> None:
        self._document = document

    @classmethod
    def of(cls, library: Library) -> ContextNews:
        """What the documents in force say; a broken one denies by itself and tells nothing."""
        for loaded in library.books:
            if loaded.dialect.name == NAME and not loaded.broken:
                return cls(read_document([file.source for file in loaded.texts.values()]))
        return cls()

    def since(self, before: Slate, now: Slate) -> str:
        """What the model must know now, if that is something else than before."""
        if self._document is None or before == now:
            return ""
        told = rendered(self._document, now)
        return "" if told == rendered(self._document, before) else told.rstrip("\n")


def may_withhold(books: Iterable[Book]) -> bool:
    """Whether a rule of these books can keep an output from being released."""
    return any(
        Kind.TURN_END in rule.on.kinds and is_refused(rule.judgement.verdict)
        for book in books
        for group in book.groups
        for rule in group.rules
        if rule.judgement is not None
    )


def in_fixed_words(uid: str) -> bool:
    """Whether the language of a rule fixes what a person reads, to the letter."""
    return dialect_of(uid) == NAME
