"""A file or a folder → what was made of it, as long as it does not change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import os

# The system's clock of files stands still that long: what was written less than this ago could
# change once more and look the same.
_SETTLED_NS = 100_000_000

T = TypeVar("T")

# Device, inode, size, and when it was written and changed.
FileStamp = tuple[int, int, int, int, int]


def file_stamp(found: os.stat_result) -> FileStamp:
    """By what is known whether it changed."""
    return (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        max(found.st_ctime_ns, found.st_mtime_ns),
    )


class WhileUnchanged(Generic[T]):
    """What was made of a file or a folder, as long as it does not change."""

    def __init__(self) -> None:
        # One value, so that threads see either all of it or nothing.
        self._last: tuple[FileStamp, T] | None = None

    def get(self, stamp: FileStamp) -> T | None:
        """What was made of it when it had this stamp; None if nobody remembers."""
        last = self._last
        return last[1] if last is not None and last[0] == stamp else None

    def put(self, stamp: FileStamp, value: T) -> T:
        """Remember what was made of it, and give that back."""
        settled = time.time_ns() - stamp[-1] > _SETTLED_NS
        self._last = (stamp, value) if settled else None
        return value
