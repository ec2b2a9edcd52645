"""The context language: `[[MODULE]]` documents → commands that set and enable, checks that halt.

    texts → blocks (framing.py) → declarations (schema.py) → one document (reading.py) → lowered

All files are one document: what is wrong with one of them leaves none of it in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.dialects.base import WhenBroken
from bylaw.dialects.context.framing import BLOCK_TYPES, MARKER
from bylaw.dialects.context.names import CHECKS, NAME, VERSION
from bylaw.model.codes.context import PARSE_ERROR
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import Loaded, RuleFile, Start
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

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
    """Whether it has a marker of a block; a link of a wiki alone on its line is none."""
    markers = MARKER.finditer(source.text)
    return any(found["type"].upper() in BLOCK_TYPES for found in markers)


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of this language are a closed list: what is no text cannot be parsed."""
    return replace(finding, code=PARSE_ERROR.name)


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken document denies, that is enough
    """Never: a document that does not load denies what it could have."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - see below
    """Nothing: commands of this language only set and enable."""
    return ()


def load(files: Sequence[RuleFile]) -> Loaded:
    """The commands and checks of all files."""
    from bylaw.dialects.context.loading import load as loaded  # noqa: PLC0415 - see `dialects.base`

    return loaded(files)
