"""Compare a tree with its snapshot: created, modified, deleted and renamed files.

Every folder is opened from its parent and no link is followed, so a change of the tree during the
scan cannot lead out of it. Only the net effect is reported: a save that replaces a file is
`modified`. A file is recognised by its inode only if size and mtime are the same, because systems
reuse inodes at once. So a file that was moved and written is reported as `deleted` and `created`.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict, deque
from enum import StrEnum
from errno import ELOOP, ENOENT, ENOTDIR
from itertools import filterfalse, groupby
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from bylaw.model.display import clip_text, visible
from bylaw.model.vocabulary import ActorHint, Change
from bylaw.store.paths import as_bytes, as_text, is_folder, is_inside, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class EntryKind(StrEnum):
    """What is at a path; `outside` is a link that leads out of the root."""

    FILE = "file"
    LINK = "link"
    FOLDER_LINK = "folder_link"
    OUTSIDE = "outside"


class Entry(NamedTuple):
    """One file or link as it was last seen.

    Programs cannot set `ctime_ns`, so setting `mtime_ns` back does not hide a change.
    """

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    kind: EntryKind


class Folder:
    """A folder: its files and links, and its subfolders, by name.

    `closed` means that the folder cannot be read; its old entries stay.
    """

    __slots__ = ("closed", "files", "folders")

    def __init__(self) -> None:
        self.closed = False
        self.files: dict[str, Entry] = {}
        self.folders: dict[str, Folder] = {}

    def entries(self, path: str = "") -> Iterator[tuple[str, Entry]]:
        """Yield the path and entry of every file below. `path` is the path of this folder."""
        for name, entry in self.files.items():
            yield join_path(path, name), entry
        for name, folder in self.folders.items():
            yield from folder.entries(join_path(path, name))

    def is_empty(self) -> bool:
        """Whether there is no file below."""
        return not self.files and all(folder.is_empty() for folder in self.folders.values())


class Snapshot:
    """All folders and files of a tree, by paths from its root. The path of the root is empty."""

    def __init__(self) -> None:
        self.top = Folder()
        self.count = 0

    def folder(self, path: str) -> Folder | None:
        """The folder at a path, if there is one."""
        found: Folder | None = self.top
        for name in path.split("/") if path else ():
            if found is None:
                return None
            found = found.folders.get(name)
        return found

    def file(self, path: str) -> Entry | None:
        """The file at a path, if there is one."""
        folder, name = parent_and_name(path)
        found = self.folder(folder)
        return found.files.get(name) if found else None

    def make_folder(self, path: str) -> Folder:
        """Return the folder at a path. Add it if it is missing."""
        found = self.top
        for name in path.split("/") if path else ():
            found = found.folders.setdefault(name, Folder())
        return found

    def set(self, path: str, entry: Entry | None) -> None:
        """Set the file at a path, or remove it if `entry` is None."""
        folder, name = parent_and_name(path)
        if entry is not None:
            files = self.make_folder(folder).files
            self.count += name not in files
            files[name] = entry
        elif (found := self.folder(folder)) and found.files.pop(name, None):
            self.count -= 1

    def forget_folder(self, path: str) -> None:
        """Remove a folder, unless files are known below it."""
        folder, name = parent_and_name(path)
        parent = self.folder(folder)
        found = parent.folders.get(name) if parent else None
        if parent and found and found.is_empty():
            del parent.folders[name]


def join_path(folder: str, name: str) -> str:
    """Join a folder and a name."""
    return f"{folder}/{name}" if folder else name


def parent_and_name(path: str) -> tuple[str, str]:
    """Split a path into its folder and its last part."""
    folder, _, name = path.rpartition("/")
    return folder, name


def with_ancestors(path: str) -> Iterator[str]:
    """Yield a path and all its parent folders, the root last."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""


# Deeper folders are not entered but reported as a problem.
MAX_DEPTH = 100
MAX_PROBLEMS = 100
MAX_SHOWN = 200  # characters of a path in a message

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_TIME_NS = 2**63 - 1
_MISSING = frozenset({ENOENT, ENOTDIR, ELOOP})


