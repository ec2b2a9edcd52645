"""Messages that go → the beginning of each, on one line: what stands for them without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.compaction.fitting import fitted, shortened
from bylaw.hosts.chat.compaction.reminder import is_reminder, lines_of
from bylaw.hosts.chat.compaction.wording import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.chat.blocks import Block

MAX_EXTRACT_CHARS = 6_000
MAX_LINE_CHARS = 400
# At most this part of what it stands for, so that something is gained.
SHARE = 4
_SHORTEST = 60


def extract(blocks: Sequence[Block]) -> str:
    """The lines; those of an earlier summary are taken over as they are."""
    lines = [text for block in blocks for text in _lines(block)]
    room = min(MAX_EXTRACT_CHARS, sum(len(block.text) for block in blocks) // SHARE)
    cut = [shortened(text, MAX_LINE_CHARS) for text in lines]
    return "\n".join(fitted(cut, room, _SHORTEST))


def _lines(block: Block) -> list[str]:
    return lines_of(block) if is_reminder(block) else [line(block)]
