"""The commands that the policies of a book can start, for the person who must trust them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Start, Startable
from bylaw.dialects.file_policies.commands import script_of
from bylaw.dialects.file_policies.steps import Runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.procedure import Book


def starts(book: Book) -> Sequence[Start]:
    """Return the commands of all policies."""
    found = [
        Start(Startable.PROGRAM, maker.action.command, rule.uid, script_of(maker.action.words))
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        if isinstance(maker, Runs)
    ]
    return list(dict.fromkeys(found))
