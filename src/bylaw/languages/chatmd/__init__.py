"""ChatMD: `<rules>` and `<policy>` in a chat file → rules that act, and constraints that gate.

    text → parser.py → tree → reader.py → syntax.py → lowering.py → rules of the engine

Each file is a book. Its policy is evaluated first, then its rules (CM-A36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.languages.base import WhenBroken
from bylaw.model.vocabulary import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.base import Launch, LoadResult, RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

NAME = "chatmd"
POLICY_GROUP, RULES_GROUP = "policy", "rules"


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
    from bylaw.languages.chatmd.header import text_of_rules  # noqa: PLC0415 - slow import

    return text_of_rules(source)


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """Return the finding unchanged."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - no chat is required
    """Return False: a broken file only denies calls."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Launch]:
    """List the tools and agents that rules call, and the commands behind tools."""
    from bylaw.languages.chatmd.lowering import list_launches as found  # noqa: PLC0415 - slow import

    return found(book, files)


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the policy and the rules of a file."""
    from bylaw.languages.chatmd.lowering import load as loaded  # noqa: PLC0415 - slow import

    return loaded(files)
