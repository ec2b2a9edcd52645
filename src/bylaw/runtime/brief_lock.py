"""A lock for the moment in which a file is changed; the system takes it from a dead process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from time import monotonic, sleep
from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 10  # most of what is done under such a lock takes milliseconds; the rest says so
_BETWEEN_TRIES_S = 0.005


@contextmanager
def briefly_locked(
    folder: int, name: str, what: str, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """While this lasts, no other process has the lock of that name in an open folder.

    BylawError says that another one has been changing `what` for too long.
    """
    lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        wait_for_lock(lock, what, patience_s)
        yield
    finally:
        os.close(lock)  # and with it the lock is gone


def wait_for_lock(lock: int, what: str, patience_s: float = PATIENCE_S) -> None:
    """Lock an open file or folder, as long as it is open; BylawError, see above."""
    until = monotonic() + patience_s
    while True:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            if monotonic() >= until:
                message = f"another process has been changing `{what}` for {patience_s:g} s"
                raise BylawError(message) from None
            sleep(_BETWEEN_TRIES_S)
        else:
            return
