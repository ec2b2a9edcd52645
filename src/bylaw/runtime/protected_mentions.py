"""A text that nobody can read to its end → whether it speaks of a path, in one piece or in several.

`cd .claude && rm settings.json` and `join('.claude', 'settings.json')` name a path without writing
it down. So the parts of a path count as they follow one another, each for itself, not far apart;
the first of them may also be those of the folder in which the text is run.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

MAX_APART = 500  # characters between two parts of a path
_ANY = "*"


def speaks_of(name: str, text: str, folder: str) -> bool:
    """Whether a text that is run in a folder may mean a path of that name; `*` stands for any.

    Name and text are without regard to case (`casefold`).
    """
    parts = name.split("/")
    there = folder.casefold().rstrip("/").split("/")
    starts = [at for at in range(len(parts)) if not at or there[-at:] == parts[:at]]
    return any(_follow_one_another(parts[at:], text) for at in starts)


def _follow_one_another(parts: list[str], text: str) -> bool:
    if not all(part.strip(_ANY) in text for part in parts):
        return False  # most texts are done with here
    ends: list[int] = []
    for number, part in enumerate(parts):
        spots = [found.span() for found in _alone(part).finditer(text)]
        ends = [end for start, end in spots if not number or _ends_before(ends, start)]
        if not ends:
            return False
    return True


def _ends_before(ends: list[int], start: int) -> bool:
    """Whether one of them lies before a place, and not far from it."""
    at = bisect_left(ends, start - MAX_APART)
    return at < len(ends) and ends[at] <= start


@cache
def _alone(part: str) -> re.Pattern[str]:
    """A part of a path where it is no part of a longer name."""
    written = re.escape(part).replace(re.escape(_ANY), r"[^\s/'\"]*")
    return re.compile(rf"(?<![\w.-]){written}(?![\w-]|\.\w)")
