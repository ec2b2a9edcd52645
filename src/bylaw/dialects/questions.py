"""Rules that languages and hosts bring themselves: one question about an event, one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.decision import Match

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.rule import View

_TEXT = "text"


class Question(Struct, frozen=True):
    """A check that gives a text, or nothing if there is nothing to say."""

    ask: Callable[[View], str]

    def test(self, view: View) -> Match | None:
        """The text, for the reason and whatever else is said."""
        text = self.ask(view)
        return Match({_TEXT: text}) if text else None


class Said(Struct, frozen=True):
    """The answer as the reason."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The text."""
        return said(match)


def said(match: Match) -> str:
    """What was answered."""
    return str(match.values[_TEXT])
