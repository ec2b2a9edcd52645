"""Names of tools and ids of calls → names that a provider accepts.

In a file both may contain `.`, `:` and `/`, and may be long. A name that a provider would reject is
sent in another form, always the same one. Part of a hash keeps similar names apart.
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
    """Return a name of letters, digits, `_` and `-`, with at most `limit` characters."""
    if len(name) <= limit and _PLAIN.fullmatch(name):
        return name
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
    return f"{_OTHER.sub('_', name[: limit - _MARK_CHARS - 1])}_{mark}"


def names_back(tools: Iterable[ToolSpec]) -> dict[str, str]:
    """Map the sent names of tools to their own names."""
    return {wire_name(tool.name): tool.name for tool in tools}
