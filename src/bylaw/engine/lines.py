"""The text of an event → the lines that a group reads one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.event import Event

# Far more commands than anyone writes; what lies behind is prose, and the trace says so.
MAX_LINES = 10_000

_LINE = re.compile(r"[^\n]+")


def lines_of(event: Event) -> Iterator[str]:
    """The lines that are not blank, one at a time: a text may have very many."""
    for found in _LINE.finditer(getattr(event, "text", "")):
        line = found[0].removesuffix("\r")
        if line and not line.isspace():
            yield line
