"""The newest messages and calls: bounded in number and in the size of their text."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

# Guards can read this many items. Totals are counters, so older items are not kept.
WINDOW = 200
# Characters. With longer texts the oldest items lose theirs, so that a session stays small.
WINDOW_CHARS = 262_144


class Sized(Protocol):
    """An item of a window."""

    @property
    def chars(self) -> int:
        """The approximate number of characters that it holds."""

    def without_text(self) -> Self:
        """The same item without its long parts. It then has no characters."""


Item = TypeVar("Item", bound=Sized)


def appended(window: tuple[Item, ...], chars: int, item: Item) -> tuple[tuple[Item, ...], int]:
    """Return the window with one more item, and its characters.

    The window always has the newest items (TR-A18). If they hold too much text, the oldest lose
    theirs. The sum of characters is carried along, so that the cost of an item does not grow with
    the window.
    """
    chars += item.chars
    leave = max(len(window) + 1 - WINDOW, 0)
    chars -= sum(old.chars for old in window[:leave])
    items = window[leave:] + (item,)  # noqa: RUF005 - unpacking takes twice as long
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
