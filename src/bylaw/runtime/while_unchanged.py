"""Cache of the value computed from a file or folder, valid while it does not change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import os

# The clock of the file system advances in steps of at most this length. A file that was written
# more recently could change again and have the same stamp.
_SETTLED_NS = 100_000_000

T = TypeVar("T")

# Device, inode, size, and the times of the last write and the last change.
FileStamp = tuple[int, int, int, int, int]


def file_stamp(found: os.stat_result) -> FileStamp:
    """Return a stamp that differs if the file changed."""
    return (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        max(found.st_ctime_ns, found.st_mtime_ns),
    )


class WhileUnchanged(Generic[T]):
    """The value computed from one file or folder, while it does not change."""

    def __init__(self) -> None:
        # One tuple, so that threads see either both parts or none.
        self._last: tuple[FileStamp, T] | None = None

    def get(self, stamp: FileStamp) -> T | None:
        """Return the value for this stamp; None if there is none."""
        last = self._last
        return last[1] if last is not None and last[0] == stamp else None

    def put(self, stamp: FileStamp, value: T) -> T:
        """Store the value for this stamp and return it."""
        settled = time.time_ns() - stamp[-1] > _SETTLED_NS
        self._last = (stamp, value) if settled else None
        return value
