"""Read the files of a work tree that git does not report.

They are in nested repositories, or an ignore file hides them. Such a place cannot influence how it
is read: no link is followed, no settings are read, and only `.git` is skipped. A place with too
many files is not read completely, and is listed in `skipped`.
"""

from __future__ import annotations

import os
import time
from stat import S_ISDIR
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.worktree.git.path_text import fact_path_of, file_bytes
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

MAX_UNTOLD = 5_000  # files and folders of all places together
MAX_DEPTH = 100  # nested folders; each is kept open

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GIT = b".git"
# A file that changed this recently may change again with the same time.
_YOUNG_NS = 2_000_000_000


class UntoldFile(NamedTuple):
    """A file that Bylaw reads itself.

    `stamp` changes if the file may have changed. It is empty if the file changed very recently.
    """

    digest: str
    stamp: str = ""


class _PlaceTooLargeError(Exception):
    """A place has too many files or is too deep."""


class UntoldFiles:
    """Reads places below the top of a work tree. `digest` returns the digest of a file.

    `known` are files from an earlier check. `skipped` are names of places that have, or once had,
    too many files. They are not read again.
    """

    def __init__(
        self, top: str, digest: Callable[[bytes], str], known: Mapping[str, UntoldFile]
    ) -> None:
        self._top = as_bytes(top)
        self._digest = digest
        self._known = known
        self._left = MAX_UNTOLD
        self.found: dict[str, UntoldFile] = {}
        self.skipped: list[str] = []

    def look(self, name: str, places: Iterable[str], without: Collection[str] = ()) -> None:
        """Add all files at some places, except those in `without`.

        `name` identifies the places in `skipped` if they have too many files.
        """
        before = self._left
        if name in self.skipped:
            return
        try:
            seen = [each for place in places for each in self._walked(file_bytes(place))]
        except _PlaceTooLargeError:
            self._left = before
            self.skipped.append(name)
            return
        for path, found in seen:
            file = fact_path_of(path)
            if file not in self.found and not is_in(file, without):
                self.found[file] = self._file(path, found, self._known.get(file))

    def _file(self, path: bytes, found: os.stat_result, known: UntoldFile | None) -> UntoldFile:
        stamp = _stamp(found)
        if known is not None and stamp and known.stamp == stamp:
            return known
        return UntoldFile(self._digest(path), stamp)

    def _walked(self, place: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
        """Yield every file in a folder, or the place itself if it is a file. Nothing if gone."""
        above, _, name = place.rpartition(b"/")
        try:
            folder = os.open(self._top + b"/" + above, _FOLDER)
        except OSError:
            return
        try:
            yield from self._at(folder, name, place, MAX_DEPTH)
        finally:
            os.close(folder)

    def _at(
        self, folder: int, name: bytes, path: bytes, depth: int
    ) -> Iterator[tuple[bytes, os.stat_result]]:
        self._left -= 1
        if self._left < 0 or not depth:
            raise _PlaceTooLargeError
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            inner = os.open(name, _FOLDER, dir_fd=folder) if S_ISDIR(found.st_mode) else None
        except OSError:
            return  # it was just removed, or must not be read
        if inner is None:
            yield path, found
            return
        try:
            for one in sorted(map(os.fsencode, os.listdir(inner))):  # noqa: PTH208 - a descriptor
                if one != _GIT:
                    yield from self._at(inner, one, path + b"/" + one, depth - 1)
        finally:
            os.close(inner)


def is_in(path: str, places: Collection[str]) -> bool:
    """Whether a path is one of the places, or is below one of them."""
    while path:
        if path in places:
            return True
        path = path.rpartition("/")[0]
    return "" in places


def _stamp(found: os.stat_result) -> str:
    if time.time_ns() - found.st_ctime_ns < _YOUNG_NS:
        return ""
    parts = (found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
    return " ".join(map(str, parts))
