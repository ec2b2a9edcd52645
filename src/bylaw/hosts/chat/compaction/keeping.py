"""What `keep` asks for → the units that stay, whatever the strategy is.

A unit stays if any part of it does, so `latest:N` may keep more than N messages. It also stays
while one of its calls waits for a response, and if it does not stand in the file itself: what was
imported cannot be archived.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.chat.compaction.units import History
    from bylaw.hosts.chat.compaction.wishes import Keep


def staying(history: History, keep: Keep, path: str) -> set[int]:
    """The units that stay; `path` is that of the file."""
    places = enumerate(history.blocks)
    fixed = (place for place, it in places if it.role in keep.roles or it.source.path != path)
    latest = islice(_newest_others(history, keep), keep.latest)
    kept = {history.unit_at[place] for place in (*fixed, *latest)}
    return kept | {number for number, unit in enumerate(history.units) if unit.unanswered}


def _newest_others(history: History, keep: Keep) -> Iterator[int]:
    """Where the messages begin that are not kept by their role, newest first."""
    for place in reversed(history.message_at):
        if history.blocks[place].role not in keep.roles:
            yield place
