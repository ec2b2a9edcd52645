"""The parts of a pattern → a function from a path to its captures, in linear time.

Nearly every pattern becomes one regular expression, if that provably takes time linear in
pattern × path. The others are matched part by part over the positions of the path, which is linear
by construction.

If a path can be matched in several ways, the leftmost wildcard takes as much as it can, then the
next. A regular expression with backtracking gives the same result.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from bylaw.expr.paths.parts import Alternatives, Literal, PartKind, Token, Wildcard
from bylaw.expr.paths.regex import linear_regex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Captures = dict[str, str]
    # The start of a part → its end, only for positions from which the rest of the path matches.
    Moves = dict[int, int]

_DOTS = {".", ".."}


def matcher(tokens: tuple[Token, ...]) -> Callable[[str], Captures | None]:
    """Return a function that matches a complete normalised path and returns its captures."""
    regex = linear_regex(tokens)
    return partial(_search, re.compile(regex)) if regex else partial(follow, tokens)


def tester(tokens: tuple[Token, ...]) -> Callable[[str], object]:
    """Return a function whose result is not None if a complete normalised path matches."""
    regex = linear_regex(tokens)
    return re.compile(regex).fullmatch if regex else partial(follow, tokens)


def _search(regex: re.Pattern[str], path: str) -> Captures | None:
    found = regex.fullmatch(path)
    return found.groupdict() if found else None


def follow(tokens: tuple[Token, ...], path: str) -> Captures | None:
    """Match part by part, from the last to the first, then collect the captures.

    INVARIANT: each part visits each position at most a fixed number of times.
    """
    moves: list[Moves] = []
    ends: Collection[int] = (len(path),)
    for token in reversed(tokens):
        moves.append(_moves(token, path, ends))
        ends = moves[-1]
    if 0 not in ends:
        return None
    captures: Captures = {}
    at = 0
    for token, step in zip(tokens, reversed(moves), strict=True):
        if isinstance(token, Wildcard) and token.name:
            captures[token.name] = path[at : step[at]]
        at = step[at]
    return captures


def _moves(token: Token, path: str, ends: Collection[int]) -> Moves:
    match token:
        case Literal(text):
            return _before(text, path, ends)
        case Alternatives(texts):
            # If two alternatives match, the first one wins, so it is added last.
            return dict(chain.from_iterable(_before(t, path, ends).items() for t in texts[::-1]))
        case Wildcard(kind):
            return _WILDCARDS[kind](path, ends)


def _before(text: str, path: str, ends: Collection[int]) -> Moves:
    width = len(text)
    return {end - width: end for end in ends if path.endswith(text, max(end - width, 0), end)}


def _one(path: str, ends: Collection[int]) -> Moves:
    return {end - 1: end for end in ends if end and path[end - 1] != "/"}


def _star(path: str, ends: Collection[int]) -> Moves:
    wanted = set(ends)
    furthest = _furthest(path, wanted)
    return {start: furthest.get(start, start) for start in wanted | furthest.keys()}


def _furthest(path: str, wanted: set[int]) -> Moves:
    """Map each position to the last wanted one after it in the same segment."""
    moves: Moves = {}
    furthest = -1
    for start in range(len(path) - 1, -1, -1):
        if path[start] == "/":
            furthest = -1
            continue
        if furthest < 0 and start + 1 in wanted:
            furthest = start + 1
        if furthest > 0:
            moves[start] = furthest
    return moves


def _part(path: str, ends: Collection[int]) -> Moves:
    wanted = set(ends)
    # `.` or `..` is the furthest value only if no longer one matches. The only other value from
    # there is `.` again, so dropping it loses no match.
    return {
        start: end
        for start, end in _furthest(path, wanted).items()
        if end - start > len("..") or path[start:end] not in _DOTS
    }


def _parts(path: str, ends: Collection[int]) -> Moves:
    moves = _part(path, ends)
    last = max((end for end in ends if _may_end(path, end)), default=0)
    next_slash = len(path)
    for start in range(path.rfind("/", 0, last), -1, -1):
        if path[start] == "/":
            next_slash = start
        elif next_slash - start > len("..") or path[start:next_slash] not in _DOTS:
            moves[start] = last
    return moves


def _may_end(path: str, end: int) -> bool:
    # A value over several segments ends with a name, not with `/`, `/.` or `/..`.
    tail = path[max(end - len("/.."), 0) : end]
    return tail.rpartition("/")[2] not in {"", *_DOTS}


def _folders(path: str, ends: Collection[int]) -> Moves:
    wanted = set(ends)
    moves: Moves = {}
    furthest = -1
    for start in range(len(path) - 1, -1, -1):
        if start and path[start - 1] != "/":
            continue
        if start in wanted and furthest < 0:
            furthest = start
        if furthest >= 0:
            moves[start] = furthest
    return moves


def _any(path: str, ends: Collection[int]) -> Moves:  # noqa: ARG001 - `**` is always the last part
    return dict.fromkeys(range(len(path)), len(path))


_WILDCARDS: dict[PartKind, Callable[[str, Collection[int]], Moves]] = {
    PartKind.ONE: _one,
    PartKind.STAR: _star,
    PartKind.PART: _part,
    PartKind.FOLDERS: _folders,
    PartKind.PARTS: _parts,
    PartKind.ANY: _any,
}
