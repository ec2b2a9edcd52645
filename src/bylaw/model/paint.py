"""Terminal styles."""

from __future__ import annotations

from enum import Enum

_RESET = "\x1b[0m"


class Style(Enum):
    """Escape sequence of a style."""

    PLAIN = ""
    STRONG = "\x1b[1m"
    FAINT = "\x1b[2m"
    GOOD = "\x1b[32m"
    WARNING = "\x1b[1;33m"
    BAD = "\x1b[1;31m"
    FRAME = "\x1b[1;34m"
    HELP = "\x1b[1;36m"


class Paint:
    """Applies styles if colour is on."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, style: Style, words: str) -> str:
        """Return the words in a style."""
        return f"{style.value}{words}{_RESET}" if self._color and style.value and words else words
