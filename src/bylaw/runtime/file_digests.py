"""Short texts that identify the content of files below a root; they differ if the content does."""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from stat import S_IMODE, S_ISLNK, S_ISREG, S_IXUSR
from typing import TYPE_CHECKING, Protocol

from bylaw.runtime.paths import as_bytes, folder_of, lies_in, real_path

if TYPE_CHECKING:
    from collections.abc import Callable

# For larger files, compare only size and modification time.
MAX_READ = 256 << 20
_PIECE = 1 << 18
# The executable bit is part of the identity of a file.
_EXECUTABLE = " x"


class Hash(Protocol):
    """A hash that accepts the bytes of a file."""

    def update(self, data: bytes, /) -> None:
        """Add a piece of the content."""


class FileDigests:
    """Digests of files below a root; the real path of each folder is computed only once."""

    def __init__(self, root: str) -> None:
        self.top = real_path(root)
        self._real = cache(real_path)

    def of(self, path: str, also: Callable[[os.stat_result], Hash] | None = None) -> str:
        """Return the digest of a file; the empty text if it does not exist or is outside the root.

        `also` may return a second hash for the file; it gets the same bytes. The bytes of a link
        are its target.
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
    """Ignore the bytes."""


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
    # The file may have been replaced meanwhile: follow no link and do not wait for a pipe.
    file = os.open(location, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        while piece := os.read(file, _PIECE):
            digest.update(piece)
            also(piece)
    finally:
        os.close(file)
    return digest.hexdigest()
