"""Compare expected lines with real lines, and return the edits that fix the page."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.source import Span
from bylaw.tools.suites.outcome import Edit, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON
    from bylaw.tools.suites.page import Expected, ExpectedLines


class LineKind(Struct, frozen=True):
    """How lines of one kind are named, compared (expected, real), rewritten and shown."""

    noun: str
    differences: Callable[[JSON, JSON], Iterable[str]]
    rewritten: Callable[[JSON, JSON], str]
    shown: Callable[[JSON], str]


def compare_lines(
    kind: LineKind, source: SourceFile, blocks: Sequence[ExpectedLines], real: Sequence[JSON]
) -> Iterator[Outcome]:
    """Yield one outcome for each line of the blocks, and one for each surplus real line."""
    lines = [line for block in blocks for line in block.lines]
    for number, (wanted, given) in enumerate(zip_longest(lines, real), start=1):
        name = f"{kind.noun} {number}"
        if wanted is None:
            yield _surplus(kind, name, blocks[-1].end, given)
        elif number > len(real):
            yield _missing(kind, name, source, wanted)
        else:
            yield _compared(kind, name, wanted, given)


def _surplus(kind: LineKind, name: str, end: int, given: JSON) -> Outcome:
    place = Span(end, end)
    failure = f"{name} is not expected: {kind.shown(given)}"
    return Outcome(place, failure, Edit(place, kind.rewritten({}, given) + "\n"))


def _missing(kind: LineKind, name: str, source: SourceFile, wanted: Expected) -> Outcome:
    whole_line = Span(wanted.place.start, source.text.index("\n", wanted.place.end) + 1)
    failure = f"{name} is missing, expected {kind.shown(wanted.value)}"
    return Outcome(wanted.place, failure, Edit(whole_line, ""))


def _compared(kind: LineKind, name: str, wanted: Expected, given: JSON) -> Outcome:
    wrong = [f"{name}: {sentence}" for sentence in kind.differences(wanted.value, given)]
    # An empty object always matches. An update of the page fills it in.
    if not wrong and wanted.value != {}:
        return Outcome(wanted.place)
    edit = Edit(wanted.place, kind.rewritten(wanted.value, given))
    return Outcome(wanted.place, "\n".join(wrong), edit)
