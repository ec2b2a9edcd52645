"""Failed gates that a person has released for a limited time.

A file in the user's state folder holds the end of that time, in seconds since 1970.
"""

from __future__ import annotations

import os
import stat
import time

from bylaw.runtime.own_place import is_own, state_home
from bylaw.runtime.paths import as_bytes

FILE = "release"
MAX_MINUTES = 24 * 60


def released_until() -> int:
    """Return until when gates are released, in seconds since 1970; 0 if they are not."""
    folder = state_home()
    if not folder:
        return 0
    try:
        file = os.open(as_bytes(f"{folder}/{FILE}"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        found = os.fstat(file)
        until = os.read(file, 32).strip() if stat.S_ISREG(found.st_mode) else b""
    except OSError:
        return 0
    finally:
        os.close(file)
    if not is_own(found) or not until.isdigit():
        return 0
    now = time.time()
    return int(until) if now < int(until) <= now + MAX_MINUTES * 60 else 0
