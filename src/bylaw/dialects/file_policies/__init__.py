"""File policies: Markdown files that say which files must change together, or what follows.

    text → read (reader.py) → the policy as written (written.py) → lowered (lowering.py)

What a policy finds is pure: changed files in (sieve.py, correspondence.py), states out
(judging.py). Who knows the changes and keeps the queue is a host.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.base import WhenBroken
from bylaw.dialects.file_policies.front_matter import head
from bylaw.dialects.file_policies.names import GROUP, KEYS, LEGACY_KEYS, NAME
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import Loaded, RuleFile, Start
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = "deepwork Policy System Design (sets, pairs, commands, queue), with the mode `created`"
suffixes = (".md",)
common_ending = True
one_book_per_file = False
when_broken = WhenBroken(group=GROUP, kinds=(Kind.AGENT_STOP,), verdict=Verdict.WARN, once=True)
MAX_KEYS = 20  # that are compared with those of a policy, which has fewer
_KNOWN = frozenset((*KEYS, *LEGACY_KEYS))
# Many Markdown files have front matter, and notes of all sorts have such keys.
_OF_OTHERS_TOO = frozenset(("name", "created", "set", "action", "instructions"))
_DATE = re.compile(r"""["']?\d{4}-\d\d-\d\d""")


def detect(source: SourceFile) -> bool:
    """Whether it has front matter with a key that only a policy has, or with none but its keys.

    Slips in keys count as the keys. What lies in the folder of policies needs no such proof.
    """
    lines = [line for line in head(source).splitlines() if line[:1] not in (" ", "\t", "-", "#")]
    pairs = [line.partition(":") for line in lines if ":" in line]
    values = {key.strip().strip("\"'"): value.strip() for key, _, value in pairs}
    if values.keys() & (_KNOWN - _OF_OTHERS_TOO):
        return True
    is_note = values.keys().isdisjoint(_OF_OTHERS_TOO - {"name"}) or len(values) > MAX_KEYS
    if is_note or _DATE.match(values.get("created", "")):
        return False
    from bylaw.model.suggest import nearest  # noqa: PLC0415 - see `dialects.base`

    return all(key in _KNOWN or nearest(key, _KNOWN) for key in values)


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of the reader are as good as any."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken policy warns, that is enough
    """Never: policies work without each other."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - the rules tell
    """The commands of all policies."""
    from bylaw.dialects.file_policies.starting import starts as found  # noqa: PLC0415 - see `dialects.base`

    return found(book)


def load(files: Sequence[RuleFile]) -> Loaded:
    """The policies of all files; one bad file spoils no other."""
    from bylaw.dialects.file_policies.loading import load as loaded  # noqa: PLC0415 - see `dialects.base`

    return loaded(files)
