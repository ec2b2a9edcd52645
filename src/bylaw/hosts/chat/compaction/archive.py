"""Wrap the removed elements of a file in archives: a file and these elements → its new text.

Each run of removed elements, with anything between them that is not sent, is wrapped in place.
Every other character stays. Without the tags of the archives, each with its line break, and the
block after the last archive, the text is the old one again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.chatmd.syntax.names import ARCHIVE, MESSAGES
from bylaw.dialects.chatmd.syntax.nodes import Comment, Element, Text
from bylaw.dialects.chatmd.syntax.write import block as block_text
from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bylaw.dialects.chatmd.syntax.nodes import Document, Node

_REASONING = "reasoning"
_END = f"\n</{ARCHIVE}>"


class Run(Struct):
    """The span of a new archive, and where the removed elements in it begin."""

    span: Span
    begins: list[int]


def runs(document: Document, going: Collection[int], sent: Collection[int]) -> list[Run]:
    """Return the runs of removed elements.

    `going` and `sent` say where elements begin: those to remove, and all that make blocks.
    """
    finding = _Finding(document, going, sent)
    for node in document.children:
        finding.take(node)
    return finding.runs


class _Finding:
    """Collects the runs from the nodes of a file."""

    def __init__(self, document: Document, going: Collection[int], sent: Collection[int]) -> None:
        self.runs: list[Run] = []
        self._source = document.source
        self._going, self._sent = going, sent
        self._open = False
        # Where reasoning begins that belongs to the next element.
        self._ahead: int | None = None

    def take(self, node: Node) -> None:
        if isinstance(node, Element) and node.span.start in self._going:
            self._add(node.span)
        elif not self._may_lie_between(node):
            self._open, self._ahead = False, None
        elif isinstance(node, Element) and node.name == _REASONING and self._ahead is None:
            self._ahead = node.span.start

    def _add(self, span: Span) -> None:
        if not self._open:
            start = span.start if self._ahead is None else self._ahead
            self.runs.append(Run(Span(start, start), []))
        run = self.runs[-1]
        run.span = run.span.to(span)
        run.begins.append(span.start)
        self._open, self._ahead = True, None

    def _may_lie_between(self, node: Node) -> bool:
        """Whether a node is never sent and can be in an archive."""
        if isinstance(node, Element):
            return node.name in MESSAGES and node.span.start not in self._sent
        is_blank = isinstance(node, Text) and self._source.slice(node.span).isspace()
        return is_blank or isinstance(node, Comment)


def archived(text: str, found: Iterable[tuple[Run, int]], rule: str, behind: str) -> str:
    """Return the new text.

    Each run comes with the number of its messages. `behind` is written after the last archive.
    """
    pieces: list[str] = []
    at = 0
    for run, messages in found:
        pieces += text[at : run.span.start], _start(rule, messages)
        pieces += text[run.span.start : run.span.end], _END
        at = run.span.end
    return "".join((*pieces, behind, text[at:]))


def _start(rule: str, messages: int) -> str:
    marks = {"synthetic": "true", "via_rule": rule, "messages": str(messages)}
    return block_text(ARCHIVE, marks, "").removesuffix(f"</{ARCHIVE}>\n") + "\n"
