"""A snapshot → which folders the system is asked to watch, and which with all below them.

What wakes us follows links when it enters a folder, also out of the root, and knows no exceptions.
So a folder is watched with all below it only if there are neither links to folders nor excluded
folders below; what lies above one of them is watched folder by folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.bus.watcher.snapshot import EntryKind, joined, with_ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.bus.watcher.snapshot import Folder

_LEADS_ON = frozenset({EntryKind.FOLDER_LINK, EntryKind.OUTSIDE})


class Plan(Struct, frozen=True):
    """Paths from the root: folders to watch for themselves, and with all below them."""

    flat: frozenset[str]
    deep: frozenset[str]

    def names(self, path: str) -> bool:
        """Whether a folder is itself in the plan."""
        return path in self.flat or path in self.deep


def plan(top: Folder, excluded: Iterable[str]) -> Plan:
    """How to watch a tree."""
    above = {part for path in excluded for part in with_ancestors(path)}
    flat: set[str] = set()
    deep: set[str] = set()
    _add(top, "", above, flat, deep)
    return Plan(frozenset(flat), frozenset(deep))


def _add(folder: Folder, path: str, above: set[str], flat: set[str], deep: set[str]) -> bool:
    """Enter a folder in the plan; whether it is watched with all below it."""
    if folder.closed:
        return False
    inner = {name: joined(path, name) for name in folder.folders}
    is_plain = path not in above and all(
        entry.kind not in _LEADS_ON for entry in folder.files.values()
    )
    parts = [_add(folder.folders[name], below, above, flat, deep) for name, below in inner.items()]
    if is_plain and all(parts):
        deep.difference_update(inner.values())
        deep.add(path)
        return True
    flat.add(path)
    return False
