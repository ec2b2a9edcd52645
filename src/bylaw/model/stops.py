"""Blocked stops, told apart by what blocked them, so that nothing blocks for ever."""

from hashlib import sha256
from typing import Self

import msgspec
from msgspec import Struct

from bylaw.model.decision import Decision
from bylaw.model.event import AgentStop
from bylaw.model.facts import Entry
from bylaw.model.verdict import Verdict

# Older violations were mended or given up long ago.
MAX_BLOCKED = 64


def blocks_stop(decision: Decision) -> bool:
    """At a stop, ask and halt mean what deny means."""
    return decision.verdict >= Verdict.ASK


def stop_digest(event: AgentStop, decision: Decision) -> str:
    """The same digest means the same violation: agent, reasons and entries are unchanged."""
    reasons = [(r.uid, r.text) for r in decision.reasons if r.verdict >= Verdict.ASK]
    entries = event.facts.entries or {}
    # How often an entry was shown grows with every block and says nothing about it.
    found = sorted((key, _unshown(entry)) for key, entry in entries.items() if entry)
    return sha256(msgspec.json.encode((event.agent, reasons, found))).hexdigest()


def _unshown(entry: Entry) -> tuple[str, str, str]:
    return (entry.policy, entry.status.value, entry.digest)


class BlockedStop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often one violation blocked a stop."""

    digest: str
    times: int


class BlockedStops(Struct, frozen=True, forbid_unknown_fields=True):
    """The newest violations that blocked stops, newest last."""

    stops: tuple[BlockedStop, ...] = ()

    def times(self, digest: str) -> int:
        """How often this violation has blocked."""
        return next((stop.times for stop in self.stops if stop.digest == digest), 0)

    def add(self, digest: str) -> Self:
        """It blocked once more."""
        others = tuple(stop for stop in self.stops if stop.digest != digest)
        newest = BlockedStop(digest=digest, times=self.times(digest) + 1)
        return type(self)((*others[1 - MAX_BLOCKED :], newest))
