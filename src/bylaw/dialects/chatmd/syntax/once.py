"""The text of a chat → its tree, read once: its rules, tools and messages are asked for in turn."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.parse import parse

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.nodes import Document
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile


def parse_once(source: SourceFile) -> tuple[Document, list[Diagnostic]]:
    """As `parse`; the last text is not read a second time."""
    document, findings = _parsed(source)
    return document, list(findings)


@lru_cache(maxsize=1)
def _parsed(source: SourceFile) -> tuple[Document, tuple[Diagnostic, ...]]:
    document, findings = parse(source)
    return document, tuple(findings)
