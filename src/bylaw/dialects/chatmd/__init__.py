"""ChatMD: `<rules>` and `<policy>` in a chat file → rules that act, and constraints that gate.

    text → syntax/ → tree → reading.py → rules as written → lowering.py → rules of the engine

Each file is a book. Its policy is evaluated first, then its rules (CM-A36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import WhenBroken
from bylaw.dialects.chatmd.names import NAME, POLICY_GROUP
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import Loaded, RuleFile, Start
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = "Design: ChatMD Rules and Policy"
suffixes = (".chatmd",)
common_ending = False
one_book_per_file = True
when_broken = WhenBroken(group=POLICY_GROUP, kinds=(Kind.TOOL_BEFORE,), verdict=Verdict.DENY)


def detect(source: SourceFile) -> bool:  # noqa: ARG001 - no other language has this suffix
    """Return True: the suffix decides."""
    return True


def rule_text(source: SourceFile) -> str:
    """Return the `<rules>`, the `<policy>` and the elements that they depend on."""
    from bylaw.dialects.chatmd.governing_text import governing_text  # noqa: PLC0415 - slow import

    return governing_text(source)


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """Return the finding unchanged."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - no chat is required
    """Return False: a broken file only denies calls."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:
    """List the tools and agents that rules call, and the commands behind tools."""
    from bylaw.dialects.chatmd.starting import starts as found  # noqa: PLC0415 - slow import

    return found(book, files)


def load(files: Sequence[RuleFile]) -> Loaded:
    """Load the policy and the rules of a file."""
    from bylaw.dialects.chatmd.loading import load as loaded  # noqa: PLC0415 - slow import

    return loaded(files)
