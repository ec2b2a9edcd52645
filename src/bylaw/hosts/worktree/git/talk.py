"""A git that goes on running → one answer after the other, by the same process.

Some of its commands read questions from their input, and answer each at once.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bylaw.runtime.command import AT_ONCE, ERRORS_ARE_READ, Process
from bylaw.runtime.program_output import MAX_COMPLAINT, TooMuchOutputError, Written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MS = 1000


class TalkEndedError(Exception):
    """The process has ended; `written` is how, and what it had to say."""

    def __init__(self, written: Written) -> None:
        super().__init__(written.exit_code)
        self.written = written


class Talk:
    """A running git; it ends with `end`, or when nobody holds it any more."""

    def __init__(self, argv: Sequence[str | bytes], variables: Mapping[str, str]) -> None:
        self._process = Process(argv, errors=ERRORS_ARE_READ, variables=variables)
        self._complaint = b""

    def ask(self, question: bytes, end: bytes, *, seconds: float, at_most: int) -> bytes:
        """The answer up to the bytes that end it; TalkEndedError, OSError, TooMuchOutputError.

        A question must be short: nothing is read before all of it is sent.
        """
        deadline = time.monotonic() + seconds
        with suppress(BrokenPipeError):  # that it has ended, its output tells
            self._process.send(question, deadline)
        answer = bytearray()
        while not answer.endswith(end):
            answer += self._received(deadline)
            if len(answer) > at_most:
                raise TooMuchOutputError
        return bytes(answer[: -len(end)])

    def end(self) -> None:
        """Nobody has more to ask."""
        self._process.kill()

    def _received(self, deadline: float) -> bytes:
        poll = select.poll()
        poll.register(self._process.output, select.POLLIN)
        poll.register(self._process.errors, select.POLLIN)
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * _MS)
        if not ready:
            raise TimeoutError
        pieces = {one: os.read(one, AT_ONCE) for one, _ in ready}
        # Complaints are taken from it, so that it never waits for somebody who reads them.
        complaint = self._complaint + pieces.get(self._process.errors, b"")
        self._complaint = complaint[:MAX_COMPLAINT]
        if not any(pieces.values()):
            raise TalkEndedError(Written(self._process.exit_code(deadline), b"", self._complaint))
        return pieces.get(self._process.output, b"")
