"""Units of a history → a relevance score for each, from 0 to 1, computed from shared words.

    score = 0.7 · overlap + 0.2 · recency + 0.1 if a person wrote something in it

`overlap` is the number of words that a unit shares with the messages being worked on, divided by
the number of words of the side that has fewer. Words that occur in most units are ignored.
`recency` is 1 for the newest unit. Words are counted and not weighted, so that their order in a set
cannot change a score.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.hosts.chat.blocks import Block

OVERLAP, RECENCY, BY_PERSON = 0.7, 0.2, 0.1
# The least divisor: a unit with fewer words could share all of them by chance.
FEWEST_WORDS = 8
# With fewer units than this, no word is ignored as common.
FEWEST_UNITS = 4
# Characters of a block that are read.
MAX_READ_CHARS = 20_000

_WORD = re.compile(r"\w[\w./-]{2,}")


def scores(units: Sequence[list[Block]], focus: Iterable[Block]) -> list[float]:
    """Return the score of each unit, oldest first."""
    words = [_words(unit) for unit in units]
    common = _common(words)
    sought = _words(focus) - common
    return [
        OVERLAP * _overlap(own - common, sought)
        + RECENCY * number / len(units)
        + BY_PERSON * any(block.by_person for block in unit)
        for number, (unit, own) in enumerate(zip(units, words, strict=True), 1)
    ]


def _words(blocks: Iterable[Block]) -> set[str]:
    texts = (block.text[:MAX_READ_CHARS].casefold() for block in blocks)
    return {word.rstrip("./-") for text in texts for word in _WORD.findall(text)}


def _common(units: list[set[str]]) -> set[str]:
    if len(units) < FEWEST_UNITS:
        return set()
    found = Counter(word for words in units for word in words)
    return {word for word, times in found.items() if 2 * times > len(units)}


def _overlap(own: set[str], sought: set[str]) -> float:
    return len(own & sought) / max(min(len(own), len(sought)), FEWEST_WORDS)
