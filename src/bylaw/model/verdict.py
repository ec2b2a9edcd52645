"""Verdicts, weakest first; the strongest over all books stands."""

from collections.abc import Iterable
from enum import Enum
from operator import attrgetter


class Verdict(Enum):
    """What a rule says about an event."""

    ALLOW = "allow"
    WARN = "warn"
    ASK = "ask"
    DENY = "deny"
    HALT = "halt"

    def __init__(self, _word: str) -> None:
        # How many came before: members are made in the order in which they are written.
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
    """Whether a thing is not let through: what a person has to decide is not, either."""
    return verdict >= Verdict.ASK


def strongest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that stands; without any, allow."""
    return max(verdicts, key=attrgetter("strength"), default=Verdict.ALLOW)
