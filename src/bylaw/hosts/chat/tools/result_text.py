"""What a tool gave → the text that the model reads, of bounded length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.write import writable
from bylaw.hosts.chat.tools.base import MAX_RESULT_CHARS
from bylaw.model.values import as_text

if TYPE_CHECKING:
    from bylaw.model.values import JSON

_ROOM_FOR_NOTE = 100


def result_text(value: JSON) -> str:
    """Text as a file can hold it, anything else as JSON; the middle of a long one is left out."""
    text = writable(as_text(value))
    if len(text) <= MAX_RESULT_CHARS:
        return text
    half = (MAX_RESULT_CHARS - _ROOM_FOR_NOTE) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out:,} characters left out …\n{text[-half:]}"
