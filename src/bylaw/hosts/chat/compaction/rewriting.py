"""A history and the units to remove → the file without them, as text and as blocks."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.chatmd.syntax.parse import parse
from bylaw.hosts.chat.blocks import own_blocks
from bylaw.hosts.chat.compaction.archive import archived, runs
from bylaw.hosts.chat.compaction.failing import CompactionError
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.compaction.archive import Run
    from bylaw.hosts.chat.compaction.units import History


class Rewriting(Struct, frozen=True, dict=True):
    """A file with some units removed.

    `source` and `history` are the file before. `stand_in` is the text of the block that replaces
    the removed units, empty if nothing replaces them.
    """

    source: SourceFile
    history: History
    going: frozenset[int]
    rule: str
    stand_in: str

    @cached_property
    def runs(self) -> list[Run]:
        """Where the new archives are."""
        return runs(parse(self.source)[0], frozenset(self._messages), frozenset(self._standing))

    @cached_property
    def text(self) -> str:
        """The new text. Raises CompactionError if it would not parse to the expected blocks."""
        counted = [(run, sum(self._messages[at] for at in run.begins)) for run in self.runs]
        behind = f"\n{self.stand_in}".rstrip("\n")
        text = archived(self.source.text, counted, self.rule, behind)
        found = own_blocks(SourceFile(self.source.path, text))
        if [_written(block) for block in found] != self._expected():
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
    def _standing(self) -> dict[int, str]:
        """All elements of the file that make a block: where each begins, and its text."""
        return {block.element.span.start: _written(block) for block in own_blocks(self.source)}

    @cached_property
    def _messages(self) -> Counter[int]:
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
        kept = [(at, text) for at, text in self._standing.items() if at not in self._messages]
        before = [text for at, text in kept if at < last]
        behind = [text for at, text in kept if at >= last]
        return [*before, *map(_written, self._stand_in_blocks()), *behind]


def _written(block: Block) -> str:
    return block.source.slice(block.element.span)
