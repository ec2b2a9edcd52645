"""The newest messages and calls: a bounded number of them, and a bounded amount of text."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

# Guards can look back this far; totals are counters, so nothing else is kept.
WINDOW = 200
# Characters; whoever sends longer texts has a shorter window, and a session stays small.
WINDOW_CHARS = 262_144


class Sized(Protocol):
    """Something that takes room in a window."""

    @property
    def chars(self) -> int:
        """About how many characters it holds."""

    def without_text(self) -> Self:
        """The same without its long parts; it then holds none."""


Item = TypeVar("Item", bound=Sized)


def appended(window: tuple[Item, ...], chars: int, item: Item) -> tuple[tuple[Item, ...], int]:
    """The window with one item more, and its characters.

    There are always the newest items (TR-A18); while they hold too much text, the oldest lose
    theirs. The sum is carried along, so that an item costs the same however many there are.
    """
    chars += item.chars
    leave = max(len(window) + 1 - WINDOW, 0)
    chars -= sum(old.chars for old in window[:leave])
    items = window[leave:] + (item,)  # noqa: RUF005 - the other way takes twice as long
    return (items, chars) if chars <= WINDOW_CHARS else _lightened(items, chars)


def _lightened(items: tuple[Item, ...], chars: int) -> tuple[tuple[Item, ...], int]:
    kept = list(items)
    for place, old in enumerate(items):
        if chars <= WINDOW_CHARS:
            break
        if old.chars:
            chars -= old.chars
            kept[place] = old.without_text()
    return tuple(kept), chars
