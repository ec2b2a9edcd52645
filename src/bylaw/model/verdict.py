"""Verdicts, weakest first; the strongest over all books stands."""

from collections.abc import Iterable
from enum import Enum
from functools import total_ordering


@total_ordering
class Verdict(Enum):
    """What a rule says about an event."""

    ALLOW = "allow"
    WARN = "warn"
    ASK = "ask"
    DENY = "deny"
    HALT = "halt"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        return _STRENGTH[self] < _STRENGTH[other]


_STRENGTH = {verdict: strength for strength, verdict in enumerate(Verdict)}


def strongest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that stands; without any, allow."""
    return max(verdicts, key=_STRENGTH.__getitem__, default=Verdict.ALLOW)
