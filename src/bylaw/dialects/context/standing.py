"""A document and a slate → the variables as they stand, those that nobody set included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.commands import space_of

if TYPE_CHECKING:
    from bylaw.dialects.context.document import Document
    from bylaw.model.slate import Slate
    from bylaw.model.values import JSON


def standing(document: Document, slate: Slate) -> dict[str, JSON]:
    """Every variable by its qualified name, in the order of the document."""
    return {
        name: slate.space(space_of(symbol.module)).get(symbol.name, symbol.what.default)
        for name, symbol in document.states.by_qualified.items()
    }
