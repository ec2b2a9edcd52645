"""What lay at some paths before and what lies there now → created, modified, deleted, renamed.

Only the net effect counts: a file that came and went again is nothing, a save that puts a new file
in the place of the old one is `modified`. A file is told by its inode as long as size and time of
its last writing are the same: inodes are used again at once, so a file that was written anew and
lies elsewhere is `deleted` and `created`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.vocabulary import ActorHint, Change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.bus.watcher.snapshot import Entry


class FileChange(Struct, frozen=True):
    """What happened to one file; paths are relative to the root, with `/`."""

    change: Change
    path: str
    old_path: str = ""
    actor: ActorHint = ActorHint.UNKNOWN


def derive(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[FileChange]:
    """What happened between two looks at the same paths, in the order of the paths.

    A path that is in one of them only was not there at the other look.
    """
    old_paths = _renames(before, after)
    left = set(old_paths.values())
    changes = [FileChange(Change.RENAMED, path, old) for path, old in old_paths.items()]
    for path in before.keys() | after.keys():
        if path in old_paths:
            continue
        if path not in after:
            if path not in left:
                changes.append(FileChange(Change.DELETED, path))
        elif path not in before:
            changes.append(FileChange(Change.CREATED, path))
        elif before[path] != after[path]:
            changes.append(FileChange(Change.MODIFIED, path))
    return sorted(changes, key=lambda change: change.path)


def _renames(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> dict[str, str]:
    """The old path of each path to which a file has moved.

    A file has moved away if nothing lies at its path, or what has moved there itself. Who saves a
    file by moving the old one aside has made a copy, and modified the file.
    """
    arrivals = _arrivals(before, after)
    departed = deque(sorted(before.keys() - after.keys()))
    found: dict[str, str] = {}
    while departed:
        old = departed.popleft()
        places = arrivals.get(_identity(before[old]))
        if not places:
            continue
        path = places.popleft()
        found[path] = old
        if path in before:
            departed.append(path)
    return found


def _arrivals(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> dict[object, deque[str]]:
    """Paths at which there is another file than before, by what tells that file."""
    arrivals: dict[object, deque[str]] = defaultdict(deque)
    for path in sorted(after):
        if path not in before or _identity(before[path]) != _identity(after[path]):
            arrivals[_identity(after[path])].append(path)
    return arrivals


def _identity(entry: Entry) -> object:
    return entry.inode, entry.size, entry.mtime_ns, entry.kind
