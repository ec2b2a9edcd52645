"""Text for display: visible control characters, bounded length, plurals, lists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.model.fact_paths import file_path
from bylaw.model.visible import clipped, visible, visible_once, width

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

# A message may quote text of the user, which may be megabytes on one line.
MAX_WORDS = 1000


def shown(words: str) -> str:
    """Return one line of bounded length without invisible characters."""
    return visible(clipped(words, MAX_WORDS))


def shown_once(words: str) -> str:
    """Like `shown`, for a text that may be escaped already. It is not escaped twice."""
    return visible_once(clipped(words, MAX_WORDS))


def shown_file(path: str) -> str:
    """Like `shown`, for a path in the form that facts use."""
    return shown(file_path(path))


def number_of(number: int, word: str) -> str:
    """Return `1 rule`, `2 rules`."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def enumerated(words: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return f" {last} ".join([part for part in (", ".join(words[:-1]), *words[-1:]) if part])


def in_short(value: object, limit: int) -> str:
    """Return a value as JSON, cut to a length. The rest of a large value is not visited."""
    pieces, length = [], 0
    for piece in _pieces(value, limit):
        pieces.append(piece)
        length += len(piece)
        if length > limit:
            break
    return clipped("".join(pieces), limit)


def in_fixed_order(items: Collection[object]) -> Iterable[object]:
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
        for place, item in enumerate(in_fixed_order(value)):
            yield ", " if place else ""
            yield from _pieces(item, limit)
        yield "]"
    elif isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    else:
        yield json.dumps(value, default=str)


def wrapped(text: str, limit: int, most: int) -> list[str]:
    """Break a visible text at blanks into at most `most` lines of `limit` columns."""
    lines, line = [""], ""
    for word in text.split(" "):
        for piece in _cut_up(word, limit):
            line = f"{lines[-1]} {piece}" if lines[-1] else piece
            if width(line) <= limit:
                lines[-1] = line
            else:
                lines.append(piece)
        if len(lines) > most:
            return [*lines[: most - 1], clipped(f"{lines[most - 1]}…", max(limit, 2))]
    return lines


def _cut_up(word: str, limit: int) -> Iterator[str]:
    """Cut a word that is wider than a line into pieces."""
    while width(word) > limit:
        end = limit
        while width(word[:end]) > limit:
            end -= 1
        yield word[:end]
        word = word[max(end, 1) :]
    yield word
