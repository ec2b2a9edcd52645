"""Find which of many patterns match a path, and test only those that can match.

Every pattern is filed under a literal text that each matching path must have: the folders at its
beginning, the name at its end or a word. If those are crowded, it is filed under some letters in a
row. The index looks up each text of a path, and tests the patterns that it finds. Patterns that
differ only in the names of their variables are tested once. Patterns without any literal text are
filed under the number of folders that they allow.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.paths import is_normalised
from bylaw.paths.matcher import make_tester
from bylaw.paths.syntax import Alternatives, Literal, PartKind, Token, Wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bylaw.paths import Pattern

    # A spelling can be filed under any of these sets, and then under each text of the set.
    Choices = Callable[[str], list[frozenset[str]]]


MAX_SPELLINGS = 16  # more combinations of alternatives than this are treated as open text

_OPEN = "\0"  # marks open text; no path and no pattern has this character
_CLOSED_WORD = re.compile(rf"(?<![^/._\-])[^/._\-{_OPEN}]+(?![^/._\-])")
_CROSSING = {PartKind.FOLDERS, PartKind.PARTS, PartKind.ANY}


def spellings(tokens: tuple[Token, ...]) -> list[str]:
    """Return the pattern with a mark for open text, for each combination of alternatives."""
    choices = [_choices(token) for token in tokens]
    count = 1
    for options in choices:
        count *= len(options)
    if count > MAX_SPELLINGS:
        choices = [options if len(options) == 1 else (_OPEN,) for options in choices]
    return ["".join(spelling) for spelling in product(*choices)]


def _choices(token: Token) -> tuple[str, ...]:
    match token:
        case Literal(text):
            return (text,)
        case Alternatives(texts):
            return texts
        case Wildcard(kind):
            # After `**/` a segment begins, so the text there is a separate word.
            return (_OPEN + "/" if kind is PartKind.FOLDERS else _OPEN,)


def keys_of_spelling(spelling: str) -> list[str]:
    """Return those texts of `keys_of_path` that every matching path has."""
    if _OPEN not in spelling:
        return [spelling]
    keys: list[str] = _CLOSED_WORD.findall(spelling)
    folders = spelling[: spelling.rfind("/", 0, spelling.index(_OPEN)) + 1]
    name = "/" + spelling.rpartition("/")[2]
    return [*keys, *([folders] if folders else []), *([] if _OPEN in name else [name])]


def keys_of_path(path: str) -> list[str]:
    """Return the path, its words, each of its folders with a final `/`, and its name after `/`."""
    texts = path.replace(".", "/").replace("_", "/").replace("-", "/").split("/")
    start = 0
    while at := path.find("/", start) + 1:
        texts.append(path[:at])
        start = at
    texts += (f"/{path[start:]}", path)
    return texts


class TextKeys(Struct, frozen=True):
    """Letters in a row: each `stride`-th group of `size` letters of a path, all of a pattern.

    If a path has a literal of `size + stride - 1` letters, the groups of the path include one of
    the first `stride` groups of the literal.
    """

    size: int
    stride: int

    def of_path(self, path: str) -> list[str]:
        """Return the groups of a path."""
        size = self.size
        return [path[i : i + size] for i in range(0, len(path) - size + 1, self.stride)]

    def of_spelling(self, spelling: str) -> list[frozenset[str]]:
        """Return sets of groups; every matching path has at least one of each set."""
        width = self.size + self.stride - 1
        return [
            frozenset(run[i + j : i + j + self.size] for j in range(self.stride))
            for run in spelling.split(_OPEN)
            for i in range(len(run) - width + 1)
        ]


def depth(tokens: tuple[Token, ...]) -> int | None:
    """Return the number of `/` in every matching path, or None if it is not the same."""
    if any(isinstance(token, Wildcard) and token.kind in _CROSSING for token in tokens):
        return None
    counts = [{text.count("/") for text in _choices(token)} for token in tokens]
    return sum(map(max, counts)) if all(len(count) == 1 for count in counts) else None


CROWDED = 8  # shapes under one word; with more, letters in a row are tried
# For long literals few groups of a path are looked up, for short ones all groups.
SPARSE = TextKeys(size=6, stride=3)
DENSE = TextKeys(size=3, stride=1)
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
        self.test = make_tester(self.tokens)
        return self.test(path)


class _IndexSlot:
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

    def count_neighbours(self, shape: _Shape) -> float:
        """Return the number of shapes under the same texts; infinity if the shape has no texts."""
        return self._count(self._places[shape]) or inf

    def shapes_by_text(self, shapes: Iterable[_Shape]) -> dict[str, list[_Shape]]:
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
        words = _IndexSlot(_word_choices, shapes)
        crowded = [shape for shape in shapes if words.count_neighbours(shape) > CROWDED]
        sparse = _IndexSlot(SPARSE.of_spelling, crowded)
        by_sparse = _less_crowded(crowded, words, sparse, MIN_SPARSE)
        crowded = [shape for shape in crowded if shape not in by_sparse]
        dense = _IndexSlot(DENSE.of_spelling, crowded)
        by_dense = _less_crowded(crowded, words, dense, MIN_DENSE)
        others = [shape for shape in shapes if shape not in by_sparse and shape not in by_dense]
        self._words = words.shapes_by_text(others)
        self._sparse = sparse.shapes_by_text(by_sparse)
        self._dense = dense.shapes_by_text(by_dense)
        self._by_depth = _by_depth(
            [shape for shape in others if words.count_neighbours(shape) == inf]
        )

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
            met = met + _find_shapes(self._sparse, SPARSE.of_path(path))
        if self._dense:
            met = met + _find_shapes(self._dense, DENSE.of_path(path))
        if not met:
            return []
        if len(met) > _FEW:  # a path that repeats a text finds the same shapes again
            met = list({id(shape): shape for shape in met}.values())
        return sorted({n for shape in met if shape.test(path) is not None for n in shape.numbers})


def _find_shapes(table: dict[str, list[_Shape]], texts: Iterable[str]) -> list[_Shape]:
    return [shape for text in texts if text in table for shape in table[text]]


def _less_crowded(
    shapes: Iterable[_Shape], words: _IndexSlot, letters: _IndexSlot, fewest: int
) -> dict[_Shape, None]:
    """Return the shapes, in order, that are much less crowded under letters in a row."""
    found = {
        shape: None
        for shape in shapes
        if 2 * letters.count_neighbours(shape) < words.count_neighbours(shape)
    }
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
