"""Find consecutive lines in a file.

They must match exactly. If they match nowhere, white space at the end of lines is ignored, then
white space at both ends.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def _as_it_is(line: str) -> str:
    return line


_WAYS: tuple[Callable[[str], str], ...] = (_as_it_is, str.rstrip, str.strip)


class Haystack:
    """The lines of a file, for many searches."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._text = cache(lambda way: _Text([way(line) for line in lines]))

    def places(self, wanted: Sequence[str], begin: int, at_most: int) -> list[int]:
        """Return where the wanted lines begin, from `begin` on, by the strictest match."""
        for way in _WAYS:
            found = self._text(way).places([way(line) for line in wanted], begin)
            if places := list(islice(found, at_most)):
                return places
        return []

    def line_of(self, anchor: str, begin: int) -> int | None:
        """Return the first line equal to an anchor, or the only one that contains it."""
        if whole := self.places([anchor], begin, 1):
            return whole[0]
        part = anchor.strip()
        held = [at for at in range(begin, len(self.lines)) if part in self.lines[at]]
        return held[0] if len(held) == 1 else None

    def end(self, wanted: Sequence[str]) -> int | None:
        """Return where the wanted lines begin if they are the last lines, else None."""
        begin = len(self.lines) - len(wanted)
        last = self.lines[max(begin, 0) :]
        for way in _WAYS:
            if [way(line) for line in last] == [way(line) for line in wanted]:
                return begin
        return None


class _Text:
    """Lines joined to one text, so that the time of a search grows with the sum of both sizes."""

    def __init__(self, lines: list[str]) -> None:
        self.text = _joined(lines)
        # Where the line break before each line is.
        self.starts = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def places(self, wanted: list[str], begin: int) -> Iterator[int]:
        sought = _joined(wanted)
        at = self.text.find(sought, self.starts[begin])
        while at >= 0:
            yield bisect_left(self.starts, at)
            at = self.text.find(sought, at + 1)


def _joined(lines: list[str]) -> str:
    return "".join(f"\n{line}" for line in lines) + "\n"
