"""Outcomes of expectations, and the page rewritten with the real results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.source import SourceFile, Span


class Edit(Struct, frozen=True):
    """A text that replaces `span`."""

    span: Span
    text: str


class Outcome(Struct, frozen=True):
    """One expectation: its place, its failure, and the edit that makes the page right.

    `failure` is empty if the result is as expected. There is no edit if the page need not change,
    or if no text at that place can make it right.
    """

    place: Span
    failure: str = ""
    edit: Edit | None = None


def updated(source: SourceFile, outcomes: Iterable[Outcome]) -> str:
    """Return the text of the page with the real results."""
    pieces, at = [], 0
    edits = [outcome.edit for outcome in outcomes if outcome.edit is not None]
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [source.text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*pieces, source.text[at:]])
