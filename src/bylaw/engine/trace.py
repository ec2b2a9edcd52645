"""The trace of a decision: one line per rule, computed late if it may not be needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.decision import TraceLine, TraceResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.engine.index import Bucket
    from bylaw.model.event import Event
    from bylaw.model.session import Session

# Of rules that were lowered from one written rule, the trace shows the result latest in this list.
_RESULTS_BY_WEIGHT = [
    TraceResult.NOT_LIVE,
    TraceResult.GUARD_FALSE,
    TraceResult.GATED,
    TraceResult.LIMITED,
    TraceResult.SUPPRESSED,
    TraceResult.BUDGET,
    TraceResult.GUARD_ERROR,
    TraceResult.FIRED,
]
_RANK = {result: rank for rank, result in enumerate(_RESULTS_BY_WEIGHT)}


def collapse_lines(lines: Sequence[TraceLine]) -> tuple[TraceLine, ...]:
    """Reduce adjacent lines of one uid to the one that says most."""
    kept: list[TraceLine] = []
    for line in lines:
        if kept and kept[-1].uid == line.uid:
            if _RANK[line.result] > _RANK[kept[-1].result]:
                kept[-1] = line
        else:
            kept.append(line)
    return tuple(kept)


class LateTrace(Struct, eq=False, gc=False):
    """A trace that is computed when it is first read. It behaves like a tuple.

    Code that passes a decision on to others makes a real tuple of it.
    """

    make: Callable[[Bucket, int, Session, Event], tuple[TraceLine, ...]]
    bucket: Bucket
    # Which guards held, as bits. Their rules fired, unless a limit or a gate prevented it.
    held: int
    session: Session
    event: Event
    made: tuple[TraceLine, ...] | None = None

    @property
    def lines(self) -> tuple[TraceLine, ...]:
        """The trace itself."""
        if self.made is None:
            self.made = self.make(self.bucket, self.held, self.session, self.event)
        return self.made

    def __iter__(self) -> Iterator[TraceLine]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, at: int) -> TraceLine:
        return self.lines[at]

    def __eq__(self, other: object) -> bool:
        return self.lines == (other.lines if isinstance(other, LateTrace) else other)

    def __hash__(self) -> int:
        return hash(self.lines)

    def __repr__(self) -> str:
        return repr(self.lines)
