"""Check whether the patterns of one rule match every path that the patterns of another rule match.

Both sets of patterns become graphs in which a path is a walk, character by character. The check
follows all walks through the graph of the narrow patterns. For each walk it keeps the set of places
that the wide patterns can have reached. If a narrow pattern can end, a wide one must end as well.

The text of a wildcard is represented by one character that no pattern has. Only wildcards match it,
and they would match any other character in its place.

"Yes" is certain. "No" can also mean that the check would take too long.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from bylaw.paths.syntax import Alternatives, Literal, PartKind, Token, Wildcard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_STEPS = 50_000  # for one comparison
MAX_ALL_STEPS = 1_000_000  # for all comparisons of one `CoverCheck`

_ANY_SIGN = "\x01"  # patterns have no control characters
_VALUES = {PartKind.PART, PartKind.PARTS}
# A value is never `.` or `..`; three characters are neither.
_SURE_VALUE = (*[Wildcard(PartKind.ONE)] * 3, Wildcard(PartKind.STAR))
_SAMPLES = {
    PartKind.ONE: _ANY_SIGN,
    PartKind.STAR: _ANY_SIGN,
    PartKind.PART: _ANY_SIGN,
    PartKind.FOLDERS: f"{_ANY_SIGN}/",
    PartKind.PARTS: f"{_ANY_SIGN}/{_ANY_SIGN}",
    PartKind.ANY: f"{_ANY_SIGN}/{_ANY_SIGN}",
}


def sample_path(tokens: Iterable[Token]) -> str:
    """Return a path that few patterns match: this one, and all that cover it."""
    return "".join(map(_sample_text, tokens))


def _sample_text(token: Token) -> str:
    match token:
        case Literal(text):
            return text
        case Alternatives(texts):
            return texts[0]
        case Wildcard(kind):
            return _SAMPLES[kind]


class CoverCheck:
    """Compares patterns, and stops when all comparisons together take too long."""

    def __init__(self) -> None:
        self._left = MAX_ALL_STEPS

    def covers(
        self, wide: Iterable[tuple[Token, ...]], narrow: Iterable[tuple[Token, ...]]
    ) -> bool:
        """Whether it is certain that a wide pattern matches each path that a narrow one matches."""
        if self._left <= 0:
            return False
        walk = _Walk(_Graph(map(_without_doubtful_values, wide)), _Graph(narrow))
        result = walk.is_covered(min(self._left, MAX_STEPS))
        self._left -= walk.steps
        return result


class _Graph:
    """Places, which are numbers; `next` has the following places by character."""

    def __init__(self, patterns: Iterable[tuple[Token, ...]]) -> None:
        self.next: list[dict[str, set[int]]] = []
        self.starts: list[int] = []
        self.ends: set[int] = set()
        for tokens in patterns:
            self.starts.append(self._new())
            at = self.starts[-1]
            for token in tokens:
                at = self._add_part(token, at)
            self.ends.add(at)

    def _new(self) -> int:
        self.next.append({})
        return len(self.next) - 1

    def _link(self, at: int, sign: str, to: int) -> int:
        self.next[at].setdefault(sign, set()).add(to)
        return to

    def _add_part(self, token: Token, at: int) -> int:
        """Add the links of a part that begins at a place; return the place after it."""
        match token:
            case Literal(text):
                return self._link_text(text, at, self._new())
            case Alternatives(texts):
                end = self._new()
                return [self._link_text(text, at, end) for text in texts][-1]
            case Wildcard(kind):
                return self._link_wildcard(kind, at)

    def _link_text(self, text: str, at: int, end: int) -> int:
        for sign in text[:-1]:
            at = self._link(at, sign, self._new())
        return self._link(at, text[-1], end)

    def _link_wildcard(self, kind: PartKind, at: int) -> int:
        match kind:
            case PartKind.ONE:
                return self._link(at, _ANY_SIGN, self._new())
            case PartKind.STAR:
                return self._link(at, _ANY_SIGN, at)
            case PartKind.PART:
                return self._name(at)
            case PartKind.FOLDERS:
                return self._link(self._name(at), "/", at)
            case PartKind.PARTS:
                end = self._name(at)
                self._link(self._link(end, "/", self._new()), _ANY_SIGN, end)
                return end
            case PartKind.ANY:
                return self._name(self._link_wildcard(PartKind.FOLDERS, at))

    def _name(self, at: int) -> int:
        end = self._link(at, _ANY_SIGN, self._new())
        return self._link(end, _ANY_SIGN, end)

    def next_places(self, places: Iterable[int], sign: str) -> frozenset[int]:
        """Return the places that a character can lead to from any of these places."""
        signs = (sign,) if sign in {"/", _ANY_SIGN} else (sign, _ANY_SIGN)
        return frozenset(to for at in places for one in signs for to in self.next[at].get(one, ()))


class _Walk:
    """Walks through both graphs together; `steps` counts the places made and visited."""

    def __init__(self, wide: _Graph, narrow: _Graph) -> None:
        self._wide = wide
        self._narrow = narrow
        self.steps = len(wide.next) + len(narrow.next)

    def is_covered(self, limit: int) -> bool:
        """Whether the wide graph allows all walks of the narrow one; False at the limit."""
        begin = frozenset(self._wide.starts)
        # A place, whether a segment begins there, and the places that the wide graph has reached.
        todo = [(start, True, begin) for start in self._narrow.starts]
        seen = set(todo)
        while todo:
            at, begins, beside = todo.pop()
            if self.steps > limit or not beside or self._ends_uncovered(at, begins, beside):
                return False
            new = {
                (to, sign == "/", self._wide_places(beside, sign))
                for sign, to in self._edges(at, begins)
            } - seen
            seen |= new
            todo += new
        return True

    def _ends_uncovered(self, at: int, begins: bool, beside: frozenset[int]) -> bool:
        ends = at in self._narrow.ends and not begins
        return ends and self._wide.ends.isdisjoint(beside)

    def _edges(self, at: int, begins: bool) -> Iterator[tuple[str, int]]:
        for sign, places in self._narrow.next[at].items():
            # No path has an empty segment.
            if not (begins and sign == "/"):
                yield from ((sign, to) for to in places)

    def _wide_places(self, places: frozenset[int], sign: str) -> frozenset[int]:
        self.steps += len(places)
        return self._wide.next_places(places, sign)


def _without_doubtful_values(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the pattern, with at least three characters for values next to other text."""
    around = (Literal("/"), *tokens, Literal("/"))
    result: list[Token] = []
    for (before, token), after in zip(pairwise(around), around[2:], strict=False):
        is_value = isinstance(token, Wildcard) and token.kind in _VALUES
        alone = _ends_segment(before) and _begins_segment(after)
        result += _SURE_VALUE if is_value and not alone else (token,)
    return tuple(result)


def _ends_segment(token: Token) -> bool:
    return token == Wildcard(PartKind.FOLDERS) or (
        isinstance(token, Literal) and token.text.endswith("/")
    )


def _begins_segment(token: Token) -> bool:
    return isinstance(token, Literal) and token.text.startswith("/")
