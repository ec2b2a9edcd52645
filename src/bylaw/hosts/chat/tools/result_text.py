"""The result of a tool → a text of limited length for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.write import writable
from bylaw.hosts.chat.tools.base import MAX_RESULT_CHARS
from bylaw.model.values import as_text

if TYPE_CHECKING:
    from bylaw.model.values import JSON

_ROOM_FOR_NOTE = 100


def result_text(value: JSON) -> str:
    """Return text in a form that can be written to a file, and other values as JSON.

    The middle of a long text is left out.
    """
    text = writable(as_text(value))
    if len(text) <= MAX_RESULT_CHARS:
        return text
    half = (MAX_RESULT_CHARS - _ROOM_FOR_NOTE) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out:,} characters left out …\n{text[-half:]}"
