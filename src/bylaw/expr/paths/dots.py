"""Find the places of a pattern where alternatives can make a segment `.` or `..`.

No path of a repository has such a segment. There are too many combinations of alternatives to try
them all. It is enough to know for each whether the segment so far has only dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bylaw.expr.paths.parts import Alternatives, PartKind, Token, Wildcard
from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DOTS = (".", "..")
# The text of a segment so far, if it can still become one of `_DOTS`, and its span.
_Begun: TypeAlias = dict[str, Span]


def dot_segments(parts: Iterable[tuple[Token, Span]]) -> dict[Span, str]:
    """Return the text of each such segment, by its span."""
    found: dict[Span, str] = {}
    begun: _Begun = {"": Span(0, 0)}
    for token, span in parts:
        if isinstance(token, Wildcard):
            # A wildcard never makes a segment `.` or `..`; after `**/` a new segment begins.
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
    """Yield each text that a part can be, and its offset."""
    if not isinstance(token, Alternatives):
        yield token.written, span.start
        return
    start = span.start + 1
    for text in token.texts:
        yield text, start
        start += len(text) + 1


def _gone_on(dots: str, place: Span, text: str, start: int, found: dict[Span, str]) -> _Begun:
    """Append a text to a segment: return the open segment, and add complete ones to `found`."""
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
