"""List the variables of a context document, with current values, also from a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.context.standing import standing
from bylaw.runtime.journal.folding import folded_before
from bylaw.runtime.journal.reader import JournalReader
from bylaw.tools.timeline import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.dialects.context.document import Document
    from bylaw.model.session import Session
    from bylaw.model.slate import Slate
    from bylaw.model.values import JSON


class Variable(Struct, frozen=True):
    """A variable with its qualified name, its type in canonical form, and its value."""

    name: str
    type: str
    value: JSON


def variables(document: Document, slate: Slate) -> list[Variable]:
    """Return all variables in the order of the document."""
    types = {name: str(one.what.type) for name, one in document.states.by_qualified.items()}
    return [Variable(name, types[name], value) for name, value in standing(document, slate).items()]


def recorded_session(path: str, name: str, tell: Callable[[str], None]) -> Session:
    """Return a session after its last record. Raise JournalError if it is unknown."""
    with JournalReader(path) as reader:
        refuse_unknown(reader, name)
        return folded_before(reader, name, reader.newest + 1, tell).session
