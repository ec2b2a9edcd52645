"""Find which of many patterns match a path, and test only those that can match.

Every pattern is filed under a literal text that each matching path must have: the folders at its
beginning, the name at its end or a word. If those are crowded, it is filed under some letters in a
row. The index looks up each text of a path, and tests the patterns that it finds. Patterns that
differ only in the names of their variables are tested once. Patterns without any literal text are
filed under the number of folders that they allow.
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

    # A spelling can be filed under any of these sets, and then under each text of the set.
    Choices = Callable[[str], list[frozenset[str]]]

CROWDED = 8  # shapes under one word; with more, letters in a row are tried
# For long literals few groups of a path are looked up, for short ones all groups.
SPARSE = Grams(size=6, stride=3)
DENSE = Grams(size=3, stride=1)
# In shapes: testing fewer is cheaper than looking up the groups of every path.
MIN_SPARSE = 16
MIN_DENSE = 32


class _Shape:
    """Patterns that are equal apart from the names of their variables."""

    __slots__ = ("numbers", "spellings", "test", "tokens")

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.spellings = spellings(tokens)
        self.numbers: list[int] = []
        self.test: Callable[[str], object] = self._first_test

    def _first_test(self, path: str) -> object:
        # Compiled late, because most patterns of a large set are never tested.
        self.test = tester(self.tokens)
        return self.test(path)


class _Filing:
    """The texts of one kind under which shapes can be filed, and how crowded they are."""

    def __init__(self, choices: Choices, shapes: Sequence[_Shape]) -> None:
        offered = {shape: [choices(one) for one in shape.spellings] for shape in shapes}
        self._uses = Counter(text for each in offered.values() for text in _texts(each))
        self._places = {shape: self._best_places(each) for shape, each in offered.items()}

    def _best_places(self, offered: Iterable[Sequence[frozenset[str]]]) -> frozenset[str]:
        """Return the least crowded texts of each spelling."""
        best = [min(places, key=self._rank, default=None) for places in offered]
        found = [texts for texts in best if texts is not None]
        # A spelling without a text would never be found, so then the shape gets no texts.
        return frozenset().union(*found) if len(found) == len(best) else frozenset()

    def _rank(self, texts: frozenset[str]) -> tuple[int, int, list[str]]:
        return self._count(texts), -sum(map(len, texts)), sorted(texts)

    def _count(self, texts: frozenset[str]) -> int:
        return sum([self._uses[text] for text in texts])

    def crowd(self, shape: _Shape) -> float:
        """Return the number of shapes under the same texts; infinity if the shape has no texts."""
        return self._count(self._places[shape]) or inf

    def filed(self, shapes: Iterable[_Shape]) -> dict[str, list[_Shape]]:
        """Return the shapes by text; a path that a shape matches has one of its texts."""
        table: dict[str, list[_Shape]] = {}
        for shape in shapes:
            for text in self._places[shape]:
                table.setdefault(text, []).append(shape)
        return table


_FEW = 32


class PathIndex:
    """An index of patterns, so that only few of them are tested for a path."""

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
        """Return the numbers of the patterns that match a normalised path, in ascending order."""
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
        if len(met) > _FEW:  # a path that repeats a text finds the same shapes again
            met = list({id(shape): shape for shape in met}.values())
        return sorted({n for shape in met if shape.test(path) is not None for n in shape.numbers})


def _met(table: dict[str, list[_Shape]], texts: Iterable[str]) -> list[_Shape]:
    return [shape for text in texts if text in table for shape in table[text]]


def _improved(
    shapes: Iterable[_Shape], words: _Filing, letters: _Filing, fewest: int
) -> dict[_Shape, None]:
    """Return the shapes, in order, that are much less crowded under letters in a row."""
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
    """Return the shapes for each number of `/`; the last entry is for all higher numbers."""
    depths = [(depth(shape.tokens), shape) for shape in shapes]
    deepest = max((number for number, _ in depths if number is not None), default=-1)
    return [
        [shape for number, shape in depths if number in {None, wanted}]
        for wanted in range(deepest + 2)
    ]
