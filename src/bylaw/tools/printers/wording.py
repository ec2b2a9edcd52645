"""Words → what may be shown: control characters visible, length bounded, in the right number."""

from __future__ import annotations

from bylaw.model.visible import clipped, visible

# A headline may quote what the user wrote, and that may be megabytes on one line.
MAX_WORDS = 1000


def shown(words: str) -> str:
    """One line of bounded length without any unseen character."""
    return visible(clipped(words, MAX_WORDS))


def number_of(number: int, word: str) -> str:
    """`1 rule`, `2 rules`."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")
