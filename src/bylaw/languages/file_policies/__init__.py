"""File policies: Markdown rules about changed files.

    text → reader.py → the policy as written (syntax.py) → rules (lowering.py)

A policy says which files must change together, or what to do after a change. The evaluation is
pure: changed files → matches (triggers.py) → states (evaluation.py). The host provides the changes
and keeps the queue.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.languages.base import WhenBroken
from bylaw.languages.file_policies.reader import front_matter_text
from bylaw.languages.file_policies.syntax import GROUP, KEYS, LEGACY_KEYS, NAME
from bylaw.model.vocabulary import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.base import Launch, LoadResult, RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = "deepwork Policy System Design (sets, pairs, commands, queue), with the mode `created`"
suffixes = (".md",)
common_ending = True
one_book_per_file = False
when_broken = WhenBroken(group=GROUP, kinds=(Kind.AGENT_STOP,), verdict=Verdict.WARN, once=True)
MAX_KEYS = 20  # more than a policy has, so a file with more keys is not compared
_KNOWN = frozenset((*KEYS, *LEGACY_KEYS))
# Keys that the front matter of notes and other Markdown files often has as well.
_COMMON_KEYS = frozenset(("name", "created", "set", "action", "instructions"))
_DATE = re.compile(r"""["']?\d{4}-\d\d-\d\d""")


def detect(source: SourceFile) -> bool:
    """Return whether the front matter has a key that only policies have, or no foreign keys.

    A misspelled key counts as the key. Files in the folder of policies are not tested.
    """
    lines = [
        line
        for line in front_matter_text(source).splitlines()
        if line[:1] not in (" ", "\t", "-", "#")
    ]
    pairs = [line.partition(":") for line in lines if ":" in line]
    values = {key.strip().strip("\"'"): value.strip() for key, _, value in pairs}
    if values.keys() & (_KNOWN - _COMMON_KEYS):
        return True
    is_note = values.keys().isdisjoint(_COMMON_KEYS - {"name"}) or len(values) > MAX_KEYS
    if is_note or _DATE.match(values.get("created", "")):
        return False
    from bylaw.model.suggest import nearest_name  # noqa: PLC0415 - only notes need it

    return all(key in _KNOWN or nearest_name(key, _KNOWN) for key in values)


def rule_text(source: SourceFile) -> str:
    """Return the whole text."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """Return the finding unchanged, with the code of the common reader."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken policy only warns
    """Return False: policies do not depend on each other."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Launch]:  # noqa: ARG001 - the rules are enough
    """Return the commands of all policies."""
    from bylaw.languages.file_policies.lowering import starts as found  # noqa: PLC0415 - see `dialects.base`

    return found(book)


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the policies of all files; an error in one file does not affect the others."""
    from bylaw.languages.file_policies.lowering import load as loaded  # noqa: PLC0415 - see `dialects.base`

    return loaded(files)
