"""Removed messages → the beginning of each on one line, in place of a summary by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.compaction.fitting import fitted, shortened
from bylaw.hosts.chat.compaction.reminder import is_reminder, lines_of
from bylaw.hosts.chat.compaction.wording import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.chat.blocks import Block

MAX_EXTRACT_CHARS = 6_000
# The line of a message has a quarter of the length of the message, within these bounds.
SHARE = 4
MIN_LINE_CHARS = 60
MAX_LINE_CHARS = 400


def extract(blocks: Sequence[Block]) -> str:
    """Return the lines. The lines of an earlier summary are not shortened while there is room."""
    lines = [text for block in blocks for text in _lines(block)]
    return "\n".join(fitted(lines, MAX_EXTRACT_CHARS, MIN_LINE_CHARS))


def _lines(block: Block) -> list[str]:
    if is_reminder(block):
        return lines_of(block)
    whole = line(block)
    return [shortened(whole, min(max(len(whole) // SHARE, MIN_LINE_CHARS), MAX_LINE_CHARS))]
