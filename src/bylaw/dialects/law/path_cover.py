"""The path patterns of many rules → the rules that match every path that given patterns match.

Such a rule also matches one sample path of each given pattern. This test is cheap and leaves few
rules for the full comparison.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from bylaw.expr.paths import pattern
from bylaw.expr.paths.covering import Covering, sample
from bylaw.expr.paths.index import PathIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

_EVERYTHING = ("**",)


class PathCover:
    """Rules by number, in order, with their patterns. A rule without patterns is for any path."""

    def __init__(self, rules: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        self._paths = dict(rules)
        self._unlimited = [number for number, paths in rules if not paths]
        self._by_text: dict[str, set[int]] = {}
        for number, paths in rules:
            for text in paths:
                self._by_text.setdefault(text, set()).add(number)
        self._texts = list(self._by_text)
        self._pattern = cache(pattern)
        self._covering = Covering()

    def may_cover(self, paths: tuple[str, ...], *, may_be_empty: bool) -> list[int]:
        """Return the rules that may match everything that these patterns match, in order.

        No other rule does. No patterns means any path. With `may_be_empty` it also means no path
        at all, which only a rule without patterns matches.
        """
        found: set[int] = set()
        if paths or not may_be_empty:
            found = set.intersection(*map(self._matching_sample, paths or _EVERYTHING))
        return sorted({*self._unlimited, *found})

    def covers(self, number: int, paths: tuple[str, ...]) -> bool:
        """Return whether this rule certainly matches everything that these patterns match."""
        wide = self._paths[number]
        if not wide:
            return True
        narrow = [self._pattern(text) for text in paths or _EVERYTHING if text not in wide]
        # A literal pattern is its own sample, so `may_cover` has already compared it.
        return self._covering.covers(
            [self._pattern(text).tokens for text in wide],
            [one.tokens for one in narrow if one.literal is None],
        )

    def _matching_sample(self, text: str) -> set[int]:
        found = self._index.matching(sample(self._pattern(text).tokens))
        return {number for one in found for number in self._by_text[self._texts[one]]}

    @cached_property
    def _index(self) -> PathIndex:
        return PathIndex([self._pattern(text) for text in self._texts])
