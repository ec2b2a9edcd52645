"""The parts of a pattern → the places where alternatives make a whole segment `.` or `..`.

No path of a repository has one. All choices of alternatives are too many to write out; of each it
is enough to know whether the segment so far is only dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bylaw.expr.paths.parts import Alternatives, PartKind, Token, Wildcard
from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DOTS = (".", "..")
# What a segment may be so far, as long as it may still be one of these, and where that stands.
_Begun: TypeAlias = dict[str, Span]


def dot_segments(parts: Iterable[tuple[Token, Span]]) -> dict[Span, str]:
    """What such a segment is, by its place."""
    found: dict[Span, str] = {}
    begun: _Begun = {"": Span(0, 0)}
    for token, span in parts:
        if isinstance(token, Wildcard):
            # It may be anything, but never a segment that no path has.
            begun = {"": Span(span.end, span.end)} if token.kind is PartKind.FOLDERS else {}
            continue
        after: _Begun = {}
        for text, start in _texts(token, span):
            for dots, place in begun.items():
                after.update(_gone_on(dots, place, text, start, found))
        begun = after
    found.update((place, dots) for dots, place in begun.items() if dots)
    return found


def _texts(token: Token, span: Span) -> Iterator[tuple[str, int]]:
    """Each text that a part may be, and where it begins."""
    if not isinstance(token, Alternatives):
        yield token.written, span.start
        return
    start = span.start + 1
    for text in token.texts:
        yield text, start
        start += len(text) + 1


def _gone_on(dots: str, place: Span, text: str, start: int, found: dict[Span, str]) -> _Begun:
    """What becomes of one segment by a text behind it; what that ends is noted in `found`."""
    segments, places = text.split("/"), []
    for one in segments:
        places.append(Span(start, start + len(one)))
        start += len(one) + 1
    if dots:
        places[0] = place.to(places[0]) if segments[0] else place
        segments[0] = dots + segments[0]
    *whole, last = zip(segments, places, strict=True)
    found.update((where, one) for one, where in whole if one in _DOTS)
    return {last[0]: last[1]} if last[0] in ("", *_DOTS) else {}
