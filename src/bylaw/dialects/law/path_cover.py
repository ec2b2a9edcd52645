"""The path patterns of many rules → which rules match every path that some patterns match.

The test is sound and not complete. A pattern is known to be covered by itself, by `**`, by
`folder/**` if it begins with that folder, and, if it is one path, by whatever matches that path.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bylaw.expr.paths import pattern
from bylaw.expr.paths.index import PathIndex
from bylaw.expr.paths.parts import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.expr.paths.parts import Token

_EVERYTHING = ("**", "**/*")


class PathCover:
    """Rules by number, in order, each with its patterns; without patterns it is for any path."""

    def __init__(self, rules: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        self._unlimited = [number for number, paths in rules if not paths]
        self._by_text: dict[str, set[int]] = {}
        for number, paths in rules:
            for text in paths:
                self._by_text.setdefault(text, set()).add(number)
        self._texts = list(self._by_text)

    def over(self, paths: tuple[str, ...], *, may_be_empty: bool) -> list[int]:
        """The rules that match whatever these patterns match, in order.

        Without patterns: all that can happen. Where that may be no path at all, only a rule
        without patterns matches it.
        """
        if paths:
            covering = set.intersection(*(self._over_one(text) for text in paths))
        elif may_be_empty:
            covering = set()
        else:
            covering = self._having(_EVERYTHING)
        return sorted({*self._unlimited, *covering})

    def _over_one(self, text: str) -> set[int]:
        made = pattern(text)
        if made.literal is not None:
            return self._having(self._texts[found] for found in self._index.matching(text))
        return self._having((text, *_EVERYTHING, *_folders_of(made.tokens[0])))

    def _having(self, texts: Iterable[str]) -> set[int]:
        return {number for text in texts for number in self._by_text.get(text, ())}

    @cached_property
    def _index(self) -> PathIndex:
        return PathIndex([pattern(text) for text in self._texts])


def _folders_of(first: Token) -> Iterator[str]:
    """Everything below each of the folders with which a pattern begins."""
    text = first.text if isinstance(first, Literal) else ""
    for at, sign in enumerate(text):
        if sign == "/":
            yield from (text[: at + 1] + rest for rest in _EVERYTHING)
