"""Run a program of our own and return its output and exit code, with limits on time and size."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.runtime.command import AT_ONCE, ERRORS_ARE_READ, NO_VARIABLES, Process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_COMPLAINT = 64 << 10
_MS = 1000


class Written(Struct, frozen=True):
    """The output of a program; of its error output only the beginning."""

    exit_code: int
    output: bytes
    complaint: bytes


class TooMuchOutputError(Exception):
    """A program wrote more output than allowed."""


def output_of(
    argv: Sequence[str | bytes],
    *,
    seconds: float,
    at_most: int,
    variables: Mapping[str, str] = NO_VARIABLES,
) -> Written:
    """Run a program to its end, without input.

    Raises OSError if it cannot run, TimeoutError, or TooMuchOutputError.
    """
    deadline = time.monotonic() + seconds
    process = Process(argv, errors=ERRORS_ARE_READ, variables=variables)
    try:
        process.hang_up()
        output, complaint = _read(process, deadline, at_most)
        return Written(process.exit_code(deadline), output, complaint)
    finally:
        process.kill()


def _read(process: Process, deadline: float, at_most: int) -> tuple[bytes, bytes]:
    found: dict[int, list[bytes]] = {process.output: [], process.errors: []}
    left = {process.output: at_most, process.errors: MAX_COMPLAINT}
    poll = select.poll()
    for descriptor in found:
        poll.register(descriptor, select.POLLIN)
    open_ones = set(found)
    while open_ones:
        for descriptor in _ready(poll, deadline):
            piece = os.read(descriptor, AT_ONCE)
            if not piece:
                open_ones.remove(descriptor)
                poll.unregister(descriptor)
            found[descriptor].append(piece[: left[descriptor]])
            left[descriptor] -= len(piece)
        if left[process.output] < 0:
            raise TooMuchOutputError
        left[process.errors] = max(0, left[process.errors])
    return b"".join(found[process.output]), b"".join(found[process.errors])


def _ready(poll: select.poll, deadline: float) -> list[int]:
    ready = poll.poll(max(0.0, deadline - time.monotonic()) * _MS)
    if not ready:
        raise TimeoutError
    return [descriptor for descriptor, _ in ready]
