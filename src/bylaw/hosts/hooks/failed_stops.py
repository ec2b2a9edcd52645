"""Count stops that were not decided because Bylaw failed, so that one is released in the end.

A gate that fails must not block an agent forever, and not every client reports that the stop before
was blocked. So the failures of a session are counted where little can break: one line each in a
file of the user's state folder. If the payload has no session id, the failures in the client's
folder are counted. A stop that is decided resets both counts, and so does time.

Each cause is counted separately, as each violation is: a new cause is reported. All causes together
have a limit as well.
"""

from __future__ import annotations

import os
import time

from bylaw.runtime.own_place import is_own, state_home
from bylaw.runtime.paths import as_bytes

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "failed-stops"
# After these numbers of failures the next stop is released: for one cause, and for all together.
# The first is the default of `[stop] max_blocks`; the setting itself may be what fails.
MAX_BLOCKS = 3
MAX_IN_A_ROW = 50
FORGOTTEN_S = 3600.0
_MAX_BYTES = 4096  # more than the causes can take
_SESSIONS = ("session_id", "sessionId", "conversation_id")
_NEW = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW


def is_one_too_many(host: str, event: str, payload: Mapping[str, object], why: str) -> bool:
    """Count a failed stop. Return whether a limit is exceeded; False if it cannot be counted."""
    folder = state_home()
    if not folder:
        return False
    place = as_bytes(f"{folder}/{FOLDER}")
    os.makedirs(place, 0o700, exist_ok=True)  # noqa: PTH103 - pathlib is slow
    if not is_own(os.stat(place, follow_symlinks=False)):  # noqa: PTH116 - same
        return False
    file = os.open(place + b"/" + _name(host, event, payload), _NEW, 0o600)
    try:
        if time.time() - os.fstat(file).st_mtime > FORGOTTEN_S:
            os.ftruncate(file, 0)
        cause = _short(why.encode("utf-8", "surrogatepass"))
        os.write(file, cause + b"\n")
        causes = os.pread(file, _MAX_BYTES, 0).splitlines()
    finally:
        os.close(file)
    return causes.count(cause) > MAX_BLOCKS or len(causes) > MAX_IN_A_ROW


def are_counted() -> bool:
    """Return whether any failed stops are counted. Usually this is all that is checked."""
    folder = state_home()
    return bool(folder) and os.path.isdir(as_bytes(f"{folder}/{FOLDER}"))  # noqa: PTH112 - same


def forget(host: str, event: str, payload: Mapping[str, object]) -> None:
    """Reset the counts of the session and of its folder, because a stop was decided."""
    for about in (payload, {}):
        name = as_bytes(f"{state_home()}/{FOLDER}/") + _name(host, event, about)
        try:
            os.unlink(name)  # noqa: PTH108 - same
        except OSError:
            continue


def _name(host: str, event: str, payload: Mapping[str, object]) -> bytes:
    """Return the file name of a count. It is not a secret, and `hashlib` is slow to import."""
    session = next((str(payload[key]) for key in _SESSIONS if payload.get(key)), "")
    about = f"{host}\n{event}\n".encode("utf-8", "surrogatepass")
    data = about + (session.encode("utf-8", "surrogatepass") if session else b"\n" + _here())
    return _short(data)


def _short(data: bytes) -> bytes:
    return b"%016x" % (int.from_bytes(data, "big") % (2**61 - 1))


def _here() -> bytes:
    """Return the folder in which the client started the hook: the payload may be unreadable."""
    try:
        return os.getcwdb()  # noqa: PTH109 - same
    except OSError:
        return b""
