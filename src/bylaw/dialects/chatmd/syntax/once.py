"""Parse a chat once: several callers read the rules, tools and messages of the same text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.parse import parse

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.nodes import Document
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile


def parse_once(source: SourceFile) -> tuple[Document, list[Diagnostic]]:
    """Same as `parse`, but the last text is not parsed again."""
    document, findings = _parsed(source)
    return document, list(findings)


@lru_cache(maxsize=1)
def _parsed(source: SourceFile) -> tuple[Document, tuple[Diagnostic, ...]]:
    document, findings = parse(source)
    return document, tuple(findings)
