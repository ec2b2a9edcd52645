"""The commands that the rules of a book can start, for the person who must trust them."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING

from bylaw.dialects.base import Start, Startable
from bylaw.dialects.law.actions import Runs
from bylaw.dialects.law.command_line import WHITELIST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.procedure import Book


def starts(book: Book) -> Sequence[Start]:
    """Return the command lines of all rules, once for each written rule."""
    found = [
        Start(Startable.PROGRAM, _command(maker), rule.uid)
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        if isinstance(maker, Runs)
    ]
    return list(dict.fromkeys(found))


def _command(maker: Runs) -> str:
    if maker.action.of_message:
        return f"any command in `run` of an approved message ({', '.join(WHITELIST)})"
    return join(maker.action.argv)
