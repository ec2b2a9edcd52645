"""Connection from the entry point of a hook to the resident, which has all code imported.

    entry point   request: version, folder, host, event, environment, payload
    resident      TAKEN: it has all of it
    entry point   GO, if it still waits. From here on only the resident decides
    resident      the message that a child of the entry point would have sent

The entry point trusts only a resident that runs as the same user and as the same program. If no
resident answers, the entry point decides in a child of its own.
"""

from __future__ import annotations

import _socket  # `socket` is slow to import, and this has all that is needed
import os
import sys

from bylaw.runtime.own_place import is_own, state_home
from bylaw.runtime.paths import as_bytes
from bylaw.version import __version__

# One resident per user and installation: another interpreter may decide differently. The number is
# a name and not a secret, so it does not need `hashlib`, which is slow to import.
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
    """Return the command line that starts a resident and identifies it."""
    return [sys.executable, "-I", "-m", MODULE]


def is_wanted() -> bool:
    """Return whether hooks may use a resident here."""
    return sys.platform == "linux" and os.environ.get(SWITCH) != OFF and bool(state_home())


def connected() -> _socket.socket | None:
    """Return a connection to the resident; None if there is no resident that can be trusted."""
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
    """Return the address of a socket in an open folder.

    A socket address has at most 107 bytes, and the path of the folder may be longer.
    """
    return f"/proc/self/fd/{folder}/{name}"


def _is_ours(line: _socket.socket) -> bool:
    data = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS)
    process, user = (int.from_bytes(data[at : at + 4], sys.byteorder) for at in (0, 4))
    if user != os.geteuid():
        return False
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:  # noqa: PTH123 - pathlib is slow
            words = file.read(4096)
    except OSError:
        return False
    return words.rstrip(b"\0").split(b"\0") == [os.fsencode(one) for one in resident_command()]


def request(host: str, event: str, data: bytes) -> bytes:
    """Build the request that the entry point sends."""
    here = [os.fsencode(one) for one in (__version__, os.getcwd(), host, event)]  # noqa: PTH109 - same
    variables = [name + b"=" + value for name, value in os.environb.items()]
    head = b"\0".join([*here, *variables])
    return b"%d %d\n" % (len(head), len(data)) + head + data


def length_of(received: bytes) -> int:
    """Return the full length of a request that begins with these bytes; 0 if it is not known yet.

    Raises ValueError if the bytes are not a request.
    """
    first, end, _ = received[:MAX_FIRST_LINE].partition(b"\n")
    if not end and len(received) < MAX_FIRST_LINE:
        return 0
    head, data = map(int, first.split(b" "))
    if head < 0 or data < 0:
        raise ValueError
    return len(first) + 1 + head + data


class Request:
    """A request as the resident reads it. Raises ValueError if the bytes are not a request."""

    def __init__(self, received: bytes) -> None:
        first, _, rest = received.partition(b"\n")
        length = int(first.split(b" ")[0])
        head, self.data = rest[:length], rest[length:]
        version, folder, host, event, *variables = head.split(b"\0")
        self.version, self.folder = version.decode(), folder
        self.host, self.event = os.fsdecode(host), os.fsdecode(event)
        self.environment = dict(one.split(b"=", 1) for one in variables)
