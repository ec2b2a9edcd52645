"""Foreign text → text that is safe to look at, and how many columns it fills.

Whatever moves the cursor, reorders the line or shows nothing at all is written as
`\\u{202e}`. The notation is unambiguous: a backslash that would begin one is written
so itself, hence two different texts never look the same for that reason.
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
    """The same text with every unseen character written out, on one line."""
    return _HIDDEN.sub(_written_out, text)


def visible_once(text: str) -> str:
    """The same for a text in which names are written out already: these stay as they are."""
    return _UNSEEN_ONLY.sub(_written_out, text)


def visible_in_json(encoded: str) -> str:
    """JSON without a line break, with unseen characters as JSON escapes: the same value."""
    return _UNSEEN_ONLY.sub(_json_escape, encoded)


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters of a text, with an ellipsis where something is left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def brief(text: str) -> str:
    """A piece of foreign text for a message: on one line, and not longer than helps a reader."""
    # More pieces than characters cannot be shown, so a long text is not taken apart to its end.
    return clipped(" ".join(text.split(maxsplit=MAX_BRIEF)), MAX_BRIEF)


def listed(things: Sequence[T], most: int, shown: Callable[[T], str] = str) -> str:
    """Some things as people read them, and how many more there are."""
    more = f" and {len(things) - most:,} more" if len(things) > most else ""
    return ", ".join(map(shown, things[:most])) + more


def in_ticks(text: str) -> str:
    """A text as it was written, in a sentence."""
    return f"`{text}`"


def columns(line: str) -> tuple[str, list[int]]:
    """A line as it is shown, tabs expanded, and the column at which each character begins.

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
    """How many columns of a terminal a visible text fills."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _shown(line: str, index: int) -> str:
    # A backslash is hidden only by what follows it, so two characters are looked at.
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
