"""The current values of all variables of a document, including defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.names import NAME
from bylaw.model.slate import variable_space

if TYPE_CHECKING:
    from bylaw.dialects.context.document import Document, StateForm
    from bylaw.dialects.context.symbols import Symbol
    from bylaw.model.slate import Slate
    from bylaw.model.values import JSON


def space_of(module: str) -> str:
    """Return the name of the space that holds the variables of a module."""
    return variable_space(NAME, module)


def value_now(symbol: Symbol[StateForm], slate: Slate) -> JSON:
    """Return the value of a variable: its default until a command sets it."""
    return slate.space(space_of(symbol.module)).get(symbol.name, symbol.what.default)


def standing(document: Document, slate: Slate) -> dict[str, JSON]:
    """Return every variable by its qualified name, in the order of the document."""
    return {name: value_now(symbol, slate) for name, symbol in document.states.by_qualified.items()}