class ScanResult(Struct):
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

    def remove_folder(self, path: str, folder: Folder) -> None:
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

    def look(self, paths: Iterable[str], known: Snapshot) -> ScanResult:
        """Compare these paths and all below them. New folders are added to the snapshot."""
        sight = ScanResult()
        try:
            root = os.open(as_bytes(self.root), _FOLDER)
        except OSError as wrong:  # an unreadable tree is not an empty tree
            sight.problem(_read_problem("", wrong))
            return sight
        try:
            self._scan_below(root, paths, known, sight)
        finally:
            os.close(root)
        return sight

    def _scan_below(
        self, root: int, paths: Iterable[str], known: Snapshot, sight: ScanResult
    ) -> None:
        # A folder comes before its content.
        ordered = sorted(filterfalse(self.is_excluded, paths), key=parent_and_name)
        walked: set[str] = set()
        for above, group in groupby(ordered, key=lambda path: parent_and_name(path)[0]):
            if not any(part in walked for part in with_ancestors(above)):
                walked.update(self._scan_folder(root, above, group, known, sight))

    def _scan_folder(
        self, root: int, above: str, paths: Iterable[str], known: Snapshot, sight: ScanResult
    ) -> Iterable[str]:
        """Compare paths in one folder. Return those that were read completely."""
        try:
            folder = _open_folder(root, above)
        except OSError as wrong:
            if wrong.errno not in _MISSING:
                sight.problem(_read_problem(above, wrong))
                return []
            folder = None
        try:
            return [path for path in paths if self._scan_path(folder, path, known, sight)]
        finally:
            if folder is not None:
                os.close(folder)

    def _scan_path(self, above: int | None, path: str, known: Snapshot, sight: ScanResult) -> bool:
        """Compare one path in an open folder. Return whether it was read completely."""
        if not path:
            if above is not None:
                self._walk(above, "", known.top, sight)
            return True
        name, was = parent_and_name(path)[1], known.folder(path)
        try:
            is_dir, entry = self._stat_path(above, name, path)
        except OSError as wrong:
            sight.problem(_read_problem(path, wrong))
            return False
        if above is not None and is_dir:
            sight.folders_differ = True  # something happened to the folder itself
            self._enter(above, path, known.make_folder(path), sight)
        elif was is not None:
            sight.remove_folder(path, was)
        sight.compare(path, known.file(path), entry)
        return is_dir or was is not None

    def _stat_path(self, folder: int | None, name: str, path: str) -> tuple[bool, Entry | None]:
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
        mtime_ns = max(-_MAX_TIME_NS, min(found.st_mtime_ns, _MAX_TIME_NS))
        return Entry(found.st_ino, found.st_size, mtime_ns, found.st_ctime_ns, kind)

    def _kind_of_link(self, path: str) -> EntryKind:
        target = real_path(f"{self.root}/{path}")
        if not is_inside(target, self.root):
            return EntryKind.OUTSIDE
        return EntryKind.FOLDER_LINK if is_folder(target) else EntryKind.LINK

    def _enter(self, above: int, path: str, known: Folder, sight: ScanResult) -> None:
        if path.count("/") >= MAX_DEPTH:
            where = visible(clip_text(path, MAX_SHOWN))
            sight.problem(f"`{where}` is deeper than {MAX_DEPTH} folders and is not watched")
            return
        try:
            name = parent_and_name(path)[1]
            folder = os.open(as_bytes(name), _FOLDER, dir_fd=above)
        except OSError as wrong:
            # If the folder has just been removed, the next scan reports that.
            if wrong.errno not in _MISSING:
                sight.folders_differ |= not known.closed
                known.closed = True
                sight.problem(_read_problem(path, wrong))
            return
        sight.folders_differ |= known.closed
        known.closed = False
        try:
            self._walk(folder, path, known, sight)
        finally:
            os.close(folder)

    def _walk(self, folder: int, path: str, known: Folder, sight: ScanResult) -> None:
        files: set[str] = set()
        folders: list[str] = []
        with os.scandir(folder) as entries:
            for found in entries:
                name = as_text(os.fsencode(found.name))
                below = join_path(path, name)
                if below in self.excluded:
                    continue
                if found.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry := self._entry_of(found, below):
                    files.add(name)
                    sight.compare(below, known.files.get(name), entry)
        for name in known.files.keys() - files:
            sight.compare(join_path(path, name), known.files[name], None)
        self._walk_folders(folder, path, folders, known, sight)

    def _entry_of(self, found: os.DirEntry[str], path: str) -> Entry | None:
        try:
            return self._entry(found.stat(follow_symlinks=False), path)
        except OSError:  # removed meanwhile
            return None

    def _walk_folders(
        self, folder: int, path: str, names: list[str], known: Folder, sight: ScanResult
    ) -> None:
        for name in known.folders.keys() - set(names):
            sight.remove_folder(join_path(path, name), known.folders[name])
        for name in names:
            if name not in known.folders:
                known.folders[name] = Folder()
                sight.folders_differ = True
            self._enter(folder, join_path(path, name), known.folders[name], sight)


def _open_folder(root: int, path: str) -> int:
    """Open a folder below an open one without following links. Raises OSError if that fails."""
    folder = os.dup(root)
    for name in path.split("/") if path else ():
        try:
            inner = os.open(as_bytes(name), _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _read_problem(path: str, wrong: OSError) -> str:
    where = f"`{visible(clip_text(path, MAX_SHOWN))}`" if path else "the watched folder"
    return f"{where} cannot be read: {wrong.strerror}"


class FileChange(Struct, frozen=True):
    """What happened to one file; paths are relative to the root, with `/`."""

    change: Change
    path: str
    old_path: str = ""
    actor: ActorHint = ActorHint.UNKNOWN


def derive_changes(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[FileChange]:
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
