"""Open a path below a root without leaving the root, even if the path is not trusted.

Each part is opened from the folder opened before it. This module reads links itself; the system
never follows one. So a process that changes the tree meanwhile cannot lead us out of the root.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager, suppress
from errno import EINVAL, ELOOP
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.store.paths import as_bytes, as_text, is_inside, real_path

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINKS = 40  # the limit of the system
MAX_FOLDERS = 100  # one open descriptor for each
MAX_PATH_CHARS = 4096

_PATH_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_OUTSIDE = "it leads outside the allowed folder"


class SafePath(Struct, frozen=True):
    """Where a path leads: a name in an open folder; the name is `.` for the folder itself.

    `path` is the real location, relative to the root; empty for the root. `missing` lists the
    folders of the path that do not exist. `linked` is true if the last part of the path was a link.
    """

    folder: int
    name: str
    path: str
    missing: tuple[str, ...] = ()
    linked: bool = False


@contextmanager
def open_safe_path(root: str, path: str, *, new: bool = False) -> Iterator[SafePath]:
    """Resolve a path; its folder is open until the context ends. Raises OSError or ValueError.

    The name need not exist. Folders may be missing only if the path is for a `new` file.
    """
    if len(path) > MAX_PATH_CHARS:
        raise ValueError(f"it is longer than {MAX_PATH_CHARS:,} characters")
    if _CONTROL_CHARS.search(path):
        raise ValueError("it contains a control character")
    walk = _Walk(root)
    try:
        place = walk.to(path)
        if place.missing and not new:
            raise FileNotFoundError
        yield place
    finally:
        walk.end()


class _Walk:
    """The folders entered so far and their names; the root comes first and has no name."""

    def __init__(self, root: str) -> None:
        self.root = real_path(root)
        self.folders = [os.open(as_bytes(self.root), _PATH_FLAGS)]
        self.names: list[str] = []
        self.links = 0

    def to(self, path: str) -> SafePath:
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
                return self.missing_place(part, todo)
        return self.place(".", linked=linked)

    def place(self, name: str, *, linked: bool) -> SafePath:
        path = "/".join(self.names if name == "." else [*self.names, name])
        return SafePath(self.folders[-1], name, path, linked=linked)

    def missing_place(self, part: str, todo: list[str]) -> SafePath:
        """Return a place in folders that do not exist."""
        *missing, name = parts = [part, *reversed(todo)]
        if ".." in parts or len(self.names) + len(parts) > MAX_FOLDERS:
            raise FileNotFoundError
        path = "/".join([*self.names, *parts])
        return SafePath(self.folders[-1], name, path, tuple(missing))

    def parts(self, path: str) -> list[str]:
        """Split a path, last part first. An absolute path starts again at the root."""
        if path.startswith("/"):
            if not is_inside(path, self.root):
                raise ValueError(_OUTSIDE)
            while self.names:
                self.leave()
            path = path[len(self.root) :]
        return [part for part in reversed(path.split("/")) if part not in {"", "."}]

    def link(self, part: str) -> str | None:
        """Return the target of a link; None if the part is not a link."""
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
        """Enter a folder; False if it does not exist."""
        if len(self.names) == MAX_FOLDERS:
            raise ValueError(f"it is more than {MAX_FOLDERS} folders deep")
        try:
            # If a link has just replaced the folder, the open fails: a link is not a folder.
            self.folders.append(os.open(as_bytes(part), _PATH_FLAGS, dir_fd=self.folders[-1]))
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


# Open a folder; fail if the name is a link.
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PUBLIC_MODE = 0o777  # the umask of the user still applies


def enter(folder: int, name: str, opened: ExitStack, *, make: int | None = None) -> int:
    """Open a folder in another folder until `opened` closes; OSError if it is not a folder.

    With `make`, a missing folder is created with that mode.
    """
    if make is not None:
        with suppress(FileExistsError):
            os.mkdir(as_bytes(name), make, dir_fd=folder)
    inside = os.open(as_bytes(name), FOLDER_FLAGS, dir_fd=folder)
    opened.callback(os.close, inside)
    return inside


@contextmanager
def open_folder(place: SafePath) -> Iterator[int]:
    """Open the folder of a place and create missing folders; OSError if that fails."""
    with ExitStack() as opened:
        folder = place.folder
        for part in place.missing:
            folder = enter(folder, part, opened, make=PUBLIC_MODE)
        # The descriptor in `place` was opened with O_PATH, which cannot list or sync the folder.
        yield enter(folder, ".", opened)
