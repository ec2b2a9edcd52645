"""Names of tools and ids of calls → what a provider takes for them.

In a file both may hold `.`, `:` and `/`, and may be long. A name that a provider would refuse is
sent in another form, always the same one; a mark keeps two names apart that would look alike.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.chat.messages import ToolSpec

MAX_WIRE_NAME = 64

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_MARK_CHARS = 8


def wire_name(name: str, limit: int = MAX_WIRE_NAME) -> str:
    """A name of letters, digits, `_` and `-`, at most so long."""
    if len(name) <= limit and _PLAIN.fullmatch(name):
        return name
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
    return f"{_OTHER.sub('_', name[: limit - _MARK_CHARS - 1])}_{mark}"


def names_back(tools: Iterable[ToolSpec]) -> dict[str, str]:
    """The names of tools by those that were sent."""
    return {wire_name(tool.name): tool.name for tool in tools}
