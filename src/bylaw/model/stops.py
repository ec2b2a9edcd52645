"""Blocked stops, told apart by what blocked them, so that nothing blocks for ever."""

from hashlib import sha256
from typing import Self

import msgspec
from msgspec import Struct

from bylaw.model.decision import Decision
from bylaw.model.effects import EntryWrite
from bylaw.model.event import AgentStop
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import OPEN_STATUSES

# Older violations were mended or given up long ago.
MAX_BLOCKED = 64


def blocks_stop(decision: Decision) -> bool:
    """At a stop, ask and halt mean what deny means."""
    return decision.verdict >= Verdict.ASK


def stop_digest(event: AgentStop, decision: Decision) -> str:
    """The same digest means the same violation: agent, reasons and open entries are unchanged."""
    reasons = [(r.uid, r.text) for r in decision.reasons if r.verdict >= Verdict.ASK]
    found = sorted(_open_entries(event, decision).items())
    return sha256(msgspec.json.encode((event.agent, reasons, found))).hexdigest()


def _open_entries(event: AgentStop, decision: Decision) -> dict[str, str]:
    """The entries that keep a stop from ending, each with the digest of what it is about.

    An entry is as this decision writes it: when a stop is first blocked, it is not there yet. How
    often it was shown grows with every block and says nothing about it.
    """
    entries = event.facts.entries or {}
    known = {key: one.digest for key, one in entries.items() if one and one.status in OPEN_STATUSES}
    steps = (step for _, _, step in decision.numbered_steps())
    written = {
        step.hash: step.digest
        for step in steps
        if isinstance(step, EntryWrite) and step.status in OPEN_STATUSES
    }
    return known | written


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
