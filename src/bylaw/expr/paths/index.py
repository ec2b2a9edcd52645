"""Many patterns → which of them match a path, looking only at those that may.

Every pattern is filed under a literal text that each path it matches must have: the folders
at its beginning, the name at its end, a whole word, or, where those are crowded, some letters
in a row. A path is looked up under each text it has; what is found is matched properly.
Patterns that differ only in the names of their variables are matched once. Patterns without
any literal text are filed under the number of folders they allow.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING

from bylaw.expr.paths import is_normalised
from bylaw.expr.paths.keys import Grams, depth, keys_of_path, keys_of_spelling, spellings
from bylaw.expr.paths.matcher import tester
from bylaw.expr.paths.parts import Token, Wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bylaw.expr.paths import Pattern

    # A spelling may be filed under any of these sets, but then under each text of the set.
    Choices = Callable[[str], list[frozenset[str]]]

CROWDED = 8  # shapes under one word; with more, letters in a row are tried
# Few groups of a path are looked up for long literals, all groups for short ones.
SPARSE = Grams(size=6, stride=3)
DENSE = Grams(size=3, stride=1)
# Shapes; to match fewer is cheaper than to look up the groups of every path.
MIN_SPARSE = 16
MIN_DENSE = 32


class _Shape:
    """What some patterns have in common when their variables lose their names."""

    __slots__ = ("numbers", "spellings", "test", "tokens")

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.spellings = spellings(tokens)
        self.numbers: list[int] = []
        self.test: Callable[[str], object] = self._first_test

    def _first_test(self, path: str) -> object:
        # Most patterns of a large set never meet a path that they might match.
        self.test = tester(self.tokens)
        return self.test(path)


class _Filing:
    """Where shapes would be filed by one sort of text, and how crowded it would be there."""

    def __init__(self, choices: Choices, shapes: Sequence[_Shape]) -> None:
        offered = {shape: [choices(one) for one in shape.spellings] for shape in shapes}
        self._uses = Counter(text for each in offered.values() for text in _texts(each))
        self._places = {shape: self._best_places(each) for shape, each in offered.items()}

    def _best_places(self, offered: Iterable[Sequence[frozenset[str]]]) -> frozenset[str]:
        """The least crowded ones, of what each spelling offers."""
        best = [min(places, key=self._rank, default=None) for places in offered]
        found = [texts for texts in best if texts is not None]
        # A spelling without a place would be overlooked, so then there is none for the shape.
        return frozenset().union(*found) if len(found) == len(best) else frozenset()

    def _rank(self, texts: frozenset[str]) -> tuple[int, int, list[str]]:
        return self._count(texts), -sum(map(len, texts)), sorted(texts)

    def _count(self, texts: frozenset[str]) -> int:
        return sum([self._uses[text] for text in texts])

    def crowd(self, shape: _Shape) -> float:
        """How many shapes a path may meet beside this one; infinite if it has no place."""
        return self._count(self._places[shape]) or inf

    def filed(self, shapes: Iterable[_Shape]) -> dict[str, list[_Shape]]:
        """The shapes by text: a path that one of them matches has one of its texts."""
        table: dict[str, list[_Shape]] = {}
        for shape in shapes:
            for text in self._places[shape]:
                table.setdefault(text, []).append(shape)
        return table


_FEW = 32


class PathIndex:
    """Patterns filed so that a path meets few of them."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        shapes = _shapes(patterns)
        words = _Filing(_word_choices, shapes)
        crowded = [shape for shape in shapes if words.crowd(shape) > CROWDED]
        sparse = _Filing(SPARSE.of_spelling, crowded)
        by_sparse = _improved(crowded, words, sparse, MIN_SPARSE)
        crowded = [shape for shape in crowded if shape not in by_sparse]
        dense = _Filing(DENSE.of_spelling, crowded)
        by_dense = _improved(crowded, words, dense, MIN_DENSE)
        others = [shape for shape in shapes if shape not in by_sparse and shape not in by_dense]
        self._words = words.filed(others)
        self._sparse = sparse.filed(by_sparse)
        self._dense = dense.filed(by_dense)
        self._by_depth = _by_depth([shape for shape in others if words.crowd(shape) == inf])

    def matching(self, path: str) -> list[int]:
        """The numbers of the patterns that match a normalised path, in ascending order."""
        if not is_normalised(path):
            return []
        met = self._by_depth[min(path.count("/"), len(self._by_depth) - 1)]
        words = self._words
        for key in keys_of_path(path):
            if key in words:
                met = met + words[key]
        if self._sparse:
            met = met + _met(self._sparse, SPARSE.of_path(path))
        if self._dense:
            met = met + _met(self._dense, DENSE.of_path(path))
        if not met:
            return []
        if len(met) > _FEW:  # a path that says the same again and again meets the same again
            met = list({id(shape): shape for shape in met}.values())
        return sorted({n for shape in met if shape.test(path) is not None for n in shape.numbers})


def _met(table: dict[str, list[_Shape]], texts: Iterable[str]) -> list[_Shape]:
    return [shape for text in texts if text in table for shape in table[text]]


def _improved(
    shapes: Iterable[_Shape], words: _Filing, letters: _Filing, fewest: int
) -> dict[_Shape, None]:
    """The shapes that are much less crowded when filed by letters in a row, in order."""
    found = {shape: None for shape in shapes if 2 * letters.crowd(shape) < words.crowd(shape)}
    return found if len(found) >= fewest else {}


def _word_choices(spelling: str) -> list[frozenset[str]]:
    return [frozenset((key,)) for key in keys_of_spelling(spelling)]


def _texts(offered: Iterable[Sequence[frozenset[str]]]) -> set[str]:
    return {text for places in offered for texts in places for text in texts}


def _shapes(patterns: Sequence[Pattern]) -> list[_Shape]:
    shapes: dict[tuple[Token, ...], _Shape] = {}
    for number, pattern in enumerate(patterns):
        nameless = tuple(Wildcard(t.kind) if isinstance(t, Wildcard) else t for t in pattern.tokens)
        if nameless not in shapes:
            shapes[nameless] = _Shape(nameless)
        shapes[nameless].numbers.append(number)
    return list(shapes.values())


def _by_depth(shapes: Iterable[_Shape]) -> list[list[_Shape]]:
    """For each number of `/` the shapes that allow it; the last entry is for all above."""
    depths = [(depth(shape.tokens), shape) for shape in shapes]
    deepest = max((number for number, _ in depths if number is not None), default=-1)
    return [
        [shape for number, shape in depths if number in {None, wanted}]
        for wanted in range(deepest + 2)
    ]
