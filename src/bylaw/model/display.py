r"""Text for display: invisible characters written out, widths, lengths, times, paths and lists.

A character that moves the cursor, reorders the line or shows nothing is written as `\\u{202e}`. A
backslash that would begin such a mark is written so too, so different texts stay different. A path
in facts is the file name if it is UTF-8, else its bytes in this notation. So every path in a
record is text and leads back to exactly one file.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from sys import maxunicode
from typing import TYPE_CHECKING, TypeVar
from unicodedata import category, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

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
    return _HIDDEN.sub(_escape_mark, text)


def visible_once(text: str) -> str:
    """As `visible`, for a text in which names are already written out: these stay as they are."""
    return _UNSEEN_ONLY.sub(_escape_mark, text)


def visible_in_json(encoded: str) -> str:
    """Return JSON of one line with unseen characters as JSON escapes. The value is the same."""
    return _UNSEEN_ONLY.sub(_json_escape, encoded)


def clip_text(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, with an ellipsis if something is left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def brief(text: str) -> str:
    """Return a piece of text from outside for a message: on one line and of limited length."""
    # No more words than characters can be shown, so a long text is not split completely.
    return clip_text(" ".join(text.split(maxsplit=MAX_BRIEF)), MAX_BRIEF)


def list_limited(things: Sequence[T], most: int, shown: Callable[[T], str] = str) -> str:
    """List some things for people, and say how many more there are."""
    more = f" and {len(things) - most:,} more" if len(things) > most else ""
    return ", ".join(map(shown, things[:most])) + more


def in_backticks(text: str) -> str:
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
        piece = " " * (TAB_WIDTH - at % TAB_WIDTH) if char == "\t" else _visible_char(line, index)
        shown.append(piece)
        starts.append(at + width(piece))
    return "".join(shown), starts


def width(text: str) -> int:
    """Return how many columns of a terminal a visible text takes."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _visible_char(line: str, index: int) -> str:
    # Whether a backslash is written out depends on what follows it, so match more than one.
    found = _HIDDEN.match(line, index)
    return _escape_mark(found) if found else line[index]


def _escape_mark(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):x}}}"


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    pairs = (units[i : i + 2].hex() for i in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs)


def _char_width(char: str) -> int:
    if category(char) in {"Mn", "Me"} or ord(char) in _JAMO_THAT_JOIN:
        return 0
    return 2 if east_asian_width(char) in {"W", "F"} else 1


_DAY_MS = 86_400_000
# Days from 0000-03-01 to 1970-01-01; in a year that begins in March the leap day comes last.
_MARCH_EPOCH = 719_468
_DAYS_OF_400_YEARS = 146_097
_DAYS_OF_100_YEARS = 36_524
_DAYS_OF_4_YEARS = 1_460
_FEBRUARY = 2


@lru_cache(maxsize=1024)
def iso_time(milliseconds: int) -> str:
    """Return a text such as `2026-01-31T23:59:59.999Z`."""
    days, rest = divmod(milliseconds, _DAY_MS)
    year, month, day = _date(days)
    seconds, milli = divmod(rest, 1_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"


def _date(days: int) -> tuple[int, int, int]:
    era, day = divmod(days + _MARCH_EPOCH, _DAYS_OF_400_YEARS)
    leaps = day // _DAYS_OF_4_YEARS - day // _DAYS_OF_100_YEARS + day // (_DAYS_OF_400_YEARS - 1)
    year = (day - leaps) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9  # noqa: PLR2004 - March is month 0
    return era * 400 + year + (month <= _FEBRUARY), month, day + 1


_UNFIT = re.compile(r"[\ud800-\udfff]|\\u\{")
_WRITTEN_OUT = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def fact_path(path: str) -> str:
    """Return the path for facts and records. In `path`, bytes that are not UTF-8 are surrogates."""
    return visible(path) if _UNFIT.search(path) else path


def file_path(path: str) -> str:
    """Return the path for the operating system, with surrogates. The reverse of `fact_path`."""
    return _WRITTEN_OUT.sub(_read_mark, path)


def shown_path(path: str) -> str:
    """Return the path for people, on one line, with unseen characters written out once."""
    return visible(file_path(path))


def _read_mark(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code <= maxunicode else found[0]


# A message may quote text of the user, which may be megabytes on one line.
MAX_DISPLAY = 1000


def display_text(words: str) -> str:
    """Return one line of bounded length without invisible characters."""
    return visible(clip_text(words, MAX_DISPLAY))


def display_text_once(words: str) -> str:
    """Like `shown`, for a text that may be escaped already. It is not escaped twice."""
    return visible_once(clip_text(words, MAX_DISPLAY))


def display_file(path: str) -> str:
    """Like `shown`, for a path in the form that facts use."""
    return display_text(file_path(path))


def number_of(number: int, word: str) -> str:
    """Return `1 rule`, `2 rules`."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def word_list(words: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return f" {last} ".join([part for part in (", ".join(words[:-1]), *words[-1:]) if part])


def short_json(value: object, limit: int) -> str:
    """Return a value as JSON, cut to a length. The rest of a large value is not visited."""
    pieces, length = [], 0
    for piece in _pieces(value, limit):
        pieces.append(piece)
        length += len(piece)
        if length > limit:
            break
    return clip_text("".join(pieces), limit)


def fixed_order(items: Collection[object]) -> Iterable[object]:
    """Return the items. A set is sorted, so that the order is the same in every process."""
    return sorted(items, key=repr) if isinstance(items, set | frozenset) else items


def _pieces(value: object, limit: int) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for place, (key, item) in enumerate(value.items()):
            yield f"{', ' if place else ''}{json.dumps(str(key)[:limit], ensure_ascii=False)}: "
            yield from _pieces(item, limit)
        yield "}"
    elif isinstance(value, list | tuple | set | frozenset):
        yield "["
        for place, item in enumerate(fixed_order(value)):
            yield ", " if place else ""
            yield from _pieces(item, limit)
        yield "]"
    elif isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    else:
        yield json.dumps(value, default=str)


def wrap(text: str, limit: int, most: int) -> list[str]:
    """Break a visible text at blanks into at most `most` lines of `limit` columns."""
    lines, line = [""], ""
    for word in text.split(" "):
        for piece in _cut_word(word, limit):
            line = f"{lines[-1]} {piece}" if lines[-1] else piece
            if width(line) <= limit:
                lines[-1] = line
            else:
                lines.append(piece)
        if len(lines) > most:
            return [*lines[: most - 1], clip_text(f"{lines[most - 1]}…", max(limit, 2))]
    return lines


def _cut_word(word: str, limit: int) -> Iterator[str]:
    """Cut a word that is wider than a line into pieces."""
    while width(word) > limit:
        end = limit
        while width(word[:end]) > limit:
            end -= 1
        yield word[:end]
        word = word[max(end, 1) :]
    yield word
