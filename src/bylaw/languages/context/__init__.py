"""The context language: `[[MODULE]]` documents → commands that set and enable, checks that halt.

    texts → blocks.py → schema.py (declarations) → reader.py (one document) → lowering.py (rules)

All files together are one document. If one file has an error, none of its rules are active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.languages.base import WhenBroken
from bylaw.languages.context.blocks import BLOCK_TYPES, MARKER
from bylaw.model.codes.context import PARSE_ERROR
from bylaw.model.vocabulary import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.base import Launch, LoadResult, RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

NAME = "context"  # part of the names of rules and variables
VERSION = "0.4.20"
COMMANDS, CHECKS = "commands", "checks"


name = NAME
spec = f"ai-context-language-spec v{VERSION}"
suffixes = (".md",)
common_ending = True
one_book_per_file = False
when_broken = WhenBroken(
    group=CHECKS,
    kinds=(Kind.PROMPT, Kind.TOOL_BEFORE, Kind.TURN_END),
    verdict=Verdict.DENY,
)


def detect(source: SourceFile) -> bool:
    """Return whether the text has a block marker. Other `[[Names]]` may be wiki links."""
    markers = MARKER.finditer(source.text)
    return any(found["type"].upper() in BLOCK_TYPES for found in markers)


def rule_text(source: SourceFile) -> str:
    """Return the whole text."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """Replace the code: the list of codes is closed, so an unreadable file is a PARSE_ERROR."""
    return replace(finding, code=PARSE_ERROR.name)


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken document denies by itself
    """Return False: a document that does not load already denies everything it could deny."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Launch]:  # noqa: ARG001 - nothing starts
    """Return nothing: commands of this language only set variables and enable rules."""
    return ()


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the commands and checks of all files."""
    from bylaw.languages.context.lowering import load as loaded  # noqa: PLC0415 - see `dialects.base`

    return loaded(files)
