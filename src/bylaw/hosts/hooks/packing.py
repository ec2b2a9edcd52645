"""What whoever judges a call says to the front end, as bytes on a pipe or a socket.

    OPEN                       gates may stay open if it fails
    ANSWER, length, answer     an exit code, how long standard output is, both outputs
    FAILED, length, why        there is none

The front end imports this with every call of every tool, so it imports next to nothing itself.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` is heavy here, and type checkers know this name
if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Output

OPEN, ANSWER, FAILED = b"o", b"a", b"f"
MAX_WHY = 4_000
_LENGTH = 4  # bytes that tell how long something is


def pack(output: Output) -> bytes:
    """An answer as it is sent."""
    stdout, stderr = output.stdout.encode(), output.stderr.encode("utf-8", "backslashreplace")
    head = bytes([output.exit_code]) + len(stdout).to_bytes(_LENGTH, "big")
    return _with_length(ANSWER, head + stdout + stderr)


def pack_failure(why: str) -> bytes:
    """Why there is no answer, as it is sent."""
    return _with_length(FAILED, why.encode("utf-8", "backslashreplace")[:MAX_WHY])


def _with_length(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(_LENGTH, "big") + body


def message_in(said: bytes) -> tuple[bytes, bytes]:
    """ANSWER or FAILED with what belongs to it; nothing if it is not there as a whole."""
    rest = said.lstrip(OPEN)
    kind, begin = rest[:1], 1 + _LENGTH
    end = begin + int.from_bytes(rest[1:begin], "big")
    if kind not in (ANSWER, FAILED) or len(rest) < max(begin, end):
        return b"", b""
    return kind, rest[begin:end]


def unpack(answer: bytes) -> tuple[bytes, bytes, int]:
    """Both outputs and the exit code."""
    begin = 1 + _LENGTH
    end = begin + int.from_bytes(answer[1:begin], "big")
    return answer[begin:end], answer[end:], answer[0]


def send(descriptor: int, data: bytes) -> None:
    """Write all of it."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


class Reply:
    """The end of a pipe on which one answer goes, or why there is none."""

    def __init__(self, writing: int) -> None:
        self._writing = writing
        self._is_given = False

    def may_open(self) -> None:
        """Say that gates may stay open if there is no answer."""
        send(self._writing, OPEN)

    def give(self, output: Output) -> None:
        """Send the answer; from then on nobody listens."""
        self._end(pack(output))

    def fail(self, why: str) -> None:
        """Send why there is no answer. What fails after an answer was given changes nothing."""
        if not self._is_given:
            self._end(pack_failure(why))

    def _end(self, data: bytes) -> None:
        send(self._writing, data)
        self._is_given = True  # the number may be that of another file soon
        os.close(self._writing)
