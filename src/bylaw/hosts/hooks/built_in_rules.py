"""The book of Bylaw's own hook rules, loaded like any other so that the journal stores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.hook_rules import name as HOOKS  # noqa: N812 - the name of the language
from bylaw.model.source import SourceFile
from bylaw.model.uid import BUILT_IN
from bylaw.runtime.discovery import Found, Search, Why
from bylaw.runtime.loading import load_read
from bylaw.runtime.rule_texts import RuleText

if TYPE_CHECKING:
    from bylaw.runtime.loading import LoadedBook


def built_in_book(root: str) -> LoadedBook:
    """Load the only book of the language `hooks`."""
    found = Found(BUILT_IN, "", HOOKS, Why.GIVEN, BUILT_IN, "")
    library = load_read(Search(root, (found,)), [RuleText(found, SourceFile(BUILT_IN, ""))])
    return library.books[0]
