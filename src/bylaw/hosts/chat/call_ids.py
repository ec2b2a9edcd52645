"""Ids that models gave their calls → ids that stand for one call of a session each.

The calls of all agents count in one session, and a rule's call is named before anybody sees it.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.names import ARCHIVE
from bylaw.dialects.chatmd.syntax.nodes import Element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# So the calls of rules are named; a model must not take the name of one that is to come.
OF_RULES = "rule-"


class CallIds:
    """Those that are taken, in one run."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._taking = Lock()  # agents run side by side

    def found(self, elements: Iterable[Element]) -> None:
        """What stands in a file is taken, in its archives, too."""
        with self._taking:
            self._taken.update(_ids_in(elements))

    def take(self, wanted: str) -> str:
        """The id itself if it is free, else one like it."""
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
