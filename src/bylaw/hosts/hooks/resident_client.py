"""Connection from the entry point of a hook to the resident, and the format of the messages.

    entry point   request: version, folder, host, event, environment, payload
    resident      TAKEN: it has all of it
    entry point   GO, if it still waits. From here on only the resident decides
    resident      the message that a child of the entry point would have sent:
                      OPEN                      gates may allow if the decision fails
                      ANSWER, length, answer    exit code, length of standard output, both outputs
                      FAILED, length, why       there is no answer

The entry point trusts only a resident that runs as the same user and as the same program. If no
resident answers, it decides in a child of its own, which sends the same message on a pipe. The
entry point imports this for every tool call, so this imports almost nothing itself.
"""

from __future__ import annotations

import _socket  # `socket` is slow to import, and this has all that is needed
import os
import sys

from bylaw.store.paths import as_bytes, is_only_ours, state_home
from bylaw.version import __version__

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from bylaw.hosts.clients.base import Output

# One resident per user and installation: another interpreter may decide differently. The number is
# a name and not a secret, so it does not need `hashlib`, which is slow to import.
_INSTALLATION = os.fsencode(f"{sys.executable}\n{__file__}")
_NAME = f"resident-{int.from_bytes(_INSTALLATION, 'big') % (2**61 - 1):016x}"
SOCKET, LOCK = f"{_NAME}.sock", f"{_NAME}.lock"
RESIDENT_MODULE = "bylaw.hosts.hooks.resident"
RESIDENT_VARIABLE = "BYLAW_RESIDENT"
RESIDENT_OFF = "0"
TAKEN, GO = b"t", b"g"
_CREDENTIALS = 12  # bytes: process, user, group
_CONNECT_S = 0.5
MAX_FIRST_LINE = 64


def resident_command() -> list[str]:
    """Return the command line that starts a resident and identifies it."""
    return [sys.executable, "-I", "-m", RESIDENT_MODULE]


def is_enabled() -> bool:
    """Return whether hooks may use a resident here."""
    return (
        sys.platform == "linux"
        and os.environ.get(RESIDENT_VARIABLE) != RESIDENT_OFF
        and bool(state_home())
    )


def connect() -> _socket.socket | None:
    """Return a connection to the resident; None if there is no resident that can be trusted."""
    try:
        folder = os.open(as_bytes(state_home()), os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if is_only_ours(os.fstat(folder)):
            line.settimeout(_CONNECT_S)
            line.connect(socket_address(folder, SOCKET))
            if _is_trusted(line):
                return line
    except OSError:
        pass
    finally:
        os.close(folder)
    line.close()
    return None


def socket_address(folder: int, name: str) -> str:
    """Return the address of a socket in an open folder.

    A socket address has at most 107 bytes, and the path of the folder may be longer.
    """
    return f"/proc/self/fd/{folder}/{name}"


def _is_trusted(line: _socket.socket) -> bool:
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


def build_request(host: str, event: str, data: bytes) -> bytes:
    """Build the request that the entry point sends."""
    here = [os.fsencode(one) for one in (__version__, os.getcwd(), host, event)]  # noqa: PTH109 - same
    variables = [name + b"=" + value for name, value in os.environb.items()]
    head = b"\0".join([*here, *variables])
    return b"%d %d\n" % (len(head), len(data)) + head + data


def request_length(received: bytes) -> int:
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


FAIL_OPEN, ANSWER, FAILED = b"o", b"a", b"f"
MAX_WHY = 4_000
_LENGTH = 4  # bytes of a length field


def pack_answer(output: Output) -> bytes:
    """Encode an answer."""
    stdout, stderr = output.stdout.encode(), output.stderr.encode("utf-8", "backslashreplace")
    head = bytes([output.exit_code]) + len(stdout).to_bytes(_LENGTH, "big")
    return _add_length(ANSWER, head + stdout + stderr)


def pack_failure(why: str) -> bytes:
    """Encode the reason why there is no answer."""
    return _add_length(FAILED, why.encode("utf-8", "backslashreplace")[:MAX_WHY])


def _add_length(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(_LENGTH, "big") + body


def split_message(said: bytes) -> tuple[bytes, bytes]:
    """Return the kind, ANSWER or FAILED, and the body; both empty if the message is incomplete."""
    rest = said.lstrip(FAIL_OPEN)
    kind, begin = rest[:1], 1 + _LENGTH
    end = begin + int.from_bytes(rest[1:begin], "big")
    if kind not in (ANSWER, FAILED) or len(rest) < max(begin, end):
        return b"", b""
    return kind, rest[begin:end]


def unpack_answer(answer: bytes) -> tuple[bytes, bytes, int]:
    """Return standard output, standard error and the exit code of an answer."""
    begin = 1 + _LENGTH
    end = begin + int.from_bytes(answer[1:begin], "big")
    return answer[begin:end], answer[end:], answer[0]


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


class ReplyWriter:
    """The writing end of a pipe or socket. It sends one answer, or the reason why there is none."""

    def __init__(self, writing: int) -> None:
        self._writing = writing
        self._is_given = False

    def allow_on_failure(self) -> None:
        """Send that gates may allow if there is no answer."""
        write_all(self._writing, FAIL_OPEN)

    def give(self, output: Output) -> None:
        """Send the answer. After that the entry point reads nothing more."""
        self._end(pack_answer(output))

    def fail(self, why: str) -> None:
        """Send why there is no answer. Do nothing if an answer was already sent."""
        if not self._is_given:
            self._end(pack_failure(why))

    def _end(self, data: bytes) -> None:
        write_all(self._writing, data)
        self._is_given = True  # another file may get the number of the closed one
        os.close(self._writing)
