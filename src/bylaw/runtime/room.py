"""Check whether a file cannot grow because the disk is full."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from bylaw.runtime.paths import as_bytes

# The disk is full, the user has used up a quota, or the process may write no larger files.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SOME = 64 * 1024


def has_room(path: str) -> bool:
    """Check whether there is space for more data next to a file: reserve it, then remove it.

    The test file is as long as the file or its write-ahead log, and a bit more.
    """
    folder = os.path.dirname(as_bytes(path)) or b"."  # noqa: PTH120 - a Path takes no bytes
    size = max(_size(as_bytes(path) + companion) for companion in (b"", b"-wal"))
    name = folder + b"/." + os.urandom(8).hex().encode()
    try:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(file, size, _SOME)
        finally:
            os.close(file)
            os.unlink(name)  # noqa: PTH108 - same
    except OSError as problem:
        return problem.errno not in NO_ROOM
    return True


def _size(path: bytes) -> int:
    with suppress(OSError):
        return os.stat(path).st_size  # noqa: PTH116 - same
    return 0
