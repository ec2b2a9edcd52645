"""RULE_DSL (L-10-DSL): YAML rules that bind file events and bus commands to guarded actions.

    text → reader.py → the rule as written (syntax.py) → rules (lowering.py)

The language also has built-in rules before and after all written rules (built_in.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.languages.base import WhenBroken
from bylaw.languages.law.syntax import GROUP, NAME, VERSION
from bylaw.model.vocabulary import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.base import Launch, LoadResult, RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = f"LAW: RULE_DSL (L-10-DSL), version {VERSION}, Active Draft"
suffixes = (".yaml", ".yml")
common_ending = True
one_book_per_file = False
when_broken = WhenBroken(group=GROUP, kinds=(Kind.BUS,), verdict=Verdict.DENY)
# Rare in other YAML files. One of them is usually present even if another is misspelled.
_TYPICAL_KEYS = re.compile(
    r"""^[\s{[,-]*["']?(?:dsl_version|rule_id)["']?\s*:"""
    r"""|\bkind["']?\s*:\s*["']?(?:fs_event|bus_input)\b""",
    re.MULTILINE,
)


def detect(source: SourceFile) -> bool:
    """Return whether the text names the language version, a rule id or a trigger kind."""
    return _TYPICAL_KEYS.search(source.text) is not None


def rule_text(source: SourceFile) -> str:
    """Return the whole text."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """Return the finding unchanged, with the code of the common reader."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken file closes the bus
    """Return False: while a file does not load, every message is denied anyway."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Launch]:  # noqa: ARG001 - the rules are enough
    """Return the command lines of all rules."""
    from bylaw.languages.law.book import starts as found  # noqa: PLC0415 - see `dialects.base`

    return found(book)


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the rules of all files; an error in one file does not affect the others."""
    from bylaw.languages.law.book import load as loaded  # noqa: PLC0415 - see `dialects.base`

    return loaded(files)
