"""Three guards of one event: Bylaw beside hand-written Python and beside every peer.

Everybody gets the facts as the Python objects that it takes: maps, objects, our view. Engines with
values of their own convert them in the timed part, since each event brings new facts. The bare
rows leave that out, too, and pack the guards: they show the engines alone and have no budget.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import handwritten
import ours
from bucket import BUCKETS, Bucket, Contender
from guard_peers import PEERS
from table import Lap, Row, race

AT_MOST_HAND_WRITTEN = 2
AT_LEAST_FASTER = 10


def run() -> list[Row]:
    """Check that all sides find the same outcomes, then race them."""
    return [row for bucket in BUCKETS.values() for row in _rows(bucket)]


def _rows(bucket: Bucket) -> list[Row]:
    by_hand, inlined = handwritten.contenders(bucket)
    bylaw = ours.contender(bucket)
    others = peers(bucket)
    sides = [bylaw, by_hand, inlined, *others]
    for side in sides:
        side.check(bucket)
    seconds = race({side: _lap(side, bucket) for side in sides})

    def row(them: Contender, **budget: Any) -> Row:
        name = f"{bucket.name}{', bare' * them.bare}: {_with_version(them.name)}"
        return Row(name, them.inside, seconds[bylaw], seconds[them], **budget)

    return [
        row(by_hand, budget=AT_MOST_HAND_WRITTEN, faster=False),
        row(inlined, faster=False),
        *(row(peer, budget=AT_LEAST_FASTER) for peer in others if not peer.bare),
        *(row(peer) for peer in others if peer.bare),
    ]


def _lap(side: Contender, bucket: Bucket) -> Lap:
    return Lap(side.evaluate, [side.prepare(facts) for facts in bucket.timed])


def peers(bucket: Bucket) -> list[Contender]:
    """Every peer that is installed, in its own language."""
    found = []
    for make in PEERS.values():
        try:
            found += make(bucket)
        except ImportError:
            continue  # run.py names what is not installed
    return found


def _with_version(name: str) -> str:
    return f"{name} {version(name)}" if name in PEERS else name
