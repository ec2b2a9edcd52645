"""The attribute `keep` → the units that stay with every strategy.

A unit stays if any part of it stays, so `latest:N` may keep more than N messages. A unit also stays
while one of its calls has no response, and if it is not in the file itself: imported messages
cannot be archived.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.chat.compaction.units import History
    from bylaw.hosts.chat.compaction.wishes import Keep


def staying(history: History, keep: Keep, path: str) -> set[int]:
    """Return the units that stay. `path` is the path of the file."""
    places = enumerate(history.blocks)
    fixed = (place for place, it in places if it.role in keep.roles or it.source.path != path)
    latest = islice(_newest_others(history, keep), keep.latest)
    kept = {history.unit_at[place] for place in (*fixed, *latest)}
    return kept | {number for number, unit in enumerate(history.units) if unit.unanswered}


def _newest_others(history: History, keep: Keep) -> Iterator[int]:
    """Yield where messages begin that their role does not keep, newest first."""
    for place in reversed(history.message_at):
        if history.blocks[place].role not in keep.roles:
            yield place
