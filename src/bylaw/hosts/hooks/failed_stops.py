"""Stops that could not be judged because Bylaw failed → how many, so that one is let go.

A gate that fails must not keep an agent for ever, and not every client says that it was blocked
just before. So failures of a session are counted where they cannot break: in the user's own state
folder, a line each in a file. Where no session can be read, those of the folder that the client
works in are. A stop that is judged ends both counts, and so does time.

Each cause is counted for itself, as each violation is: one that is new is told. All of them
together have an end, too.
"""

from __future__ import annotations

import os
import time

from bylaw.runtime.own_place import is_own, state_home
from bylaw.runtime.paths import as_bytes

TYPE_CHECKING = False  # `typing` is heavy here, and type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "failed-stops"
# The next one is let go: of the same cause, as `[stop] max_blocks` says, which may be what fails;
# and of all.
MAX_BLOCKS = 3
MAX_IN_A_ROW = 50
FORGOTTEN_S = 3600.0
_MAX_BYTES = 4096  # of more causes than there can be
_SESSIONS = ("session_id", "sessionId", "conversation_id")
_NEW = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW


def is_one_too_many(host: str, event: str, payload: Mapping[str, object], why: str) -> bool:
    """Count a failed stop; whether there are enough now. False if there is no place to count."""
    folder = state_home()
    if not folder:
        return False
    place = as_bytes(f"{folder}/{FOLDER}")
    os.makedirs(place, 0o700, exist_ok=True)  # noqa: PTH103 - pathlib is heavy here
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
    """Whether any session has failed stops: mostly nobody has to look further."""
    folder = state_home()
    return bool(folder) and os.path.isdir(as_bytes(f"{folder}/{FOLDER}"))  # noqa: PTH112 - same


def forget(host: str, event: str, payload: Mapping[str, object]) -> None:
    """A stop was judged: the next failure is the first one, of its session and in its folder."""
    for about in (payload, {}):
        name = as_bytes(f"{state_home()}/{FOLDER}/") + _name(host, event, about)
        try:
            os.unlink(name)  # noqa: PTH108 - same
        except OSError:
            continue


def _name(host: str, event: str, payload: Mapping[str, object]) -> bytes:
    """It is a name and no secret, and `hashlib` is heavy."""
    session = next((str(payload[key]) for key in _SESSIONS if payload.get(key)), "")
    about = f"{host}\n{event}\n".encode("utf-8", "surrogatepass")
    data = about + (session.encode("utf-8", "surrogatepass") if session else b"\n" + _here())
    return _short(data)


def _short(data: bytes) -> bytes:
    return b"%016x" % (int.from_bytes(data, "big") % (2**61 - 1))


def _here() -> bytes:
    """Where the client has started us: a payload that cannot be read does not say."""
    try:
        return os.getcwdb()  # noqa: PTH109 - same
    except OSError:
        return b""
