"""Short texts that identify the content of files below a root; they differ if the content does.

Also lists the files of folders, and checks whether a copy would change an existing file.
"""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG, S_IXUSR
from typing import TYPE_CHECKING, Protocol

from bylaw.store.files import read_regular_bytes
from bylaw.store.paths import as_bytes, as_text, folder_of, is_inside, path_exists, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# For larger files, compare only size and modification time.
MAX_HASHED_BYTES = 256 << 20
_PIECE = 1 << 18
# The executable bit is part of the identity of a file.
_EXECUTABLE = " x"


class FileHash(Protocol):
    """A hash that accepts the bytes of a file."""

    def update(self, data: bytes, /) -> None:
        """Add a piece of the content."""


class FileDigests:
    """Digests of files below a root; the real path of each folder is computed only once."""

    def __init__(self, root: str) -> None:
        self.top = real_path(root)
        self._real = cache(real_path)

    def of(self, path: str, also: Callable[[os.stat_result], FileHash] | None = None) -> str:
        """Return the digest of a file; the empty text if it does not exist or is outside the root.

        `also` may return a second hash for the file; it gets the same bytes. The bytes of a link
        are its target.
        """
        location = f"{self.top}/{path}"
        if "\0" in path or not is_inside(self._real(folder_of(location)), self.top):
            return ""
        try:
            name = as_bytes(location)
            found = os.lstat(name)
            return _digest(name, found, _ignore_bytes if also is None else also(found).update)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError:
            return "unreadable"


def _ignore_bytes(_: bytes) -> None:
    """Ignore the bytes."""


def _digest(location: bytes, found: os.stat_result, also: Callable[[bytes], None]) -> str:
    if S_ISLNK(found.st_mode):
        target = os.readlink(location)  # noqa: PTH115 - a Path takes no bytes
        also(target)
        return f"link {sha256(target).hexdigest()}"
    if not S_ISREG(found.st_mode):
        return "no file"
    if found.st_size > MAX_HASHED_BYTES:
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


MAX_DEEP = 6
MAX_LISTED = 20_000  # names read per folder
MAX_COMPARED = 1 << 20


def files_in(path: str, deep: int) -> Iterator[str]:
    """Yield a file, or the files of a folder and its subfolders, at most `deep` levels down."""
    try:
        mode = os.stat(as_bytes(path)).st_mode  # noqa: PTH116 - a Path takes no bytes
        if S_ISREG(mode):
            yield path
        elif S_ISDIR(mode) and deep:
            for name in sorted(os.listdir(as_bytes(path)))[:MAX_LISTED]:  # noqa: PTH208 - same
                yield from files_in(f"{path}/{as_text(name)}", deep - 1)
    except (OSError, ValueError):
        return


def is_executable(path: str) -> bool:
    """Check whether this user may execute a file."""
    return os.access(as_bytes(path), os.X_OK)


def would_replace(path: str, source: str) -> bool:
    """Check whether a copy of `source` would change an existing file; true if in doubt."""
    if not path_exists(path):
        return False
    try:
        data = read_regular_bytes(path, MAX_COMPARED)
        return len(data) > MAX_COMPARED or data != read_regular_bytes(source, MAX_COMPARED)
    except (OSError, ValueError):
        return True
