"""Check whether a text that cannot be parsed completely mentions a path, whole or in parts.

`cd .claude && rm settings.json` and `join('.claude', 'settings.json')` name a path without writing
it in one piece. So it is enough that the parts of a path follow one another as separate words, not
far apart. The first parts may also come from the folder in which the text runs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

MAX_APART = 500  # characters between two parts of a path
_ANY = "*"


def speaks_of(name: str, text: str, folder: str) -> bool:
    """Check whether a text that runs in a folder may refer to a path of that name.

    `*` stands for any name. Pass name and text in lower case (`casefold`).
    """
    parts = name.split("/")
    there = folder.casefold().rstrip("/").split("/")
    starts = [at for at in range(len(parts)) if not at or there[-at:] == parts[:at]]
    return any(_follow_one_another(parts[at:], text) for at in starts)


def _follow_one_another(parts: list[str], text: str) -> bool:
    if not all(part.strip(_ANY) in text for part in parts):
        return False  # most texts end here
    ends: list[int] = []
    for number, part in enumerate(parts):
        spots = [found.span() for found in _alone(part).finditer(text)]
        ends = [end for start, end in spots if not number or _ends_before(ends, start)]
        if not ends:
            return False
    return True


def _ends_before(ends: list[int], start: int) -> bool:
    """Check whether one of the ends is before a position and not far from it."""
    at = bisect_left(ends, start - MAX_APART)
    return at < len(ends) and ends[at] <= start


@cache
def _alone(part: str) -> re.Pattern[str]:
    """Return a pattern for a part of a path that is not part of a longer name."""
    written = re.escape(part).replace(re.escape(_ANY), r"[^\s/'\"]*")
    return re.compile(rf"(?<![\w.-]){written}(?![\w-]|\.\w)")
