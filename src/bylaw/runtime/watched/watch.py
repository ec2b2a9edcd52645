"""Follow a command through its supervisor: how it ends, and which part of its output is kept."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from errno import E2BIG, EACCES, ENOENT, ENOEXEC, ENOTDIR
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.runtime.watched import limits, watcher
from bylaw.runtime.watched.order import Refusal
from bylaw.runtime.watched.result import Ending, Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.runtime.command import Process
    from bylaw.runtime.watched.cancellation import Cancellation
    from bylaw.runtime.watched.order import Command

# Time limits for a supervisor: for its start, and for ending all processes on request.
START_SECONDS = 20.0
END_SECONDS = watcher.GRACE_SECONDS + watcher.SWEEP_SECONDS + 1.0

_AT_ONCE = 1 << 16
_MAX_LINE = 1 << 10
_MAX_CODE = 255
_MAX_PID = 1 << 22
_LONGEST = 1000.0  # seconds; a poll may not support longer waits
_MS = 1000
_REFUSALS = {
    ENOENT: (Refusal.VANISHED, "the program, or the interpreter in its first line, was removed"),
    ENOTDIR: (Refusal.VANISHED, "the program was removed"),
    EACCES: (Refusal.NOT_EXECUTABLE, "permission to execute the program was denied"),
    ENOEXEC: (Refusal.NOT_EXECUTABLE, "the file is not a program, and its first line names none"),
    E2BIG: (Refusal.TOO_LONG, "the arguments are longer than the system allows"),
}
_FOLDER = (Refusal.FOLDER_CHANGED, "a folder changed while the command was starting")


class Kept:
    """The beginning and the end of a stream; bytes between them are only counted."""

    def __init__(self, most: int) -> None:
        self._head, self._tail, self._cut = bytearray(), bytearray(), 0
        self._most_head, self._most_tail = most - most // 2, most // 2

    def add(self, data: bytes) -> None:
        """Add bytes of the stream."""
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Trim only now and then, or every byte would be moved many times.
        if len(self._tail) > self._most_tail + _AT_ONCE:
            self._trim()

    @property
    def size(self) -> int:
        """The number of bytes added."""
        return len(self._head) + len(self._tail) + self._cut

    def output(self) -> Output:
        """Return what is kept."""
        self._trim()
        return Output(bytes(self._head), bytes(self._tail), self._cut)

    def _trim(self) -> None:
        more = max(0, len(self._tail) - self._most_tail)
        del self._tail[:more]
        self._cut += more


class Ended(Struct, frozen=True):
    """How and when a command ended, or why it did not start."""

    ending: Ending
    at: float
    exit_code: int | None = None
    signal: int | None = None
    refusal: Refusal | None = None
    why: str = ""


class Watch:
    """Follows one command and reads its output all the time, so that it never has to wait."""

    def __init__(
        self,
        process: Process,
        status: int,
        command: Command,
        started: Callable[[], None] | None = None,
        *,
        isolated: bool,
    ) -> None:
        self.stdout, self.stderr = Kept(command.max_output), Kept(command.max_output)
        self._started = started
        self._most = limits.MAX_WRITTEN if command.tidy else None
        self._process, self._timeout_s = process, command.timeout_s
        self._status, self._isolated = status, isolated
        self._readers: dict[int, Callable[[bytes], None]] = {
            process.output: self.stdout.add,
            process.errors: self.stderr.add,
            status: self._told,
        }
        self._poll = select.poll()
        for descriptor in self._readers:
            self._poll.register(descriptor, select.POLLIN)
        self._line, self._request, self._group = b"", b"", 0
        self.left = 0
        self._ended: Ended | None = None
        self._deadline = time.monotonic() + START_SECONDS

    def follow(self, request: bytes, cancellation: Cancellation | None) -> Ended:
        """Send the request, then wait until the command and its processes ended or time is up."""
        self._request = request
        if cancellation is not None:
            self._poll.register(cancellation.descriptor, select.POLLIN)
        while self._readers:
            left = min(max(0.0, self._deadline - time.monotonic()), _LONGEST)
            for descriptor, _ in self._poll.poll(left * _MS):
                self._take(descriptor)
            if time.monotonic() >= self._deadline:
                if self._ended is not None:
                    watcher.kill([*watcher.below(self._process.pid), self._process.pid])
                    break
                self._stop(Ending.TIMED_OUT)
        assert self._ended is not None
        return self._ended

    def _take(self, descriptor: int) -> None:
        if descriptor not in self._readers:
            self._poll.unregister(descriptor)
            self._stop(Ending.CANCELLED)
        elif data := os.read(descriptor, _AT_ONCE):
            self._readers[descriptor](data)
            self._end_flood()
        else:
            self._poll.unregister(descriptor)
            del self._readers[descriptor]
            if descriptor == self._status and self._ended is None:
                self._lost()

    def _end_flood(self) -> None:
        written = self.stdout.size + self.stderr.size
        if self._most is not None and written > self._most and self._ended is None:
            self._stop(Ending.FLOODED)

    def _told(self, data: bytes) -> None:
        *lines, rest = (self._line + data).split(b"\n")
        self._line = rest[:_MAX_LINE]
        for line in lines:
            word, _, more = line.partition(b" ")
            # Any process of the user may write here as well.
            with suppress(ValueError):
                self._understand(word, more)

    def _understand(self, word: bytes, more: bytes) -> None:
        if word == watcher.READY:
            if self._ended is not None:
                return  # its input is closed, and the descriptor may be reused
            _put_first(self._process.pid)
            with suppress(OSError):  # it has exited; its end is reported separately
                self._process.send(self._request, self._deadline)
        elif not self._group:
            self._begin(word, more)
        elif word == watcher.LEFT:
            self.left = _number(more, _MAX_PID)
        elif word == watcher.EXITED:
            self._set(Ending.EXITED, exit_code=_number(more, _MAX_CODE))
        elif word == watcher.KILLED:
            self._set(Ending.KILLED, number=_number(more, _MAX_CODE))
        elif word == watcher.CROWDED:
            self._set(Ending.CROWDED)

    def _begin(self, word: bytes, more: bytes) -> None:
        if word == watcher.STARTED:
            self._group = _number(more, _MAX_PID)
            self._deadline = time.monotonic() + self._timeout_s
            if self._started is not None:
                self._started()
        elif word == watcher.REFUSED:
            number, what = more.split()
            self._refuse(*_refusal(_number(number, _MAX_CODE), what))

    def _stop(self, ending: Ending) -> None:
        if self._group or ending is Ending.CANCELLED:
            self._set(ending)
        else:
            self._refuse(Refusal.NOT_STARTED, "the command took too long to start")
        self._process.hang_up()

    def _lost(self) -> None:
        """Handle a supervisor that exited without a report: it did not start, or was killed."""
        if not self._group:
            said = self.stderr.output().text.strip().partition("\n")[0]
            self._refuse(*not_started(said or "its supervisor exited"))
            return
        self._set(Ending.KILLED, number=signal.SIGKILL)
        # Not inside bubblewrap, which has its own process ids.
        if not self._isolated and self._group > 1:
            with suppress(OSError):
                os.killpg(self._group, signal.SIGKILL)

    def _refuse(self, refusal: Refusal, why: str) -> None:
        self._set(Ending.REFUSED, refusal=refusal, why=why)

    def _set(
        self,
        ending: Ending,
        *,
        exit_code: int | None = None,
        number: int | None = None,
        refusal: Refusal | None = None,
        why: str = "",
    ) -> None:
        if self._ended is None:
            now = time.monotonic()
            self._ended = Ended(ending, now, exit_code, number, refusal, why)
            self._deadline = now + END_SECONDS


def first_line(descriptor: int, deadline: float) -> bytes:
    """Read a line; return what has arrived if the line is not complete in time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    data = b""
    while b"\n" not in data and len(data) < _MAX_LINE:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * _MS):
            break
        piece = os.read(descriptor, _MAX_LINE)
        if not piece:
            break
        data += piece
    return data.partition(b"\n")[0]


def _put_first(pid: int) -> None:
    """Give the supervisor of root real-time priority, so that many processes cannot slow it down.

    The number of root's processes is not limited by the system.
    """
    if os.geteuid() != 0:
        return
    urgent = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    for one in (pid, *watcher.below(pid)):
        with suppress(OSError):
            os.sched_setscheduler(one, urgent, os.sched_param(1))


def _number(digits: bytes, most: int) -> int:
    number = int(digits)
    if not 0 <= number <= most:
        raise ValueError
    return number


def _refusal(number: int, what: bytes) -> tuple[Refusal, str]:
    if what == b"folder":
        return _FOLDER
    known = _REFUSALS.get(number) if what == b"program" else None
    return known or not_started(os.strerror(number))


def not_started(why: str) -> tuple[Refusal, str]:
    """Return the refusal of a command that might have been started elsewhere or later."""
    return Refusal.NOT_STARTED, f"the command could not be started: {why}"
