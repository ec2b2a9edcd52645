"""List all files of a work tree that git does not ignore, with the metadata of each.

No file is read, and a folder whose metadata is the same is not listed again. The path of a folder
ends with `/`; the path of the top folder is empty.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from stat import S_ISDIR
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bylaw.store.paths import as_bytes
from bylaw.worktree.git_status import OURS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The inode, and in the lower bits the change time (ctime), which no program can set.
# One number instead of a pair saves two objects for each file of a work tree.
Stamp: TypeAlias = int
_TIME_BITS = 64
_TIME = (1 << _TIME_BITS) - 1

# File times advance in steps, on some file systems in steps of seconds.
_TICK_NS = 20_000_000
_COARSE_NS = 2_100_000_000
_SECOND_NS = 1_000_000_000

_TOP = b""
_GIT = b".git"
# Bylaw writes into these folders at every stop, so their change times mean nothing.
_PARENTS_OF_OURS = frozenset(path.partition(b"/")[0] + b"/" for path in OURS)


class FileClock:
    """The time of a check, compared with the change times of files.

    A file with a change time up to `surely_ns` surely changed before the check.
    """

    def __init__(self) -> None:
        self._now_ns = time.time_ns()
        self.surely_ns = self._now_ns - _COARSE_NS

    def may_precede(self, changed_ns: int) -> bool:
        """Whether a file with this change time may have changed after the check."""
        is_whole = changed_ns % _SECOND_NS == 0 and changed_ns > self.surely_ns
        return is_whole or changed_ns > self._now_ns - _TICK_NS


class _Folder(NamedTuple):
    """The content of a folder. It is valid while the folder has this stamp."""

    stamp: Stamp
    files: list[bytes]
    folders: list[bytes]


class TreeScope:
    """The known paths of a work tree: ignored, not ignored, and folders to enter.

    `is_repository` returns whether a folder is a nested repository. Git treats it as one file.
    """

    def __init__(
        self, root: str, ignored: Iterable[bytes], is_repository: Callable[[bytes], bool]
    ) -> None:
        self.top = as_bytes(root.rstrip("/") + "/")
        self.ignored = {*ignored, *OURS}
        self.files: set[bytes] = set()
        self.entered = {_TOP}
        self.found: dict[bytes, _Folder] = {}
        self._repositories: set[bytes] = set()
        self._is_repository = is_repository

    def knows(self, path: bytes) -> bool:
        """Whether a path is known as not ignored. It may be gone now."""
        return path in self.files or path in self.entered or path in self._repositories

    def admit(self, path: bytes) -> None:
        """Record a file or folder as not ignored."""
        if self.knows(path):
            return
        if not path.endswith(b"/"):
            self.files.add(path)
        elif self._is_repository(path):
            self._repositories.add(path)
        else:
            self.entered.add(path)

    def reject(self, path: bytes) -> None:
        """Record a file as ignored that was admitted before."""
        self.ignored.add(path)
        self.files.discard(path)
        self.found.pop(path[: path.rfind(b"/") + 1], None)

    def ignore(self, ignored: Iterable[bytes]) -> None:
        """Replace the ignored paths."""
        self.ignored = {*ignored, *OURS}
        self.found.clear()

    def new_since(self, moment: FileClock) -> list[bytes]:
        """Return the files that may be newer than a moment, alone or with their folder."""
        folders = tuple(
            path
            for path in self.entered - {_TOP} - _PARENTS_OF_OURS
            if moment.may_precede(_folder_stamp(self.top + path) & _TIME)
        )
        at_top = (path for path in self.files if b"/" not in path)
        below = (path for path in self.files if path.startswith(folders)) if folders else ()
        return [*(path for path in at_top if self._is_newer(path, moment)), *below]

    def _is_newer(self, path: bytes, moment: FileClock) -> bool:
        with suppress(OSError):  # the file is gone
            return moment.may_precede(os.lstat(self.top + path).st_ctime_ns)
        return False


class Walk:
    """One walk over a work tree. `files` are the files that it found.

    `repositories` are nested repositories, one file each for git. `stamps`, without times, exist
    only for files in folders that had to be listed. `takes_new` adds all paths that are not ignored
    so far, without asking git.
    """

    def __init__(self, ground: TreeScope, *, takes_new: bool = False) -> None:
        self.moment = FileClock()
        self.files: list[bytes] = []
        self.repositories: set[bytes] = set()
        self.stamps: dict[bytes, Stamp] = {}
        self._ground = ground
        self._takes_new = takes_new
        self._unknown: list[bytes] = []
        self._enter([_TOP])

    def ask(self, which_are_ignored: Callable[[list[bytes]], set[bytes]]) -> None:
        """Ask which new paths are ignored, folder by folder, and add the others."""
        while self._unknown:
            asked, self._unknown = self._unknown, []
            ignored = which_are_ignored(asked)
            self._ground.ignored |= ignored
            taken = [path for path in asked if path not in ignored]
            for path in taken:
                self._ground.admit(path)
            self.files += (path for path in taken if not path.endswith(b"/"))
            self._enter([path for path in taken if path.endswith(b"/")])

    def _enter(self, todo: list[bytes]) -> None:
        ground = self._ground
        while todo:
            path = todo.pop()
            if path not in ground.entered:
                self.repositories.add(path[:-1])
                continue
            stamp = _folder_stamp(ground.top + path)
            if not stamp:
                continue
            found = ground.found.get(path)
            if found is None or found.stamp != stamp:
                found = self._list_folder(path, stamp)
            self.files += found.files
            todo += found.folders

    def _list_folder(self, folder: bytes, stamp: Stamp) -> _Folder:
        ground, takes_new = self._ground, self._takes_new
        found, unknown = _Folder(stamp, [], []), []
        for name, inode in _entries(ground.top + folder):
            path = folder + name
            if path in ground.ignored:
                continue
            if not takes_new and not ground.knows(path):
                unknown.append(path)
            elif inode:
                found.files.append(path)
                self.stamps[path] = inode << _TIME_BITS
            else:
                ground.admit(path)
                found.folders.append(path)
        ground.files.update(found.files)
        ground.found.pop(folder, None)
        # Keep the list only if it is complete and a later change would change the stamp.
        if not unknown and not self.moment.may_precede(stamp & _TIME):
            ground.found[folder] = found
        self._unknown += unknown
        return found


def find_suspects(
    top: bytes, paths: Iterable[bytes], known: dict[bytes, Stamp], last: FileClock
) -> set[bytes]:
    """Return files whose metadata differs from `known`, or that may have changed without that.

    `last` is the time of the last check. `known` is updated. In large work trees this function
    takes most of the time.
    """
    changed = set()
    lstat, surely_ns = os.lstat, last.surely_ns
    for path in paths:
        try:
            found = lstat(top + path)
        except OSError:  # it was just removed
            changed.add(path)
            continue
        changed_ns = found.st_ctime_ns
        stamp = found.st_ino << _TIME_BITS | changed_ns
        was = known.get(path)
        if was != stamp:
            known[path] = stamp
            if was != found.st_ino << _TIME_BITS:  # else the known stamp has no time
                changed.add(path)
        if changed_ns > surely_ns and last.may_precede(changed_ns):
            changed.add(path)
    return changed


def _folder_stamp(path: bytes) -> Stamp:
    """Return the stamp of a folder, zero if there is none."""
    try:
        # Without the last `/`, because with it a link would be followed.
        found = os.lstat(path[:-1] or b"/")
    except OSError:
        return 0
    return found.st_ino << _TIME_BITS | found.st_ctime_ns if S_ISDIR(found.st_mode) else 0


def _entries(folder: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield names that may be files for git with their inodes, and folders with 0.

    Yield nothing if the folder cannot be read.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == _GIT:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield entry.name + b"/", 0
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield entry.name, entry.inode()
