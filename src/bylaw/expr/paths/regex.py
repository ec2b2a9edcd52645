"""The parts of a pattern → a regular expression that is linear in pattern × path, or None.

Why it is linear: a segment ends at the next `/`, so the match of one segment does not change what
is possible in another. Hence these conditions are enough:

* a segment has at most one wildcard of open length and one group of alternatives, or only `*`. All
  `*` but the last can match without backtracking (`(?>[^/]*?text)`), because the last one matches
  any rest;
* between two `**/` the first match is final for the same reason, if nothing is captured there;
  after the last `**/` the number of segments is fixed;
* there is at most one wildcard across segments that is not `**/`, and then no `**/`.

Other patterns are matched part by part, see `matcher`.
"""

from __future__ import annotations

import re
from itertools import pairwise

from bylaw.expr.paths.parts import Alternatives, Literal, PartKind, Token, Wildcard

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
    if not _at_most_one_crossing(tokens):
        return None
    last = len(segments) - 1
    written = [_segment(segment, last=index == last) for index, segment in enumerate(segments)]
    if None in written:
        return None
    return _assembled(segments, [text for text in written if text is not None])


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


def _at_most_one_crossing(tokens: tuple[Token, ...]) -> bool:
    kinds = [token.kind for token in tokens if isinstance(token, Wildcard)]
    crossing = kinds.count(PartKind.PARTS)
    return crossing == 0 or (crossing == 1 and not {PartKind.FOLDERS, PartKind.ANY} & set(kinds))


def _segment(segment: Segment, *, last: bool) -> str | None:
    groups = [token for token in segment if isinstance(token, Alternatives)]
    if any("/" in text for group in groups for text in group.texts):
        return None
    opens = [token for token in segment if _is_open(token)]
    if len(opens) <= 1 and len(groups) <= 1:
        return _simple(segment, several_ways=bool(opens and groups) and not last)
    if not groups and all(token == Wildcard(PartKind.STAR) for token in opens):
        return _stars(segment)
    return None


def _is_open(token: Token) -> bool:
    open_kinds = (PartKind.STAR, PartKind.PART, PartKind.PARTS)
    return isinstance(token, Wildcard) and token.kind in open_kinds


def _simple(segment: Segment, *, several_ways: bool) -> str | None:
    text = "".join(
        _token(token, alone=len(segment) == 1, first=i == 0) for i, token in enumerate(segment)
    )
    if not several_ways:
        return text
    # Each way would be tried again for each way of the next segments. So the first way is final,
    # which is right unless it captures or can end elsewhere.
    settled = not any(_captures(t) or t == Wildcard(PartKind.PARTS) for t in segment)
    return f"(?>{text}(?=/))" if settled else None


def _captures(token: Token) -> bool:
    return isinstance(token, Wildcard) and bool(token.name)


def _stars(segment: Segment) -> str:
    stars = [i for i, token in enumerate(segment) if token == Wildcard(PartKind.STAR)]
    head, tail = _fixed(segment[: stars[0]]), _fixed(segment[stars[-1] + 1 :])
    between = [_fixed(segment[a + 1 : b]) for a, b in pairwise(stars)]
    settled = "".join(f"(?>{_IN_SEGMENT}*?{text})" for text in between)
    return f"{head}{settled}{_IN_SEGMENT}*{tail}"


def _fixed(tokens: Segment) -> str:
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


def _assembled(segments: list[Segment], written: list[str]) -> str | None:
    folders = [i for i, segment in enumerate(segments) if segment == (Wildcard(PartKind.FOLDERS),)]
    if not folders:
        return "/".join(written)
    head = "".join(text + "/" for text in written[: folders[0]])
    for start, end in pairwise(folders):
        if any(map(_captures, (t for segment in segments[start:end] for t in segment))):
            return None
        inner = "".join(text + "/" for text in written[start + 1 : end])
        head += f"(?>{_FOLDERS}?{inner})" if inner else ""
    return head + _FOLDERS + "/".join(written[folders[-1] + 1 :])
