"""A pattern → literal texts that every path it matches has; a path → all such texts it has."""

from __future__ import annotations

import re
from itertools import product

from msgspec import Struct

from bylaw.expr.paths.parts import Alternatives, Literal, PartKind, Token, Wildcard

MAX_SPELLINGS = 16  # of a pattern with alternatives that are looked at each by itself

_OPEN = "\0"  # stands for what is not literal; no path and no pattern has it
_CLOSED_WORD = re.compile(rf"(?<![^/._\-])[^/._\-{_OPEN}]+(?![^/._\-])")
_CROSSING = {PartKind.FOLDERS, PartKind.PARTS, PartKind.ANY}


def spellings(tokens: tuple[Token, ...]) -> list[str]:
    """The pattern with what is open replaced, once for each choice of alternatives."""
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
            # `**/` ends where a segment begins, so what follows is a word of its own.
            return (_OPEN + "/" if kind is PartKind.FOLDERS else _OPEN,)


def keys_of_spelling(spelling: str) -> list[str]:
    """Of the texts that `keys_of_path` gives, those that every matching path has."""
    if _OPEN not in spelling:
        return [spelling]
    keys: list[str] = _CLOSED_WORD.findall(spelling)
    folders = spelling[: spelling.rfind("/", 0, spelling.index(_OPEN)) + 1]
    name = "/" + spelling.rpartition("/")[2]
    return [*keys, *([folders] if folders else []), *([] if _OPEN in name else [name])]


def keys_of_path(path: str) -> list[str]:
    """The path, its words, each of its folders from the top with `/`, its name after `/`."""
    texts = path.replace(".", "/").replace("_", "/").replace("-", "/").split("/")
    start = 0
    while at := path.find("/", start) + 1:
        texts.append(path[:at])
        start = at
    texts += (f"/{path[start:]}", path)
    return texts


class Grams(Struct, frozen=True):
    """Letters in a row: every `stride`-th group of `size` of a path, all of a pattern.

    Wherever a literal of `size + stride - 1` letters stands in a path, one of its first
    `stride` groups is among those of the path.
    """

    size: int
    stride: int

    def of_path(self, path: str) -> list[str]:
        """The groups of a path."""
        size = self.size
        return [path[i : i + size] for i in range(0, len(path) - size + 1, self.stride)]

    def of_spelling(self, spelling: str) -> list[frozenset[str]]:
        """Sets of groups; every matching path has at least one of each set."""
        width = self.size + self.stride - 1
        return [
            frozenset(run[i + j : i + j + self.size] for j in range(self.stride))
            for run in spelling.split(_OPEN)
            for i in range(len(run) - width + 1)
        ]


def depth(tokens: tuple[Token, ...]) -> int | None:
    """How many `/` every matching path has, if they all have the same number."""
    if any(isinstance(token, Wildcard) and token.kind in _CROSSING for token in tokens):
        return None
    counts = [{text.count("/") for text in _choices(token)} for token in tokens]
    return sum(map(max, counts)) if all(len(count) == 1 for count in counts) else None
