"""Bytes → a file of an open folder that is whole at every moment."""

from __future__ import annotations

import os
from contextlib import suppress

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def write_whole(folder: int, name: str, data: bytes, *, lasting: bool = True) -> None:
    """Put a file of this user in the place of the old one; OSError leaves that as it was.

    A lasting one is whole also after the power failed.
    """
    temporary = f"{name}.{os.urandom(8).hex()}"
    try:
        with open(os.open(temporary, _NEW, 0o600, dir_fd=folder), "wb") as stream:  # noqa: PTH123 - a descriptor
            stream.write(data)
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        if lasting:
            os.fsync(folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
