"""Texts → shorter ones that fit into a room together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.model.visible import clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

_SENTENCE_ENDS = re.compile(r"[.!?…:;](?=\s)|\n")
# Of what has no room the beginning tells what it was about, the end where it led to.
_OF_BEGINNING = 1 / 3
# The line that says how many are left out.
_GAP = 20


def fitted(texts: Sequence[str], room: int, shortest: int) -> list[str]:
    """Cut the longest until all have room, none below `shortest`; else leave out the middle.

    A line break behind each is counted.
    """
    fair = max(_fair_length([len(text) for text in texts], room - len(texts)), shortest)
    cut = [shortened(text, fair) for text in texts]
    return cut if _chars(cut) <= room else _without_middle(cut, room)


def shortened(text: str, room: int) -> str:
    """The beginning of a text, to the end of a sentence if that does not cost half of it."""
    if len(text) <= room:
        return text
    ends = [found.end() for found in _SENTENCE_ENDS.finditer(text, room // 2, room - 2)]
    return text[: ends[-1]].rstrip() + " …" if ends else clipped(text, room)


def _fair_length(lengths: list[int], room: int) -> int:
    """The length to which all are cut that are longer."""
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
    """How many of the first ones fit."""
    for number, text in enumerate(texts):
        room -= len(text) + 1
        if room < 0:
            return number
    return len(texts)


def _chars(texts: list[str]) -> int:
    return sum(len(text) + 1 for text in texts)
