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


def lines_of(event: Event) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, each with its number in the text, from 1."""
    text: str = getattr(event, "text", "")
    number, counted = 1, 0
    for found in _LINE.finditer(text):
        line = found[0].removesuffix("\r")
        if line and not line.isspace():
            number += text.count("\n", counted, found.start())
            counted = found.start()
            yield number, line
