"""The line between the process that a client starts and the resident that has everything loaded.

    front     request: where, environment, host, event, payload
    resident  TAKEN, then what a child of its own would have said

The front end believes only a resident that runs as the same user and as the same program. What
does not answer is not there: then the front end does the work itself.
"""

from __future__ import annotations

import _socket  # `socket` is heavy, and all that is needed is here
import os
import sys

from bylaw.hosts.hooks.own_state import is_own, state_home
from bylaw.version import __version__

SOCKET = "resident.sock"
MODULE = "bylaw.hosts.hooks.resident"
SWITCH = "BYLAW_RESIDENT"
OFF = "0"
TAKEN = b"t"
_CREDENTIALS = 12  # bytes: process, user, group
_CONNECT_S = 0.5


def resident_command() -> list[str]:
    """How a resident is started, and what it is known by."""
    return [sys.executable, "-I", "-m", MODULE]


def is_wanted() -> bool:
    """Whether a resident may be asked here."""
    return sys.platform == "linux" and os.environ.get(SWITCH) != OFF and bool(state_home())


def connected() -> _socket.socket | None:
    """A line to the resident; None if there is none that can be believed."""
    try:
        folder = os.open(state_home(), os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if is_own(os.fstat(folder)):
            line.settimeout(_CONNECT_S)
            line.connect(address(folder, SOCKET))
            if _is_ours(line):
                return line
    except OSError:
        pass
    finally:
        os.close(folder)
    line.close()
    return None


def address(folder: int, name: str) -> str:
    """Of a socket in an open folder: an address is 107 bytes at most, and a home may be deep."""
    return f"/proc/self/fd/{folder}/{name}"


def _is_ours(line: _socket.socket) -> bool:
    data = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS)
    process, user = (int.from_bytes(data[at : at + 4], sys.byteorder) for at in (0, 4))
    if user != os.geteuid():
        return False
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:  # noqa: PTH123 - pathlib is heavy
            words = file.read(4096)
    except OSError:
        return False
    return words.rstrip(b"\0").split(b"\0") == [os.fsencode(one) for one in resident_command()]


def request(host: str, event: str, data: bytes) -> bytes:
    """What the front end sends."""
    here = [os.fsencode(one) for one in (__version__, os.getcwd(), host, event)]  # noqa: PTH109 - same
    variables = [name + b"=" + value for name, value in os.environb.items()]
    head = b"\0".join([*here, *variables])
    return b"%d\n" % len(head) + head + data


class Asked:
    """A request, as the resident reads it; ValueError if it is none."""

    def __init__(self, received: bytes) -> None:
        length, _, rest = received.partition(b"\n")
        head, self.data = rest[: int(length)], rest[int(length) :]
        version, folder, host, event, *variables = head.split(b"\0")
        self.version, self.folder = version.decode(), folder
        self.host, self.event = os.fsdecode(host), os.fsdecode(event)
        self.environment = dict(one.split(b"=", 1) for one in variables)
