"""What a session last saw of the files of its root, kept from one hook to the next."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from bylaw.hosts.worktree.git.tree_comparer import TreeMemory  # noqa: TC001 - msgspec reads it
from bylaw.hosts.worktree.git.untold_files import MAX_UNTOLD
from bylaw.model.fact_paths import shown_path
from bylaw.model.vocabulary import ActorHint, Change
from bylaw.tools.printers.wording import number_of

MAX_TOLD = 5  # places


class Changed(NamedTuple):
    """What happened to a file, and who may have done it; paths are those from the root."""

    change: Change
    path: str
    old_path: str = ""
    actor: ActorHint = ActorHint.UNKNOWN


class DiskMemory(Struct, frozen=True, omit_defaults=True):
    """The last look: `tree` is what git saw, `by_tools` the digests of files that tools named.

    `waiting` are changes that are still to be judged; `lost` counts those since a person last spoke
    that never will be, and `unmatchable` those of files that no pattern can name. `overfull` are
    places that have come to hold more files than can be looked at. In the file, two have the names
    that they had first: what was kept before stays readable.
    """

    tree: TreeMemory | None = None
    by_tools: dict[str, str] = field(default_factory=dict, name="named")
    waiting: list[Changed] = []
    lost: int = 0
    unmatchable: int = field(default=0, name="unnamed")
    overfull: list[str] = []

    @property
    def unjudged(self) -> str:
        """Why not every change was judged, empty if each was."""
        found = [f"{too_many_at(place)}: look yourself" for place in self.overfull[:MAX_TOLD]]
        for count, what in (
            (len(self.waiting), "still to be judged: stop again for the next ones"),
            (self.lost, "too many to be judged at all: look yourself"),
            (self.unmatchable, "with paths longer than any pattern: look yourself"),
        ):
            if count:
                found.append(f"{number_of(count, 'change')} of files {what}")
        return "; ".join(found)


def too_many_at(place: str) -> str:
    """That a place is too large to be looked at; it may be an ignore file, which hides files."""
    return f"`{shown_path(place)}`: more than {MAX_UNTOLD:,} files of which git tells nothing"


def read_memory(data: bytes | None) -> DiskMemory | None:
    """What was kept; None if nothing was, or nobody can read it: as if nobody had looked."""
    try:
        return None if data is None else msgspec.json.decode(data, type=DiskMemory)
    except msgspec.MsgspecError:
        return None
