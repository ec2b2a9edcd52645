"""An argument list → a process that is watched: the one place that starts any.

It never sees a shell, our environment, our folder or our open files. It has a session of its own,
which is killed as a whole: when it is told to, when nobody holds the process any more, and when
the interpreter ends. A fork of ours lets go of it.
"""

from __future__ import annotations

import os
import select
import signal
import time
import weakref
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# All that a process sees. What it prints and how it sorts does not depend on who started it.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
AT_ONCE = 1 << 16


class Process:
    """A process that was started, with a pipe each way; `argv` begins with an absolute path."""

    def __init__(self, argv: Sequence[str]) -> None:
        # What must be closed is held by the finalizer alone, which runs once.
        process = Popen(  # noqa: S603 - an argument list, and no shell
            list(argv), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, bufsize=0, close_fds=True,
            cwd="/", env=ENVIRONMENT, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._end = weakref.finalize(self, _end, process, os.getpid())
        _STARTED.add(self)

    def send(self, data: bytes, deadline: float) -> None:
        """Write everything, or raise an `OSError`; `deadline` is a time of `time.monotonic`."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                _wait(self._input, select.POLLOUT, deadline)

    def receive(self, deadline: float) -> bytes:
        """What has come, at least one byte, or an `OSError`."""
        _wait(self._output, select.POLLIN, deadline)
        data = os.read(self._output, AT_ONCE)
        if not data:
            raise ConnectionError("the process closed its output")
        return data

    def kill(self) -> None:
        """End it and everything that it started; it may have ended before."""
        self._end()


def _wait(descriptor: int, what: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, what)
    left = max(0.0, deadline - time.monotonic())
    if not poll.poll(left * 1000):
        raise TimeoutError("the process took too long")


def _end(process: Popen[bytes], owner: int) -> None:
    if owner == os.getpid():
        # Before it is waited for: then its number may be another's.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    else:
        # It belongs to the process that we were forked from, and must not be waited for.
        process.returncode = 0
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


_STARTED: weakref.WeakSet[Process] = weakref.WeakSet()


def _let_go() -> None:
    for process in list(_STARTED):
        process.kill()


os.register_at_fork(after_in_child=_let_go)
