"""The body of `<insert>` or `<agent>` → the text of a message, verbatim (CM-A45, CM-138)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.content import text_of
from bylaw.dialects.chatmd.syntax.nodes import Raw, Text

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.elements import ElementReader

INDENT = " \t"


def message_text(reader: ElementReader) -> str:
    """Return the text without comments, common indentation and outer blank lines. Keeps RAW."""
    children = reader.element.children
    if any(isinstance(node, Raw) for node in children):
        return text_of(reader.element, reader.source)
    return dedented("".join(reader.source.slice(n.span) for n in children if isinstance(n, Text)))


def dedented(text: str) -> str:
    """Remove the common indentation of all lines, and blank lines before and after the text."""
    lines = text.split("\n")
    spoken = [number for number, line in enumerate(lines) if line.strip()]
    if not spoken:
        return ""
    kept = lines[spoken[0] : spoken[-1] + 1]
    indent = _common_indent([line for line in kept if line.strip()])
    joined = "\n".join(_cut(line, indent) for line in kept)
    # The line break after the last line was removed. If it was CRLF, remove its CR, too.
    return joined.removesuffix("\r") if spoken[-1] + 1 < len(lines) else joined


def _common_indent(lines: list[str]) -> int:
    indents = [line[: _indent(line)] for line in lines]
    first, last = min(indents), max(indents)
    pairs = zip(first, last, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(first))


def _cut(line: str, indent: int) -> str:
    # A blank line may be shorter than the indentation.
    return line[min(indent, _indent(line)) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(INDENT))
