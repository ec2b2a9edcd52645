"""Blocked stops, counted for each violation, so that no violation blocks forever.

Each violation has its own count: if one changes, the others do not become new.
"""

from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.decision import Decision, Reason
from bylaw.model.effects import EntryWrite
from bylaw.model.event import AgentStop, EffectDone
from bylaw.model.verdict import is_refused
from bylaw.model.vocabulary import OPEN_STATUSES, EffectStatus, Op

if TYPE_CHECKING:
    from bylaw.model.facts import Entry

# Older violations were fixed or released long ago.
MAX_BLOCKED = 512
MAX_AS_ONE = 64  # if all violations of a stop are counted as one
# Per stop. All further ones are counted as one, so that none pushes another out.
MAX_EACH = 256
UNANSWERED = "unanswered"
_VIOLATIONS = "violations"
_VIOLATION = "violation"  # in older records: all violations of a stop as one


def blocks_stop(decision: Decision) -> bool:
    """Whether a decision blocks a stop. Ask and halt block it as deny does."""
    return is_refused(decision.verdict)


def violations(event: AgentStop, decision: Decision) -> dict[str, Sequence[Reason]]:
    """Return what blocks a stop: violations by digest, each with its reasons.

    The same digest means the same violation: agent, reason and open entries are unchanged.
    """
    if not event.each:
        reasons = [one for group in _told_apart(decision) for one in group]
        return {_digest_as_one(event, decision, reasons): reasons}
    entries = list(_open_entries(event, decision))
    return {_digest(event.agent, one, entries): one for one in _told_apart(decision)}


def _told_apart(decision: Decision) -> list[list[Reason]]:
    reasons = [one for one in decision.reasons if is_refused(one.verdict)]
    apart = [[one] for one in reasons[:MAX_EACH]]
    # A verdict without a reason also blocks.
    return [*apart, reasons[MAX_EACH:]] if reasons[MAX_EACH:] or not apart else apart


def _digest(agent: str, reasons: list[Reason], entries: list[tuple[str, str, str]]) -> str:
    rules = {one.rule for one in reasons}
    said = [(one.uid, one.text) for one in reasons]
    found = sorted((key, digest) for policy, key, digest in entries if policy in rules)
    return _sha256(agent, said, found)


def _digest_as_one(event: AgentStop, decision: Decision, reasons: list[Reason]) -> str:
    """Compute the digest as older versions did, so that old records fold to the same session."""
    known = (event.facts.entries or {}).items()
    found = {key: one.digest for key, one in known if one and one.status in OPEN_STATUSES}
    for _, _, step in decision.numbered_steps():
        if isinstance(step, EntryWrite) and step.status in OPEN_STATUSES:
            found[step.hash] = step.digest
    said = [(one.uid, one.text) for one in reasons]
    return _sha256(event.agent, said, sorted(found.items()))


def _sha256(agent: str, said: list[tuple[str, str]], found: list[tuple[str, str]]) -> str:
    return sha256(msgspec.json.encode((agent, said, found))).hexdigest()


def _open_entries(event: AgentStop, decision: Decision) -> Iterator[tuple[str, str, str]]:
    """Yield the entries that block a stop: policy, hash, and the digest of its files.

    An entry is as this decision writes it. When a stop is first blocked, the facts do not have the
    entry yet, and a closed entry is gone at the next stop. The number of times that it was shown is
    not used, since it grows with every block.
    """
    entries: dict[str, Entry | EntryWrite | None] = {**(event.facts.entries or {})}
    for _, _, step in decision.numbered_steps():
        if isinstance(step, EntryWrite):
            entries[step.hash] = step
    for key, one in entries.items():
        if one and one.status in OPEN_STATUSES:
            yield one.policy, key, one.digest


class BlockedStop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often one violation blocked a stop, and whether it was ever released."""

    digest: str
    times: int
    let_through: bool = False


class BlockedStops(Struct, frozen=True, forbid_unknown_fields=True):
    """The newest violations that blocked stops, newest last."""

    stops: tuple[BlockedStop, ...] = ()

    def find(self, digest: str) -> BlockedStop:
        """Return the count of this violation."""
        known = (stop for stop in self.stops if stop.digest == digest)
        return next(known, BlockedStop(digest=digest, times=0))

    def add(self, digests: Collection[str], most: int) -> Self:
        """Count one more block of these violations. Keep at most the newest `most`."""
        others = [stop for stop in self.stops if stop.digest not in digests]
        known = [self.find(digest) for digest in digests]
        newest = [replace(stop, times=stop.times + 1) for stop in known]
        return type(self)((*others, *newest)[-most:])

    def take_back(self, effect: EffectDone) -> Self:
        """Undo the last block of violations that a record says were released."""
        let_through = _released(effect, _VIOLATIONS)
        gone = let_through | _released(effect, _VIOLATION)
        if not gone:
            return self
        stops = (
            replace(
                stop,
                times=stop.times - (stop.digest in gone),
                let_through=stop.let_through or stop.digest in let_through,
            )
            for stop in self.stops
        )
        return type(self)(tuple(stop for stop in stops if stop.times > 0))


def released(stop: AgentStop, digests: Sequence[str], blocks: int) -> EffectDone:
    """Build the record of violations that were released at a stop after `blocks` blocks."""
    return EffectDone(
        session=stop.session,
        agent=stop.agent,
        of=stop.seq,
        step=0,
        op=Op.ANSWER,
        status=EffectStatus.RELEASED,
        result={"note": f"{UNANSWERED}: {times_blocked(blocks)}", _VIOLATIONS: list(digests)},
    )


def _released(effect: EffectDone, key: str) -> set[str]:
    """Return the violations that a record says were released."""
    if effect.status is not EffectStatus.RELEASED or not isinstance(effect.result, dict):
        return set()
    found = effect.result.get(key)
    return {one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)}


def times_blocked(blocks: int) -> str:
    """Return the number of blocks as text."""
    return "it blocked once" if blocks == 1 else f"it blocked {blocks} times"
