"""Make the call ids of models unique in a session.

All agents of a chat share one session, so their calls share one set of ids.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.names import ARCHIVE
from bylaw.dialects.chatmd.syntax.nodes import Element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Prefix of the ids of rule calls. The id of a model must not equal that of a later rule call.
OF_RULES = "rule-"


class CallIds:
    """The ids that are used in one run."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._taking = Lock()  # agents run in parallel

    def found(self, elements: Iterable[Element]) -> None:
        """Mark the ids in a file as used, including those in its archives."""
        with self._taking:
            self._taken.update(_ids_in(elements))

    def take(self, wanted: str) -> str:
        """Reserve the wanted id if it is free, else the id with a number added, and return it."""
        if wanted.startswith(OF_RULES):
            wanted = f"call-{wanted}"
        with self._taking:
            free = next(name for name in _names_like(wanted) if name not in self._taken)
            self._taken.add(free)
        return free


def _ids_in(elements: Iterable[Element]) -> Iterator[str]:
    left = list(elements)
    while left:
        element = left.pop()
        if element.name == ARCHIVE:
            left += (child for child in element.children if isinstance(child, Element))
        elif call := element.value("tool_call_id"):
            yield call


def _names_like(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))
