"""Guard and reason of built-in rules. One function reads the event and returns the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.decision import Match

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.rule import View

_TEXT = "text"


class Question(Struct, frozen=True):
    """A guard that matches if `ask` returns a text that is not empty: the reason."""

    ask: Callable[[View], str]

    def test(self, view: View) -> Match | None:
        """Return a match with the text, or None."""
        text = self.ask(view)
        return Match({_TEXT: text}) if text else None


class Said(Struct, frozen=True):
    """The text of a `Question` as the reason."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - names of ReasonMaker
        """Return the text."""
        return said(match)


def said(match: Match) -> str:
    """Return the text in a match of a `Question`."""
    return str(match.values[_TEXT])
