"""Shorten texts so that all of them together fit into a number of characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.model.visible import clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

_SENTENCE_ENDS = re.compile(r"[.!?…:;](?=\s)|\n")
# The share of the first texts, which show the subject. The last texts show the outcome.
_OF_BEGINNING = 1 / 3
# Characters for the line that says how many texts are left out.
_GAP = 20


def fitted(texts: Sequence[str], room: int, shortest: int) -> list[str]:
    """Shorten the longest texts until all fit into `room` characters.

    No text is cut below `shortest`; if they do not fit then, those in the middle are left out. A
    line break after each text is counted.
    """
    fair = max(_fair_length([len(text) for text in texts], room - len(texts)), shortest)
    cut = [shortened(text, fair) for text in texts]
    return cut if _chars(cut) <= room else _without_middle(cut, room)


def shortened(text: str, room: int) -> str:
    """Return the beginning of a text, up to the end of a sentence if that uses at least half."""
    if len(text) <= room:
        return text
    ends = [found.end() for found in _SENTENCE_ENDS.finditer(text, room // 2, room - 2)]
    return text[: ends[-1]].rstrip() + " …" if ends else clipped(text, room)


def _fair_length(lengths: list[int], room: int) -> int:
    """Return the length to which all longer texts are cut."""
    waiting = len(lengths)
    for length in sorted(lengths):
        if length * waiting > room:
            return max(room // waiting, 0)
        room -= length
        waiting -= 1
    return max(lengths, default=0)


def _without_middle(texts: list[str], room: int) -> list[str]:
    room -= _GAP
    first = _that_fit(texts, int(room * _OF_BEGINNING))
    last = _that_fit(texts[first:][::-1], room - _chars(texts[:first]))
    left_out = len(texts) - first - last
    return [*texts[:first], f"[{left_out} left out]", *texts[len(texts) - last :]]


def _that_fit(texts: list[str], room: int) -> int:
    """Return how many of the first texts fit."""
    for number, text in enumerate(texts):
        room -= len(text) + 1
        if room < 0:
            return number
    return len(texts)


def _chars(texts: list[str]) -> int:
    return sum(len(text) + 1 for text in texts)
