"""The state of a root's files at a session's last check, kept from one hook to the next."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from bylaw.hosts.worktree.git.tree_comparer import TreeMemory  # noqa: TC001 - msgspec reads it
from bylaw.hosts.worktree.git.untold_files import MAX_UNTOLD
from bylaw.model.fact_paths import shown_path
from bylaw.model.vocabulary import ActorHint, Change
from bylaw.tools.printers.wording import number_of

MAX_TOLD = 5  # places in a message


class Changed(NamedTuple):
    """What happened to a file, and who may have done it. Paths are relative to the root."""

    change: Change
    path: str
    old_path: str = ""
    actor: ActorHint = ActorHint.UNKNOWN


class DiskMemory(Struct, frozen=True, omit_defaults=True):
    """The last check: `tree` is what git reported, `by_tools` digests of files that tools named.

    `waiting` are changes that are still to be decided. Since the last prompt of a person, `lost`
    counts changes that will never be decided, and `unmatchable` changes of files that no pattern
    can match. `overfull` are places that now have more files than Bylaw checks. In the file, two
    fields have the names that they had first, so that older files stay readable.
    """

    tree: TreeMemory | None = None
    by_tools: dict[str, str] = field(default_factory=dict, name="named")
    waiting: list[Changed] = []
    lost: int = 0
    unmatchable: int = field(default=0, name="unnamed")
    overfull: list[str] = []

    @property
    def unjudged(self) -> str:
        """Why not every change was decided; empty if each was."""
        found = [f"{too_many_at(place)}: check them yourself" for place in self.overfull[:MAX_TOLD]]
        for count, what in (
            (len(self.waiting), "not checked yet: stop again to check the next ones"),
            (self.lost, "not checked because there were too many: check the files yourself"),
            (
                self.unmatchable,
                "not checked, path too long for any pattern: check the files yourself",
            ),
        ):
            if count:
                found.append(f"{number_of(count, 'file change')} {what}")
        return "; ".join(found)


def too_many_at(place: str) -> str:
    """Say that a place has too many files to check.

    The place may be an ignore file that hides files.
    """
    return f"`{shown_path(place)}`: more than {MAX_UNTOLD:,} files that git does not report"


def read_memory(data: bytes | None) -> DiskMemory | None:
    """Decode the memory. None if there is none or it is invalid, as before the first check."""
    try:
        return None if data is None else msgspec.json.decode(data, type=DiskMemory)
    except msgspec.MsgspecError:
        return None
