"""Compare a tree with its snapshot: which files differ, and which folders came or went.

Every folder is opened from its parent and no link is followed, so a change of the tree during the
scan cannot lead out of it. Only the differences are kept in memory.
"""

from __future__ import annotations

import os
import stat
from errno import ELOOP, ENOENT, ENOTDIR
from itertools import filterfalse, groupby
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.hosts.bus.watcher.snapshot import (
    Entry,
    EntryKind,
    Folder,
    joined,
    parent_and_name,
    with_ancestors,
)
from bylaw.model.visible import clipped, visible
from bylaw.runtime.paths import as_bytes, as_text, is_folder, lies_in, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.bus.watcher.snapshot import Snapshot

# Deeper folders are not entered but reported as a problem.
MAX_DEPTH = 100
MAX_PROBLEMS = 100
MAX_SHOWN = 200  # characters of a path in a message

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LATEST = 2**63 - 1
_NOT_THERE = frozenset({ENOENT, ENOTDIR, ELOOP})


class Sight(Struct):
    """The differences from the snapshot: entries by path, `before` and `after`.

    `gone` are folders that no longer exist. `problems` names what could not be read; its old
    entries stay.
    """

    before: dict[str, Entry] = field(default_factory=dict)
    after: dict[str, Entry] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    folders_differ: bool = False
    problems: list[str] = field(default_factory=list)

    def compare(self, path: str, old: Entry | None, new: Entry | None) -> None:
        """Keep the old and the new entry of a path if they differ."""
        if old == new:
            return
        if old is not None:
            self.before[path] = old
        if new is not None:
            self.after[path] = new

    def lose(self, path: str, folder: Folder) -> None:
        """Record that a folder with everything below it is gone."""
        self.before.update(folder.entries(path))
        self.gone.append(path)
        self.folders_differ = True

    def problem(self, text: str) -> None:
        """Record that something could not be read."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(text)


class Scanner:
    """Read the tree below a root, except the excluded paths of folders or files."""

    def __init__(self, root: str, excluded: Iterable[str]) -> None:
        self.root = real_path(root)
        self.excluded = frozenset(excluded)

    def is_excluded(self, path: str) -> bool:
        """Whether a path or one of its parent folders is excluded."""
        return any(part in self.excluded for part in with_ancestors(path))

    def look(self, paths: Iterable[str], known: Snapshot) -> Sight:
        """Compare these paths and all below them. New folders are added to the snapshot."""
        sight = Sight()
        try:
            root = os.open(as_bytes(self.root), _FOLDER)
        except OSError as wrong:  # an unreadable tree is not an empty tree
            sight.problem(_unreadable("", wrong))
            return sight
        try:
            self._look_below(root, paths, known, sight)
        finally:
            os.close(root)
        return sight

    def _look_below(self, root: int, paths: Iterable[str], known: Snapshot, sight: Sight) -> None:
        # A folder comes before its content.
        ordered = sorted(filterfalse(self.is_excluded, paths), key=parent_and_name)
        walked: set[str] = set()
        for above, group in groupby(ordered, key=lambda path: parent_and_name(path)[0]):
            if not any(part in walked for part in with_ancestors(above)):
                walked.update(self._look_in(root, above, group, known, sight))

    def _look_in(
        self, root: int, above: str, paths: Iterable[str], known: Snapshot, sight: Sight
    ) -> Iterable[str]:
        """Compare paths in one folder. Return those that were read completely."""
        try:
            folder = _open(root, above)
        except OSError as wrong:
            if wrong.errno not in _NOT_THERE:
                sight.problem(_unreadable(above, wrong))
                return []
            folder = None
        try:
            return [path for path in paths if self._look_at(folder, path, known, sight)]
        finally:
            if folder is not None:
                os.close(folder)

    def _look_at(self, above: int | None, path: str, known: Snapshot, sight: Sight) -> bool:
        """Compare one path in an open folder. Return whether it was read completely."""
        if not path:
            if above is not None:
                self._walk(above, "", known.top, sight)
            return True
        name, was = parent_and_name(path)[1], known.folder(path)
        try:
            is_dir, entry = self._at(above, name, path)
        except OSError as wrong:
            sight.problem(_unreadable(path, wrong))
            return False
        if above is not None and is_dir:
            sight.folders_differ = True  # something happened to the folder itself
            self._enter(above, path, known.make_folder(path), sight)
        elif was is not None:
            sight.lose(path, was)
        sight.compare(path, known.file(path), entry)
        return is_dir or was is not None

    def _at(self, folder: int | None, name: str, path: str) -> tuple[bool, Entry | None]:
        """Return whether the path is a folder, and its entry if it is a file or link."""
        if folder is None:
            return False, None
        try:
            found = os.stat(as_bytes(name), dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False, None
        return stat.S_ISDIR(found.st_mode), self._entry(found, path)

    def _entry(self, found: os.stat_result, path: str) -> Entry | None:
        """The entry of a file or link; None for anything else."""
        if stat.S_ISREG(found.st_mode):
            kind = EntryKind.FILE
        elif stat.S_ISLNK(found.st_mode):
            kind = self._kind_of_link(path)
        else:
            return None
        # Any program can set a time that is too large for the database.
        mtime_ns = max(-_LATEST, min(found.st_mtime_ns, _LATEST))
        return Entry(found.st_ino, found.st_size, mtime_ns, found.st_ctime_ns, kind)

    def _kind_of_link(self, path: str) -> EntryKind:
        target = real_path(f"{self.root}/{path}")
        if not lies_in(target, self.root):
            return EntryKind.OUTSIDE
        return EntryKind.FOLDER_LINK if is_folder(target) else EntryKind.LINK

    def _enter(self, above: int, path: str, known: Folder, sight: Sight) -> None:
        if path.count("/") >= MAX_DEPTH:
            where = visible(clipped(path, MAX_SHOWN))
            sight.problem(f"`{where}` is deeper than {MAX_DEPTH} folders and is not watched")
            return
        try:
            name = parent_and_name(path)[1]
            folder = os.open(as_bytes(name), _FOLDER, dir_fd=above)
        except OSError as wrong:
            # If the folder has just been removed, the next scan reports that.
            if wrong.errno not in _NOT_THERE:
                sight.folders_differ |= not known.closed
                known.closed = True
                sight.problem(_unreadable(path, wrong))
            return
        sight.folders_differ |= known.closed
        known.closed = False
        try:
            self._walk(folder, path, known, sight)
        finally:
            os.close(folder)

    def _walk(self, folder: int, path: str, known: Folder, sight: Sight) -> None:
        files: set[str] = set()
        folders: list[str] = []
        with os.scandir(folder) as entries:
            for found in entries:
                name = as_text(os.fsencode(found.name))
                below = joined(path, name)
                if below in self.excluded:
                    continue
                if found.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry := self._entry_of(found, below):
                    files.add(name)
                    sight.compare(below, known.files.get(name), entry)
        for name in known.files.keys() - files:
            sight.compare(joined(path, name), known.files[name], None)
        self._walk_folders(folder, path, folders, known, sight)

    def _entry_of(self, found: os.DirEntry[str], path: str) -> Entry | None:
        try:
            return self._entry(found.stat(follow_symlinks=False), path)
        except OSError:  # removed meanwhile
            return None

    def _walk_folders(
        self, folder: int, path: str, names: list[str], known: Folder, sight: Sight
    ) -> None:
        for name in known.folders.keys() - set(names):
            sight.lose(joined(path, name), known.folders[name])
        for name in names:
            if name not in known.folders:
                known.folders[name] = Folder()
                sight.folders_differ = True
            self._enter(folder, joined(path, name), known.folders[name], sight)


def _open(root: int, path: str) -> int:
    """Open a folder below an open one without following links. Raises OSError if that fails."""
    folder = os.dup(root)
    for name in path.split("/") if path else ():
        try:
            inner = os.open(as_bytes(name), _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _unreadable(path: str, wrong: OSError) -> str:
    where = f"`{visible(clipped(path, MAX_SHOWN))}`" if path else "the watched folder"
    return f"{where} cannot be read: {wrong.strerror}"
