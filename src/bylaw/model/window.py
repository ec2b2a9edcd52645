"""The newest messages and calls: a bounded number of them, and a bounded amount of text."""

from __future__ import annotations

from typing import Protocol, TypeVar

# Guards can look back this far; totals are counters, so nothing else is kept.
WINDOW = 200
# Characters; whoever sends longer texts has a shorter window, and a session stays small.
WINDOW_CHARS = 262_144


class Sized(Protocol):
    """Something that takes room in a window."""

    @property
    def chars(self) -> int:
        """About how many characters it holds."""


Item = TypeVar("Item", bound=Sized)


def appended(window: tuple[Item, ...], chars: int, item: Item) -> tuple[tuple[Item, ...], int]:
    """The window with one item more, and its characters; the oldest leave until both limits hold.

    The sum is carried along, so that an item costs the same however many there are.
    """
    chars += item.chars
    leave = max(len(window) + 1 - WINDOW, 0)
    chars -= sum(old.chars for old in window[:leave])
    while chars > WINDOW_CHARS and leave < len(window):
        chars -= window[leave].chars
        leave += 1
    if chars > WINDOW_CHARS:
        return (), 0  # a single item that is larger than the whole window
    return window[leave:] + (item,), chars  # noqa: RUF005 - the other way takes twice as long
