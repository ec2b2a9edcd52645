"""A ChatMD text → the part that its rules depend on: settings, tools, rules, policies, imports.

A chat grows with every turn while its rules stay the same. So the digest of the rules and the
journal must not depend on messages. Blanks replace everything else, so that lines and columns stay
the same.
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
    """Return that part at its place; the complete text if it has errors."""
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
    """Return the line breaks of a text, and blanks in place of its last line."""
    mark = BOM if text.startswith(BOM) else ""
    _, _, last = text.removeprefix(BOM).rpartition("\n")
    return mark + "\n" * text.count("\n") + " " * len(last)
