"""The message that stands for others: its text, and how it is known again.

It is a user's message in `<system-reminder>`, as ochat writes its own. When the history is
compacted once more it is a message like any other, and what it says goes into the next summary;
only by itself it is not summed up again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from bylaw.hosts.chat.blocks import Block

_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"
_TAG = re.compile(r"<(/?system-reminder)", re.IGNORECASE)


def reminder(headline: str, text: str) -> str:
    """The text of the message; nothing in it can end the reminder early."""
    harmless = _TAG.sub(r"[\1", text)
    return f"{_OPEN}\n{headline}\n\n{harmless}\n{_CLOSE}"


def is_reminder(block: Block) -> bool:
    """Whether a rule put this message in the place of others."""
    return block.role is Role.USER and block.synthetic and block.text.startswith(_OPEN)


def lines_of(block: Block) -> list[str]:
    """What a reminder says, without its headline."""
    inside = block.text.removeprefix(_OPEN).removesuffix(_CLOSE)
    return [line for line in map(str.strip, inside.splitlines()) if line][1:]
