"""The parts of a pattern → a function from a path to its captures, in linear time.

Nearly every pattern becomes one regular expression, if that provably takes time linear in
pattern × path. The others are matched part by part over the positions of the path, which is linear
by construction. If a path can be matched in several ways, the leftmost wildcard takes as much as it
can, then the next. A regular expression with backtracking gives the same result.

Why the regular expression is linear: a segment ends at the next `/`, so the match of one segment
does not change what is possible in another. Hence these conditions are enough:

* a segment has at most one wildcard of open length and one group of alternatives, or only `*`. All
  `*` but the last can match without backtracking (`(?>[^/]*?text)`), because the last one matches
  any rest;
* between two `**/` the first match is final for the same reason, if nothing is captured there;
  after the last `**/` the number of segments is fixed;
* there is at most one wildcard across segments that is not `**/`, and then no `**/`.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from bylaw.paths.syntax import Alternatives, Literal, PartKind, Token, Wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Captures = dict[str, str]
    # The start of a part → its end, only for positions from which the rest of the path matches.
    Moves = dict[int, int]


_IN_SEGMENT = "[^/]"
_FOLDERS = "(?:[^/]++/)*"
# Names that are not `.` or `..`: the first characters decide which branch matches.
_NAME = r"(?:[^/.]|\.[^/.]|\.\.[^/])[^/]*"
_NAMES = f"{_NAME}(?:/{_NAME})*"
_ANYTHING = "(?s:.+)"
_ENDS_WITH_NAME = r"(?<!/)(?<!/\.)(?<!/\.\.)(?<!^\.)(?<!^\.\.)"

Segment = tuple[Token, ...]


def linear_regex(tokens: tuple[Token, ...]) -> str | None:
    """Return a linear regular expression for complete normalised paths, or None."""
    segments = _segments(tokens)
    if not _has_valid_crossing(tokens):
        return None
    last = len(segments) - 1
    written = [_segment(segment, last=index == last) for index, segment in enumerate(segments)]
    if None in written:
        return None
    return _join_segments(segments, [text for text in written if text is not None])


def any_regex(tokens: tuple[Token, ...]) -> str:
    """Return a regular expression for complete normalised paths; it may not be linear."""
    return linear_regex(tokens) or "".join(
        _token(token, alone=False, first=False) for token in _without_any(tokens)
    )


def _segments(tokens: tuple[Token, ...]) -> list[Segment]:
    segments: list[list[Token]] = [[]]
    for token in _without_any(tokens):
        if isinstance(token, Literal):
            first, *others = token.text.split("/")
            segments[-1] += [Literal(first)] if first else []
            segments += [[Literal(text)] if text else [] for text in others]
        else:
            segments[-1].append(token)
            segments += [[]] if token == Wildcard(PartKind.FOLDERS) else []
    return [tuple(segment) for segment in segments]


def _without_any(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    if tokens[-1] == Wildcard(PartKind.ANY):
        return (*tokens[:-1], Wildcard(PartKind.FOLDERS), Wildcard(PartKind.STAR))
    return tokens


def _has_valid_crossing(tokens: tuple[Token, ...]) -> bool:
    kinds = [token.kind for token in tokens if isinstance(token, Wildcard)]
    crossing = kinds.count(PartKind.PARTS)
    return crossing == 0 or (crossing == 1 and not {PartKind.FOLDERS, PartKind.ANY} & set(kinds))


def _segment(segment: Segment, *, last: bool) -> str | None:
    groups = [token for token in segment if isinstance(token, Alternatives)]
    if any("/" in text for group in groups for text in group.texts):
        return None
    opens = [token for token in segment if _is_open(token)]
    if len(opens) <= 1 and len(groups) <= 1:
        return _segment_text(segment, several_ways=bool(opens and groups) and not last)
    if not groups and all(token == Wildcard(PartKind.STAR) for token in opens):
        return _star_text(segment)
    return None


def _is_open(token: Token) -> bool:
    open_kinds = (PartKind.STAR, PartKind.PART, PartKind.PARTS)
    return isinstance(token, Wildcard) and token.kind in open_kinds


def _segment_text(segment: Segment, *, several_ways: bool) -> str | None:
    text = "".join(
        _token(token, alone=len(segment) == 1, first=i == 0) for i, token in enumerate(segment)
    )
    if not several_ways:
        return text
    # Each way would be tried again for each way of the next segments. So the first way is final,
    # which is right unless it captures or can end elsewhere.
    settled = not any(_is_capture(t) or t == Wildcard(PartKind.PARTS) for t in segment)
    return f"(?>{text}(?=/))" if settled else None


def _is_capture(token: Token) -> bool:
    return isinstance(token, Wildcard) and bool(token.name)


def _star_text(segment: Segment) -> str:
    stars = [i for i, token in enumerate(segment) if token == Wildcard(PartKind.STAR)]
    head, tail = _tokens_text(segment[: stars[0]]), _tokens_text(segment[stars[-1] + 1 :])
    between = [_tokens_text(segment[a + 1 : b]) for a, b in pairwise(stars)]
    settled = "".join(f"(?>{_IN_SEGMENT}*?{text})" for text in between)
    return f"{head}{settled}{_IN_SEGMENT}*{tail}"


def _tokens_text(tokens: Segment) -> str:
    return "".join(_token(token, alone=False, first=False) for token in tokens)


def _token(token: Token, *, alone: bool, first: bool) -> str:
    match token:
        case Literal(text):
            return re.escape(text)
        case Alternatives(texts):
            return "(?:" + "|".join(map(re.escape, dict.fromkeys(texts))) + ")"
        case Wildcard(kind, name):
            text = _wildcard(kind, alone=alone, first=first)
            return f"(?P<{name}>{text})" if name else text


def _wildcard(kind: PartKind, *, alone: bool, first: bool) -> str:
    match kind:
        case PartKind.ONE:
            return _IN_SEGMENT
        case PartKind.STAR:
            return f"{_IN_SEGMENT}*"
        case PartKind.PART:
            # A segment of a normalised path is never `.` or `..`, so a complete one needs no check.
            return f"{_IN_SEGMENT}+" if alone else _NAME
        case PartKind.PARTS if alone:
            return _ANYTHING
        case PartKind.PARTS:
            return _ANYTHING + _ENDS_WITH_NAME if first else _NAMES
        case PartKind.FOLDERS | PartKind.ANY:
            return _FOLDERS


def _join_segments(segments: list[Segment], written: list[str]) -> str | None:
    folders = [i for i, segment in enumerate(segments) if segment == (Wildcard(PartKind.FOLDERS),)]
    if not folders:
        return "/".join(written)
    head = "".join(text + "/" for text in written[: folders[0]])
    for start, end in pairwise(folders):
        if any(map(_is_capture, (t for segment in segments[start:end] for t in segment))):
            return None
        inner = "".join(text + "/" for text in written[start + 1 : end])
        head += f"(?>{_FOLDERS}?{inner})" if inner else ""
    return head + _FOLDERS + "/".join(written[folders[-1] + 1 :])


_DOTS = {".", ".."}


def make_matcher(tokens: tuple[Token, ...]) -> Callable[[str], Captures | None]:
    """Return a function that matches a complete normalised path and returns its captures."""
    regex = linear_regex(tokens)
    return partial(_search, re.compile(regex)) if regex else partial(match_by_parts, tokens)


def make_tester(tokens: tuple[Token, ...]) -> Callable[[str], object]:
    """Return a function whose result is not None if a complete normalised path matches."""
    regex = linear_regex(tokens)
    return re.compile(regex).fullmatch if regex else partial(match_by_parts, tokens)


def _search(regex: re.Pattern[str], path: str) -> Captures | None:
    found = regex.fullmatch(path)
    return found.groupdict() if found else None


def match_by_parts(tokens: tuple[Token, ...], path: str) -> Captures | None:
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
            return _literal_moves(text, path, ends)
        case Alternatives(texts):
            # If two alternatives match, the first one wins, so it is added last.
            return dict(
                chain.from_iterable(_literal_moves(t, path, ends).items() for t in texts[::-1])
            )
        case Wildcard(kind):
            return _WILDCARDS[kind](path, ends)


def _literal_moves(text: str, path: str, ends: Collection[int]) -> Moves:
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
