"""Lines that stand one after the other → where they stand in a file.

Exactly if they do somewhere, else with white space at the end of lines ignored, else at both ends.
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
    """The lines of a file, to be searched many times."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._text = cache(lambda way: _Text([way(line) for line in lines]))

    def places(self, wanted: Sequence[str], begin: int, at_most: int) -> list[int]:
        """Where the wanted lines begin, from `begin` on, found in the strictest way that works."""
        for way in _WAYS:
            found = self._text(way).places([way(line) for line in wanted], begin)
            if places := list(islice(found, at_most)):
                return places
        return []

    def line_of(self, anchor: str, begin: int) -> int | None:
        """The first line that is an anchor, or the only one that holds it, from `begin` on."""
        if whole := self.places([anchor], begin, 1):
            return whole[0]
        part = anchor.strip()
        held = [at for at in range(begin, len(self.lines)) if part in self.lines[at]]
        return held[0] if len(held) == 1 else None

    def end(self, wanted: Sequence[str]) -> int | None:
        """Where the wanted lines begin if they are the last ones."""
        begin = len(self.lines) - len(wanted)
        last = self.lines[max(begin, 0) :]
        for way in _WAYS:
            if [way(line) for line in last] == [way(line) for line in wanted]:
                return begin
        return None


class _Text:
    """Lines as one text: looking for some of them then takes time that grows with both alone."""

    def __init__(self, lines: list[str]) -> None:
        self.text = _joined(lines)
        # Where the line break before each line stands.
        self.starts = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def places(self, wanted: list[str], begin: int) -> Iterator[int]:
        sought = _joined(wanted)
        at = self.text.find(sought, self.starts[begin])
        while at >= 0:
            yield bisect_left(self.starts, at)
            at = self.text.find(sought, at + 1)


def _joined(lines: list[str]) -> str:
    return "".join(f"\n{line}" for line in lines) + "\n"
