"""A pattern → literal texts that every matching path has; a path → all its texts."""

from __future__ import annotations

import re
from itertools import product

from msgspec import Struct

from bylaw.expr.paths.parts import Alternatives, Literal, PartKind, Token, Wildcard

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


class Grams(Struct, frozen=True):
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
