"""Text from outside → text that is safe to show, and how many columns it takes.

A character that moves the cursor, reorders the line or cannot be seen is written as `\\u{202e}`.
The notation is unambiguous: a backslash that would begin such a mark is itself written this way. So
two different texts never look the same because of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar
from unicodedata import category, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

TAB_WIDTH = 4

_UNSEEN = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # fillers and marks without a shape
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero-width, separators, bidi controls
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"  # fillers, variation selectors, BOM
    "\ud800-\udfff"  # lone surrogates: in a Python text every surrogate is lone
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical formatting
    "\U000e0000-\U000e0fff"  # tags and further variation selectors
)
_HIDDEN = re.compile(rf"[{_UNSEEN}]|\\(?=u\{{)")
_UNSEEN_ONLY = re.compile(f"[{_UNSEEN}]")

_JAMO_THAT_JOIN = range(0x1160, 0x1200)

MAX_BRIEF = 60


def visible(text: str) -> str:
    """Return the text on one line, with every unseen character written out."""
    return _HIDDEN.sub(_written_out, text)


def visible_once(text: str) -> str:
    """As `visible`, for a text in which names are already written out: these stay as they are."""
    return _UNSEEN_ONLY.sub(_written_out, text)


def visible_in_json(encoded: str) -> str:
    """Return JSON of one line with unseen characters as JSON escapes. The value is the same."""
    return _UNSEEN_ONLY.sub(_json_escape, encoded)


def clipped(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, with an ellipsis if something is left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def brief(text: str) -> str:
    """Return a piece of text from outside for a message: on one line and of limited length."""
    # No more words than characters can be shown, so a long text is not split completely.
    return clipped(" ".join(text.split(maxsplit=MAX_BRIEF)), MAX_BRIEF)


def listed(things: Sequence[T], most: int, shown: Callable[[T], str] = str) -> str:
    """List some things for people, and say how many more there are."""
    more = f" and {len(things) - most:,} more" if len(things) > most else ""
    return ", ".join(map(shown, things[:most])) + more


def in_ticks(text: str) -> str:
    """Return the text in backticks, for a sentence."""
    return f"`{text}`"


def columns(line: str) -> tuple[str, list[int]]:
    """Return a line as it is shown, tabs expanded, and the column where each character begins.

    The list has one entry more than the line has characters: where the next one would begin.
    """
    shown: list[str] = []
    starts = [0]
    for index, char in enumerate(line):
        at = starts[-1]
        piece = " " * (TAB_WIDTH - at % TAB_WIDTH) if char == "\t" else _shown(line, index)
        shown.append(piece)
        starts.append(at + width(piece))
    return "".join(shown), starts


def width(text: str) -> int:
    """Return how many columns of a terminal a visible text takes."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _shown(line: str, index: int) -> str:
    # Whether a backslash is written out depends on what follows it, so match more than one.
    found = _HIDDEN.match(line, index)
    return _written_out(found) if found else line[index]


def _written_out(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):x}}}"


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    pairs = (units[i : i + 2].hex() for i in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs)


def _char_width(char: str) -> int:
    if category(char) in {"Mn", "Me"} or ord(char) in _JAMO_THAT_JOIN:
        return 0
    return 2 if east_asian_width(char) in {"W", "F"} else 1
