"""A ChatMD text → the part that its rules depend on: settings, tools, rules, policies, imports.

A chat grows with every turn and its rules stay the same, so neither their digest nor the journal
may depend on what was said. What is left out becomes blanks, so that every line and column stays
where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.once import parse_once
from bylaw.model.diagnostic import has_errors
from bylaw.model.source import BOM

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile

KEPT = frozenset(
    {"rules", "policy", "config", "tool", "import", "script", "shell_access", "moderator_runtime"}
)


def governing_text(source: SourceFile) -> str:
    """That part at its place; all of a text that cannot be read."""
    document, findings = parse_once(source)
    if has_errors(findings):
        return source.text
    pieces, at = [], 0
    for element in document.elements:
        if element.name in KEPT:
            pieces.append(_blank(source.text[at : element.span.start]))
            pieces.append(source.text[element.span.start : element.span.end])
            at = element.span.end
    return "".join(pieces)


def _blank(text: str) -> str:
    """Its lines, and as many blanks as lead to what follows it."""
    mark = BOM if text.startswith(BOM) else ""
    _, _, last = text.removeprefix(BOM).rpartition("\n")
    return mark + "\n" * text.count("\n") + " " * len(last)
