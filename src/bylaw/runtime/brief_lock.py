"""A short lock around the change of a file; the system releases it if the process dies."""

from __future__ import annotations

import os
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from time import monotonic, sleep
from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 10  # most changes take milliseconds; longer ones pass their own limit
_BETWEEN_TRIES_S = 0.005


@contextmanager
def briefly_locked(
    folder: int, name: str, what: str, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """Hold the lock file of that name in an open folder until the context ends.

    BylawError if another process holds the lock too long; `what` names the file in the message.
    """
    lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        wait_for_lock(lock, what, patience_s)
        yield
    finally:
        os.close(lock)  # this also releases the lock


def wait_for_lock(lock: int, what: str, patience_s: float = PATIENCE_S) -> None:
    """Lock an open file or folder until it is closed; BylawError after `patience_s` seconds."""
    until = monotonic() + patience_s
    while True:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            if monotonic() >= until:
                message = f"`{what}` is locked by another process (waited {patience_s:g} s)"
                raise BylawError(message) from None
            sleep(_BETWEEN_TRIES_S)
        else:
            return
