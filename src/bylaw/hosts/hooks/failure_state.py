"""State of failures in the user's state folder: released gates, and stops that were not decided.

A file holds until when a person has released failed gates, in seconds since 1970.

A gate that fails must not block an agent forever, and not every client reports that the stop before
was blocked. So failed stops are counted where little can break: one line each in a file per
session, or per folder of the client if the payload has no session id. Each cause is counted
separately. A stop that is decided resets the counts, and so does time.
"""

from __future__ import annotations

import os
import stat
import time

from bylaw.store.paths import as_bytes, is_only_ours, state_home

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from collections.abc import Mapping

RELEASE_FILE = "release"
MAX_RELEASE_MINUTES = 24 * 60


def release_end() -> int:
    """Return until when gates are released, in seconds since 1970; 0 if they are not."""
    folder = state_home()
    if not folder:
        return 0
    try:
        file = os.open(
            as_bytes(f"{folder}/{RELEASE_FILE}"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        )
    except OSError:
        return 0
    try:
        found = os.fstat(file)
        until = os.read(file, 32).strip() if stat.S_ISREG(found.st_mode) else b""
    except OSError:
        return 0
    finally:
        os.close(file)
    if not is_only_ours(found) or not until.isdigit():
        return 0
    now = time.time()
    return int(until) if now < int(until) <= now + MAX_RELEASE_MINUTES * 60 else 0


FAILED_STOPS_FOLDER = "failed-stops"
# After these numbers of failures the next stop is released: for one cause, and for all together.
# The first is the default of `[stop] max_blocks`; the setting itself may be what fails.
MAX_BLOCKS = 3
MAX_IN_A_ROW = 50
FORGET_AFTER_S = 3600.0
_MAX_BYTES = 4096  # more than the causes can take
_SESSIONS = ("session_id", "sessionId", "conversation_id")
_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW


def is_over_limit(host: str, event: str, payload: Mapping[str, object], why: str) -> bool:
    """Count a failed stop. Return whether a limit is exceeded; False if it cannot be counted."""
    folder = state_home()
    if not folder:
        return False
    place = as_bytes(f"{folder}/{FAILED_STOPS_FOLDER}")
    os.makedirs(place, 0o700, exist_ok=True)  # noqa: PTH103 - pathlib is slow
    if not is_only_ours(os.stat(place, follow_symlinks=False)):  # noqa: PTH116 - same
        return False
    file = os.open(place + b"/" + _count_file_name(host, event, payload), _OPEN_FLAGS, 0o600)
    try:
        if time.time() - os.fstat(file).st_mtime > FORGET_AFTER_S:
            os.ftruncate(file, 0)
        cause = _hash(why.encode("utf-8", "surrogatepass"))
        os.write(file, cause + b"\n")
        causes = os.pread(file, _MAX_BYTES, 0).splitlines()
    finally:
        os.close(file)
    return causes.count(cause) > MAX_BLOCKS or len(causes) > MAX_IN_A_ROW


def has_failed_stops() -> bool:
    """Return whether any failed stops are counted. Usually this is all that is checked."""
    folder = state_home()
    return bool(folder) and os.path.isdir(as_bytes(f"{folder}/{FAILED_STOPS_FOLDER}"))  # noqa: PTH112 - same


def reset_failed_stops(host: str, event: str, payload: Mapping[str, object]) -> None:
    """Reset the counts of the session and of its folder, because a stop was decided."""
    for about in (payload, {}):
        name = as_bytes(f"{state_home()}/{FAILED_STOPS_FOLDER}/") + _count_file_name(
            host, event, about
        )
        try:
            os.unlink(name)  # noqa: PTH108 - same
        except OSError:
            continue


def _count_file_name(host: str, event: str, payload: Mapping[str, object]) -> bytes:
    """Return the file name of a count. It is not a secret, and `hashlib` is slow to import."""
    session = next((str(payload[key]) for key in _SESSIONS if payload.get(key)), "")
    about = f"{host}\n{event}\n".encode("utf-8", "surrogatepass")
    data = about + (
        session.encode("utf-8", "surrogatepass") if session else b"\n" + _working_folder()
    )
    return _hash(data)


def _hash(data: bytes) -> bytes:
    return b"%016x" % (int.from_bytes(data, "big") % (2**61 - 1))


def _working_folder() -> bytes:
    """Return the folder in which the client started the hook: the payload may be unreadable."""
    try:
        return os.getcwdb()  # noqa: PTH109 - same
    except OSError:
        return b""
