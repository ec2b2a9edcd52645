"""How expectations came out, and a page with what really happened written in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.source import SourceFile, Span


class Edit(Struct, frozen=True):
    """A text to put where `span` is."""

    span: Span
    text: str


class Outcome(Struct, frozen=True):
    """One expectation: where it stands, what is wrong, and the edit that makes the page right.

    `failure` is empty if all is as expected. There is no edit if the page need not change, or
    if nothing that could be written there would help.
    """

    place: Span
    failure: str = ""
    edit: Edit | None = None


def updated(source: SourceFile, outcomes: Iterable[Outcome]) -> str:
    """The text of the page with what really happened."""
    pieces, at = [], 0
    edits = [outcome.edit for outcome in outcomes if outcome.edit is not None]
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [source.text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*pieces, source.text[at:]])
