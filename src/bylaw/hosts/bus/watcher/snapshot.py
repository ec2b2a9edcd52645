"""What is known of a tree: its folders, and of each file what shows that it has changed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class EntryKind(StrEnum):
    """What lies at a path; `outside` is a link that leads out of the root."""

    FILE = "file"
    LINK = "link"
    FOLDER_LINK = "folder_link"
    OUTSIDE = "outside"


class Entry(NamedTuple):
    """One file or link as it was last seen.

    `ctime_ns` is no user's to set, so a change does not hide by setting the other time back.
    """

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    kind: EntryKind


class Folder:
    """A folder: its files and links, and the folders in it, by name.

    `closed`: it may not be read, so what is known of it stays.
    """

    __slots__ = ("closed", "files", "folders")

    def __init__(self) -> None:
        self.closed = False
        self.files: dict[str, Entry] = {}
        self.folders: dict[str, Folder] = {}

    def entries(self, path: str = "") -> Iterator[tuple[str, Entry]]:
        """Every file below, with its path; `path` is that of this folder."""
        for name, entry in self.files.items():
            yield joined(path, name), entry
        for name, folder in self.folders.items():
            yield from folder.entries(joined(path, name))

    def is_empty(self) -> bool:
        """Whether no file is known below."""
        return not self.files and all(folder.is_empty() for folder in self.folders.values())


class Snapshot:
    """All that is known of a tree, by paths from its root; the path of the root is empty."""

    def __init__(self) -> None:
        self.top = Folder()
        self.count = 0

    def folder(self, path: str) -> Folder | None:
        """The folder at a path, if one is known there."""
        found: Folder | None = self.top
        for name in path.split("/") if path else ():
            if found is None:
                return None
            found = found.folders.get(name)
        return found

    def file(self, path: str) -> Entry | None:
        """The file at a path, if one is known there."""
        folder, name = parent_and_name(path)
        found = self.folder(folder)
        return found.files.get(name) if found else None

    def make_folder(self, path: str) -> Folder:
        """The folder at a path, known from now on."""
        found = self.top
        for name in path.split("/") if path else ():
            found = found.folders.setdefault(name, Folder())
        return found

    def set(self, path: str, entry: Entry | None) -> None:
        """From now on this lies at a path; None: nothing."""
        folder, name = parent_and_name(path)
        if entry is not None:
            files = self.make_folder(folder).files
            self.count += name not in files
            files[name] = entry
        elif (found := self.folder(folder)) and found.files.pop(name, None):
            self.count -= 1

    def forget_folder(self, path: str) -> None:
        """A folder is gone; it stays known while files are known in it."""
        folder, name = parent_and_name(path)
        parent = self.folder(folder)
        found = parent.folders.get(name) if parent else None
        if parent and found and found.is_empty():
            del parent.folders[name]


def joined(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder}/{name}" if folder else name


def parent_and_name(path: str) -> tuple[str, str]:
    """The folder of a path, and the last part of it."""
    folder, _, name = path.rpartition("/")
    return folder, name


def with_ancestors(path: str) -> Iterator[str]:
    """A path and every folder above it, the root last."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
