"""Verdicts, weakest first. The strongest one of all books decides."""

from collections.abc import Iterable
from enum import Enum
from operator import attrgetter


class Verdict(Enum):
    """What a rule decides about an event."""

    ALLOW = "allow"
    WARN = "warn"
    ASK = "ask"
    DENY = "deny"
    HALT = "halt"

    def __init__(self, _word: str) -> None:
        # The number of earlier members: members are created in the order of the source.
        self.strength = len(type(self).__members__)

    def __lt__(self, other: object) -> bool:
        return self.strength < other.strength if isinstance(other, Verdict) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.strength <= other.strength if isinstance(other, Verdict) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self.strength > other.strength if isinstance(other, Verdict) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self.strength >= other.strength if isinstance(other, Verdict) else NotImplemented


def is_refused(verdict: Verdict) -> bool:
    """Whether the event is not allowed. This includes ask, since a person has not decided yet."""
    return verdict >= Verdict.ASK


def strongest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the strongest verdict, or allow if there are none."""
    return max(verdicts, key=attrgetter("strength"), default=Verdict.ALLOW)
