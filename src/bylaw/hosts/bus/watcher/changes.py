"""Old and new entries of paths → created, modified, deleted, renamed.

Only the net effect is reported. A file that was created and deleted again is no change. A save that
replaces a file by a new one is `modified`. A file is recognised by its inode only if size and mtime
are the same, because systems reuse inodes at once. So a file that was moved and written is reported
as `deleted` and `created`.
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
    """Derive the changes between two scans of the same paths, sorted by path.

    A path that is missing in one of them did not exist then.
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

    A file has moved if its old path is empty, or has a file that was itself moved there. A program
    that saves by moving the old file aside has created a copy and modified the file.
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
    """The paths that have another file than before, by the identity of that file."""
    arrivals: dict[object, deque[str]] = defaultdict(deque)
    for path in sorted(after):
        if path not in before or _identity(before[path]) != _identity(after[path]):
            arrivals[_identity(after[path])].append(path)
    return arrivals


def _identity(entry: Entry) -> object:
    return entry.inode, entry.size, entry.mtime_ns, entry.kind
