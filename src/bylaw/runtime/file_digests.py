"""Paths from a root → what lies there now, as short texts that differ when it does."""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from stat import S_IMODE, S_ISLNK, S_ISREG, S_IXUSR
from typing import TYPE_CHECKING, Protocol

from bylaw.runtime.paths import as_bytes, folder_of, lies_in, real_path

if TYPE_CHECKING:
    from collections.abc import Callable

# Of a larger file, size and time of change have to do.
MAX_READ = 256 << 20
_PIECE = 1 << 18
# What a program can do with a file is a part of what it is.
_EXECUTABLE = " x"


class Hash(Protocol):
    """Something that is fed with what a file holds."""

    def update(self, data: bytes, /) -> None:
        """Take a piece."""


class FileDigests:
    """What lies below a root; one who looks at many files looks at each folder once."""

    def __init__(self, root: str) -> None:
        self.top = real_path(root)
        self._real = cache(real_path)

    def of(self, path: str, also: Callable[[os.stat_result], Hash] | None = None) -> str:
        """What lies at a path; the empty text for nothing, and for what is outside of the root.

        A hash that is made for the file may be fed with the same bytes, those of a link are where
        it leads.
        """
        location = f"{self.top}/{path}"
        if "\0" in path or not lies_in(self._real(folder_of(location)), self.top):
            return ""
        try:
            name = as_bytes(location)
            found = os.lstat(name)
            return _digest(name, found, _nowhere if also is None else also(found).update)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError:
            return "unreadable"


def _nowhere(_: bytes) -> None:
    """Nobody else wants to know."""


def _digest(location: bytes, found: os.stat_result, also: Callable[[bytes], None]) -> str:
    if S_ISLNK(found.st_mode):
        target = os.readlink(location)  # noqa: PTH115 - a Path takes no bytes
        also(target)
        return f"link {sha256(target).hexdigest()}"
    if not S_ISREG(found.st_mode):
        return "no file"
    if found.st_size > MAX_READ:
        return f"large {found.st_size} {found.st_mtime_ns}"
    mark = _EXECUTABLE if S_IMODE(found.st_mode) & S_IXUSR else ""
    return _content(location, also) + mark


def _content(location: bytes, also: Callable[[bytes], None]) -> str:
    digest = sha256()
    # It may have become something else meanwhile: no link is followed, no pipe waited for.
    file = os.open(location, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        while piece := os.read(file, _PIECE):
            digest.update(piece)
            also(piece)
    finally:
        os.close(file)
    return digest.hexdigest()
