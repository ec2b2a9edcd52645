"""The line between the process that a client starts and the resident that has everything loaded.

    front     request: where, environment, host, event, payload
    resident  TAKEN: it has all of it
    front     GO, if it still waits: from here on it does not judge itself, so nobody does it twice
    resident  what a child of its own would have said

The front end believes only a resident that runs as the same user and as the same program. What
does not answer is not there: then the front end does the work itself.
"""

from __future__ import annotations

import _socket  # `socket` is heavy, and all that is needed is here
import os
import sys

from bylaw.runtime.own_place import is_own, state_home
from bylaw.runtime.paths import as_bytes
from bylaw.version import __version__

# One for each installation of one user: what another interpreter would judge, ours need not. It is
# a name and no secret, and `hashlib` is heavy.
_INSTALLATION = os.fsencode(f"{sys.executable}\n{__file__}")
_NAME = f"resident-{int.from_bytes(_INSTALLATION, 'big') % (2**61 - 1):016x}"
SOCKET, LOCK = f"{_NAME}.sock", f"{_NAME}.lock"
MODULE = "bylaw.hosts.hooks.resident"
SWITCH = "BYLAW_RESIDENT"
OFF = "0"
TAKEN, GO = b"t", b"g"
_CREDENTIALS = 12  # bytes: process, user, group
_CONNECT_S = 0.5
MAX_FIRST_LINE = 64


def resident_command() -> list[str]:
    """How a resident is started, and what it is known by."""
    return [sys.executable, "-I", "-m", MODULE]


def is_wanted() -> bool:
    """Whether a resident may be asked here."""
    return sys.platform == "linux" and os.environ.get(SWITCH) != OFF and bool(state_home())


def connected() -> _socket.socket | None:
    """A line to the resident; None if there is none that can be believed."""
    try:
        folder = os.open(as_bytes(state_home()), os.O_RDONLY | os.O_DIRECTORY)
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
    return b"%d %d\n" % (len(head), len(data)) + head + data


def length_of(received: bytes) -> int:
    """How long a request is that begins so, 0 if that is not told yet; ValueError if it is none."""
    first, end, _ = received[:MAX_FIRST_LINE].partition(b"\n")
    if not end and len(received) < MAX_FIRST_LINE:
        return 0
    head, data = map(int, first.split(b" "))
    if head < 0 or data < 0:
        raise ValueError
    return len(first) + 1 + head + data


class Request:
    """A request, as the resident reads it; ValueError if it is none."""

    def __init__(self, received: bytes) -> None:
        first, _, rest = received.partition(b"\n")
        length = int(first.split(b" ")[0])
        head, self.data = rest[:length], rest[length:]
        version, folder, host, event, *variables = head.split(b"\0")
        self.version, self.folder = version.decode(), folder
        self.host, self.event = os.fsdecode(host), os.fsdecode(event)
        self.environment = dict(one.split(b"=", 1) for one in variables)
