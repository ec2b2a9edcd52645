"""The snapshot of a tree: its folders, and the properties that show a change of each file."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


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
            yield joined(path, name), entry
        for name, folder in self.folders.items():
            yield from folder.entries(joined(path, name))

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


def joined(folder: str, name: str) -> str:
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
