"""ChatMD: `<rules>` and `<policy>` in the file of a chat → rules that act, constraints that gate.

    text → tree (syntax/) → elements as written (reading.py) → lowered (lowering.py)

A file is a book. Its policy is looked at first, then its rules (CM-A36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.dialects.base import Loaded, WhenBroken
from bylaw.dialects.chatmd.lowering import POLICY_GROUP, lowered, no_rules
from bylaw.dialects.chatmd.procedures import NAME
from bylaw.dialects.chatmd.reading import read_file
from bylaw.dialects.chatmd.rule_text import rule_text
from bylaw.dialects.chatmd.starting import starts
from bylaw.model.diagnostic import has_errors
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Group
    from bylaw.model.source import SourceFile

__all__ = [
    "detect",
    "in_own_words",
    "load",
    "name",
    "refuses_set",
    "rule_text",
    "starts",
    "when_broken",
]

name = NAME
spec = "Design: ChatMD Rules and Policy"
suffixes = (".chatmd",)
common_ending = False
one_book_per_file = True
when_broken = WhenBroken(group=POLICY_GROUP, kinds=(Kind.TOOL_BEFORE,), verdict=Verdict.DENY)


def detect(source: SourceFile) -> bool:  # noqa: ARG001 - no other language has this ending
    """Every file that is called so."""
    return True


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of the reader are as good as any."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a chat is nobody's condition
    """Never: a file that does not load denies calls."""
    return False


def load(files: Sequence[RuleFile]) -> Loaded:
    """The policy and the rules of a file."""
    if not files:
        return Loaded(no_rules())
    (file,) = files
    reading = read_file(file)
    groups: tuple[Group, ...] = lowered(
        reading.written, file, reading.findings, reading.places.span
    )
    found = [reading.places.relocated(one) for one in reading.findings.told()]
    if has_errors(found):
        groups = tuple(replace(group, rules=()) for group in groups)
    return Loaded(groups, tuple(found))
