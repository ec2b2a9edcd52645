"""A line that was not found → the most similar line of the file."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.chat.tools.files import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

# Comparing is slow, and this is only a hint.
MAX_COMPARED_LINES = 2_000
MAX_COMPARED_CHARS = 120


def nearest_line(lines: Sequence[str], wanted: str, begin: int = 0) -> str:
    """Return the end of a message that names the nearest line from `begin` on, empty if none is."""
    key = _key(wanted)
    found: dict[str, int] = {}
    for number, line in enumerate(islice(lines, begin, begin + MAX_COMPARED_LINES), begin + 1):
        found.setdefault(_key(line), number)
    near = get_close_matches(key, [line for line in found if line], n=1) if key else []
    if not near:
        return ""
    number = found[near[0]]
    return f"; the nearest is line {number}: `{shown(lines[number - 1].strip())}`"


def _key(line: str) -> str:
    return line.strip()[:MAX_COMPARED_CHARS]
