"""Format of the message from the process that decides to the entry point, on a pipe or a socket.

    OPEN                       gates may allow if the decision fails
    ANSWER, length, answer     exit code, length of standard output, both outputs
    FAILED, length, why        there is no answer

The entry point imports this for every tool call, so this imports almost nothing itself.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Output

OPEN, ANSWER, FAILED = b"o", b"a", b"f"
MAX_WHY = 4_000
_LENGTH = 4  # bytes of a length field


def pack(output: Output) -> bytes:
    """Encode an answer."""
    stdout, stderr = output.stdout.encode(), output.stderr.encode("utf-8", "backslashreplace")
    head = bytes([output.exit_code]) + len(stdout).to_bytes(_LENGTH, "big")
    return _with_length(ANSWER, head + stdout + stderr)


def pack_failure(why: str) -> bytes:
    """Encode the reason why there is no answer."""
    return _with_length(FAILED, why.encode("utf-8", "backslashreplace")[:MAX_WHY])


def _with_length(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(_LENGTH, "big") + body


def message_in(said: bytes) -> tuple[bytes, bytes]:
    """Return the kind, ANSWER or FAILED, and the body; both empty if the message is incomplete."""
    rest = said.lstrip(OPEN)
    kind, begin = rest[:1], 1 + _LENGTH
    end = begin + int.from_bytes(rest[1:begin], "big")
    if kind not in (ANSWER, FAILED) or len(rest) < max(begin, end):
        return b"", b""
    return kind, rest[begin:end]


def unpack(answer: bytes) -> tuple[bytes, bytes, int]:
    """Return standard output, standard error and the exit code of an answer."""
    begin = 1 + _LENGTH
    end = begin + int.from_bytes(answer[1:begin], "big")
    return answer[begin:end], answer[end:], answer[0]


def send(descriptor: int, data: bytes) -> None:
    """Write all of the data."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


class Reply:
    """The writing end of a pipe or socket. It sends one answer, or the reason why there is none."""

    def __init__(self, writing: int) -> None:
        self._writing = writing
        self._is_given = False

    def may_open(self) -> None:
        """Send that gates may allow if there is no answer."""
        send(self._writing, OPEN)

    def give(self, output: Output) -> None:
        """Send the answer. After that the entry point reads nothing more."""
        self._end(pack(output))

    def fail(self, why: str) -> None:
        """Send why there is no answer. Do nothing if an answer was already sent."""
        if not self._is_given:
            self._end(pack_failure(why))

    def _end(self, data: bytes) -> None:
        send(self._writing, data)
        self._is_given = True  # another file may get the number of the closed one
        os.close(self._writing)
