"""A file and the elements of it that go → its new text, in which they stand in archives.

Runs of elements that go, with what is not sent between them, are each wrapped in place; every
other character stays. Taking away the tags of an archive, each with its line break, and the block
behind the last one gives the old text back.
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
    """Where an archive is to stand, and where the elements in it begin that are messages."""

    span: Span
    begins: list[int]


def runs(document: Document, going: Collection[int], sent: Collection[int]) -> list[Run]:
    """What goes; elements are named by where they begin, `sent` are all that make blocks."""
    finding = _Finding(document, going, sent)
    for node in document.children:
        finding.take(node)
    return finding.runs


class _Finding:
    """Runs while the nodes of a file come."""

    def __init__(self, document: Document, going: Collection[int], sent: Collection[int]) -> None:
        self.runs: list[Run] = []
        self._source = document.source
        self._going, self._sent = going, sent
        self._open = False
        # Where reasoning begins that belongs to whatever comes next.
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
        """Whether it says nothing to anybody, wherever it stands."""
        if isinstance(node, Element):
            return node.name in MESSAGES and node.span.start not in self._sent
        is_blank = isinstance(node, Text) and self._source.slice(node.span).isspace()
        return is_blank or isinstance(node, Comment)


def archived(text: str, found: Iterable[tuple[Run, int]], rule: str, behind: str) -> str:
    """The new text; each run comes with the number of its messages, `behind` is for the last."""
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
