"""The message that replaces others: its text, and how to recognise it.

It is a user message in `<system-reminder>`, as ochat writes its own. The next compaction treats it
as any other message, and its content goes into the next summary. It is not summarised again if
there is nothing else to summarise.
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
    """Return the text of the message. Nothing in `text` can end the reminder early."""
    harmless = _TAG.sub(r"[\1", text)
    return f"{_OPEN}\n{headline}\n\n{harmless}\n{_CLOSE}"


def is_reminder(block: Block) -> bool:
    """Whether a rule replaced other messages by this one."""
    return block.role is Role.USER and block.synthetic and block.text.startswith(_OPEN)


def lines_of(block: Block) -> list[str]:
    """Return the lines of a reminder without its headline."""
    inside = block.text.removeprefix(_OPEN).removesuffix(_CLOSE)
    return [line for line in map(str.strip, inside.splitlines()) if line][1:]
