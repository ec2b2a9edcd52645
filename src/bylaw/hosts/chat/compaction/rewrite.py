"""A history and the units to remove → the file without them, as text and as blocks.

Each run of removed elements, with anything between them that is not sent, is wrapped in an archive
in place. Every other character stays. Without the tags of the archives, each with its line break,
and the block after the last archive, the text is the old one again.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.chat.blocks import own_blocks
from bylaw.hosts.chat.compaction.units import CompactionError
from bylaw.languages.chatmd.messages import block as block_text
from bylaw.languages.chatmd.parser import parse
from bylaw.languages.chatmd.scanner import ARCHIVE, MESSAGES, CommentNode, Element, TextNode
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.compaction.units import ChatHistory
    from bylaw.languages.chatmd.scanner import ChatDocument, ChatmdNode

_REASONING = "reasoning"
_END = f"\n</{ARCHIVE}>"


class ArchiveRun(Struct):
    """The span of a new archive, and where the removed elements in it begin."""

    span: Span
    begins: list[int]


def find_runs(
    document: ChatDocument, going: Collection[int], sent: Collection[int]
) -> list[ArchiveRun]:
    """Return the runs of removed elements.

    `going` and `sent` say where elements begin: those to remove, and all that make blocks.
    """
    finding = _ArchiveSearch(document, going, sent)
    for node in document.children:
        finding.take(node)
    return finding.runs


class _ArchiveSearch:
    """Collects the runs from the nodes of a file."""

    def __init__(
        self, document: ChatDocument, going: Collection[int], sent: Collection[int]
    ) -> None:
        self.runs: list[ArchiveRun] = []
        self._source = document.source
        self._going, self._sent = going, sent
        self._open = False
        # Where reasoning begins that belongs to the next element.
        self._ahead: int | None = None

    def take(self, node: ChatmdNode) -> None:
        if isinstance(node, Element) and node.span.start in self._going:
            self._add(node.span)
        elif not self._can_be_between(node):
            self._open, self._ahead = False, None
        elif isinstance(node, Element) and node.name == _REASONING and self._ahead is None:
            self._ahead = node.span.start

    def _add(self, span: Span) -> None:
        if not self._open:
            start = span.start if self._ahead is None else self._ahead
            self.runs.append(ArchiveRun(Span(start, start), []))
        run = self.runs[-1]
        run.span = run.span.to(span)
        run.begins.append(span.start)
        self._open, self._ahead = True, None

    def _can_be_between(self, node: ChatmdNode) -> bool:
        """Whether a node is never sent and can be in an archive."""
        if isinstance(node, Element):
            return node.name in MESSAGES and node.span.start not in self._sent
        is_blank = isinstance(node, TextNode) and self._source.slice(node.span).isspace()
        return is_blank or isinstance(node, CommentNode)


def archive_text(text: str, found: Iterable[tuple[ArchiveRun, int]], rule: str, behind: str) -> str:
    """Return the new text.

    Each run comes with the number of its messages. `behind` is written after the last archive.
    """
    pieces: list[str] = []
    at = 0
    for run, messages in found:
        pieces += text[at : run.span.start], _start_tag(rule, messages)
        pieces += text[run.span.start : run.span.end], _END
        at = run.span.end
    return "".join((*pieces, behind, text[at:]))


def _start_tag(rule: str, messages: int) -> str:
    marks = {"synthetic": "true", "via_rule": rule, "messages": str(messages)}
    return block_text(ARCHIVE, marks, "").removesuffix(f"</{ARCHIVE}>\n") + "\n"


class HistoryRewrite(Struct, frozen=True, dict=True):
    """A file with some units removed.

    `source` and `history` are the file before. `stand_in` is the text of the block that replaces
    the removed units, empty if nothing replaces them.
    """

    source: SourceFile
    history: ChatHistory
    going: frozenset[int]
    rule: str
    stand_in: str

    @cached_property
    def runs(self) -> list[ArchiveRun]:
        """Where the new archives are."""
        return find_runs(
            parse(self.source)[0],
            frozenset(self._removed_elements),
            frozenset(self._block_elements),
        )

    @cached_property
    def text(self) -> str:
        """The new text. Raises CompactionError if it would not parse to the expected blocks."""
        counted = [(run, sum(self._removed_elements[at] for at in run.begins)) for run in self.runs]
        behind = f"\n{self.stand_in}".rstrip("\n")
        text = archive_text(self.source.text, counted, self.rule, behind)
        found = own_blocks(SourceFile(self.source.path, text))
        if [_element_text(block) for block in found] != self._expected():
            raise CompactionError("the new file would not parse to the expected blocks")
        return text

    @cached_property
    def blocks(self) -> list[Block]:
        """The new history."""
        places = self.history.places_of(self.going)
        gone = set(places)
        kept = [place for place in range(len(self.history.blocks)) if place not in gone]
        at = bisect(kept, places[-1])
        blocks = [self.history.blocks[place] for place in kept]
        return [*blocks[:at], *self._stand_in_blocks(), *blocks[at:]]

    @cached_property
    def _block_elements(self) -> dict[int, str]:
        """All elements of the file that make a block: where each begins, and its text."""
        return {block.element.span.start: _element_text(block) for block in own_blocks(self.source)}

    @cached_property
    def _removed_elements(self) -> Counter[int]:
        """All removed elements: where each begins, and how many messages begin with it."""
        history = self.history
        return Counter(
            {
                history.blocks[place].element.span.start: place in history.message_at
                for place in history.places_of(self.going)
            }
        )

    def _stand_in_blocks(self) -> list[Block]:
        return own_blocks(SourceFile(self.source.path, self.stand_in))

    def _expected(self) -> list[str]:
        last = self.runs[-1].span.end
        kept = [
            (at, text)
            for at, text in self._block_elements.items()
            if at not in self._removed_elements
        ]
        before = [text for at, text in kept if at < last]
        behind = [text for at, text in kept if at >= last]
        return [*before, *map(_element_text, self._stand_in_blocks()), *behind]


def _element_text(block: Block) -> str:
    return block.source.slice(block.element.span)
