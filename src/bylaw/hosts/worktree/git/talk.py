"""A git process that stays open and answers one question after another.

Some git commands read questions from standard input and answer each at once.
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
    """The process has exited; `written` has its exit code and its errors."""

    def __init__(self, written: Written) -> None:
        super().__init__(written.exit_code)
        self.written = written


class Talk:
    """A running git process. It stops with `end`, or when this object is gone."""

    def __init__(self, argv: Sequence[str | bytes], variables: Mapping[str, str]) -> None:
        self._process = Process(argv, errors=ERRORS_ARE_READ, variables=variables)
        self._complaint = b""

    def ask(self, question: bytes, end: bytes, *, seconds: float, at_most: int) -> bytes:
        """Return the answer before the bytes `end`.

        A question must fit into the pipe, because nothing is read before all of it is sent.
        Raise TalkEndedError if the process exits, TooMuchOutputError or OSError.
        """
        deadline = time.monotonic() + seconds
        with suppress(BrokenPipeError):  # reading its output shows that the process has exited
            self._process.send(question, deadline)
        answer = bytearray()
        while not answer.endswith(end):
            answer += self._received(deadline)
            if len(answer) > at_most:
                raise TooMuchOutputError
        return bytes(answer[: -len(end)])

    def end(self) -> None:
        """Stop the process."""
        self._process.kill()

    def _received(self, deadline: float) -> bytes:
        poll = select.poll()
        poll.register(self._process.output, select.POLLIN)
        poll.register(self._process.errors, select.POLLIN)
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * _MS)
        if not ready:
            raise TimeoutError
        pieces = {one: os.read(one, AT_ONCE) for one, _ in ready}
        # Read its errors as well, so that git never blocks on a full pipe.
        complaint = self._complaint + pieces.get(self._process.errors, b"")
        self._complaint = complaint[:MAX_COMPLAINT]
        if not any(pieces.values()):
            raise TalkEndedError(Written(self._process.exit_code(deadline), b"", self._complaint))
        return pieces.get(self._process.output, b"")
