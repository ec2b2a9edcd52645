"""A path that nobody vouches for → an open folder below a root, and the name that it ends with.

Every part is opened from the folder that was opened before it; links are read here and never
followed by the system. So whoever changes the tree meanwhile cannot lead us out of it.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from errno import EINVAL, ELOOP
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.runtime.paths import as_bytes, as_text, lies_in, real_path

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINKS = 40  # as the system has it
MAX_FOLDERS = 100  # each of them is held open
MAX_PATH_CHARS = 4096

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_OUTSIDE = "it leads out of the folder in which files may be used"


class Place(Struct, frozen=True):
    """Where a path leads: a name in an open folder, `.` if it is that folder.

    `path` is where it really lies, from the root; empty for the root. `missing` are folders on
    the way that are not there. `linked` tells that the last part of the path was a link.
    """

    folder: int
    name: str
    path: str
    missing: tuple[str, ...] = ()
    linked: bool = False


@contextmanager
def beneath(root: str, path: str, *, new: bool = False) -> Iterator[Place]:
    """Where a path leads, as long as this lasts; an OSError or a ValueError if nowhere.

    The name at its end may be that of nothing. Only for what is `new`, folders may be missing.
    """
    if len(path) > MAX_PATH_CHARS:
        raise ValueError(f"it is longer than {MAX_PATH_CHARS:,} characters")
    if _UNFIT.search(path):
        raise ValueError("it holds a control character")
    walk = _Walk(root)
    try:
        place = walk.to(path)
        if place.missing and not new:
            raise FileNotFoundError
        yield place
    finally:
        walk.end()


class _Walk:
    """The folders that were entered one after the other, the root first, and their names."""

    def __init__(self, root: str) -> None:
        self.root = real_path(root)
        self.folders = [os.open(as_bytes(self.root), _FOLDER)]
        self.names: list[str] = []
        self.links = 0

    def to(self, path: str) -> Place:
        todo = self.parts(path)
        linked = False
        while todo:
            part = todo.pop()
            if part == "..":
                self.leave()
            elif (target := self.link(part)) is not None:
                linked = linked or not todo
                todo += self.parts(target)
            elif not todo:
                return self.place(part, linked=linked)
            elif not self.enter(part):
                return self.beyond(part, todo)
        return self.place(".", linked=linked)

    def place(self, name: str, *, linked: bool) -> Place:
        path = "/".join(self.names if name == "." else [*self.names, name])
        return Place(self.folders[-1], name, path, linked=linked)

    def beyond(self, part: str, todo: list[str]) -> Place:
        """A place in folders that are not there."""
        *missing, name = parts = [part, *reversed(todo)]
        if ".." in parts or len(self.names) + len(parts) > MAX_FOLDERS:
            raise FileNotFoundError
        path = "/".join([*self.names, *parts])
        return Place(self.folders[-1], name, path, tuple(missing))

    def parts(self, path: str) -> list[str]:
        """The parts of a path, the last one first; an absolute one begins at the root again."""
        if path.startswith("/"):
            if not lies_in(path, self.root):
                raise ValueError(_OUTSIDE)
            while self.names:
                self.leave()
            path = path[len(self.root) :]
        return [part for part in reversed(path.split("/")) if part not in {"", "."}]

    def link(self, part: str) -> str | None:
        """Where a link leads; None if this is none."""
        try:
            target = as_text(os.readlink(as_bytes(part), dir_fd=self.folders[-1]))
        except FileNotFoundError:
            return None
        except OSError as no_link:
            if no_link.errno == EINVAL:
                return None
            raise
        self.links += 1
        if self.links > MAX_LINKS:
            raise OSError(ELOOP, os.strerror(ELOOP))
        return target

    def enter(self, part: str) -> bool:
        """Go into a folder; False if it is not there."""
        if len(self.names) == MAX_FOLDERS:
            raise ValueError(f"it lies more than {MAX_FOLDERS} folders deep")
        try:
            # A link that has just taken its place is refused: it is no folder.
            self.folders.append(os.open(as_bytes(part), _FOLDER, dir_fd=self.folders[-1]))
        except FileNotFoundError:
            return False
        self.names.append(part)
        return True

    def leave(self) -> None:
        if not self.names:
            raise ValueError(_OUTSIDE)
        os.close(self.folders.pop())
        self.names.pop()

    def end(self) -> None:
        for folder in self.folders:
            os.close(folder)
