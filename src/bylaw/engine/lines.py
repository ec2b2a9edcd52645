"""Text of an event → its lines, for groups that are read line by line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.event import Event

# Far more than the commands of any text. The rest is not read, and the trace says so.
MAX_LINES = 10_000

_LINE = re.compile(r"[^\n]+")


def lines_of(event: Event) -> Iterator[str]:
    """Yield the lines that are not blank. A text may have very many, so there is no list."""
    for found in _LINE.finditer(getattr(event, "text", "")):
        line = found[0].removesuffix("\r")
        if line and not line.isspace():
            yield line
