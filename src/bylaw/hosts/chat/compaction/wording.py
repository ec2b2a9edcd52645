"""Blocks → lines of a transcript, for models that score or summarise it and for extracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.blocks import BlockKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.chat.blocks import Block


def entry(block: Block) -> str:
    """Return a block as text. No line of its text can look like the start of another block."""
    return _told(block, block.text.replace("\n", "\n  "))


def line(block: Block) -> str:
    """Return a block on one line."""
    return _told(block, " ".join(block.text.split()))


def entries(blocks: Iterable[Block]) -> str:
    """Return several blocks as text."""
    return "\n".join(map(entry, blocks))


def _told(block: Block, text: str) -> str:
    images = " [image]" * len(block.images)
    return f"{_speaker(block)}:{images} {text}"


def _speaker(block: Block) -> str:
    match block.kind:
        case BlockKind.CALL:
            by = "assistant" if block.by_model else f"rule {block.via_rule}"
            return f"{by} calls {block.tool}"
        case BlockKind.RESPONSE:
            return "tool, failed" if block.failed else "tool"
    return block.role.value
