"""RULE_DSL (L-10-DSL): YAML rules that bind file events and bus commands to guarded actions.

    text → read (reader.py) → the rule as written (written.py) → lowered (lowering.py)

Beside what is written stand the rules of the language itself: before (built_in.py) and behind
(closing.py) all others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.base import WhenBroken
from bylaw.dialects.law.names import GROUP, NAME, VERSION
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import Loaded, RuleFile, Start
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = f"LAW: RULE_DSL (L-10-DSL), version {VERSION}, Active Draft"
suffixes = (".yaml", ".yml")
common_ending = True
one_book_per_file = False
when_broken = WhenBroken(group=GROUP, kinds=(Kind.BUS,), verdict=Verdict.DENY)
# What hardly any other YAML has: one of them is there even if another is missing or misspelt.
_TELLING = re.compile(
    r"""^[\s{[,-]*["']?(?:dsl_version|rule_id)["']?\s*:"""
    r"""|\bkind["']?\s*:\s*["']?(?:fs_event|bus_input)\b""",
    re.MULTILINE,
)


def detect(source: SourceFile) -> bool:
    """Whether it names the version of the language, a rule, or a trigger."""
    return _TELLING.search(source.text) is not None


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of the reader are as good as any."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken file closes the bus, that is enough
    """Never: while a file does not load, every message is denied."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - the rules tell
    """The command lines of all rules."""
    from bylaw.dialects.law.starting import starts as found  # noqa: PLC0415 - see `dialects.base`

    return found(book)


def load(files: Sequence[RuleFile]) -> Loaded:
    """The rules of all files; one bad file spoils no other."""
    from bylaw.dialects.law.loading import load as loaded  # noqa: PLC0415 - see `dialects.base`

    return loaded(files)
