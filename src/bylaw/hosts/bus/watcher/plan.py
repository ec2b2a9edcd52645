"""Plan which folders the system watches, and which of them recursively.

A recursive watch follows links, even out of the root, and cannot exclude folders. So a folder is
watched recursively only if there are no links to folders and no excluded folders below it. The
parents of such links and folders are watched one by one.
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
    """Folders to watch by path from the root: `flat` without subfolders, `deep` recursively."""

    flat: frozenset[str]
    deep: frozenset[str]

    def names(self, path: str) -> bool:
        """Whether the plan names a folder itself."""
        return path in self.flat or path in self.deep


def plan(top: Folder, excluded: Iterable[str]) -> Plan:
    """Plan how to watch a tree."""
    above = {part for path in excluded for part in with_ancestors(path)}
    flat: set[str] = set()
    deep: set[str] = set()
    _add(top, "", above, flat, deep)
    return Plan(frozenset(flat), frozenset(deep))


def _add(folder: Folder, path: str, above: set[str], flat: set[str], deep: set[str]) -> bool:
    """Add a folder to the plan. Return whether it is watched recursively."""
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
