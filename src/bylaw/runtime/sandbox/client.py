"""Run a command: check it, isolate it with bubblewrap where that works, supervise it until it ends.

With bubblewrap, only the roots can be written, all started processes end with their supervisor, no
process outside can be seen, traced or killed, and no program gives more rights. `/tmp`, `/var/tmp`,
`/run` and the user's cache are empty and private. Not limited: the files that the user can read,
the network, because tests and builds need both, and memory.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import weakref
from contextlib import contextmanager, suppress
from errno import E2BIG, EACCES, ENOENT, ENOEXEC, ENOTDIR
from functools import cache
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.runtime.sandbox import request, supervisor
from bylaw.runtime.sandbox.command import Process
from bylaw.runtime.sandbox.request import (
    Refusal,
    RefusedError,
    check_command,
    find_program,
    supervisor_request,
)
from bylaw.runtime.sandbox.result import CommandEnd, CommandResult, Isolation, IsolationKind, Output
from bylaw.store.paths import as_bytes, as_text, is_folder, is_inside, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.runtime.sandbox.request import CheckedCommand, CommandRequest

# Time limits for a supervisor: for its start, and for ending all processes on request.
START_SECONDS = 20.0
END_SECONDS = supervisor.GRACE_SECONDS + supervisor.SWEEP_SECONDS + 1.0

_AT_ONCE = 1 << 16
_MAX_LINE = 1 << 10
_MAX_CODE = 255
_MAX_PID = 1 << 22
_MAX_POLL_S = 1000.0  # seconds; a poll may not support longer waits
_MS = 1000
_REFUSALS = {
    ENOENT: (Refusal.VANISHED, "the program, or the interpreter in its first line, was removed"),
    ENOTDIR: (Refusal.VANISHED, "the program was removed"),
    EACCES: (Refusal.NOT_EXECUTABLE, "permission to execute the program was denied"),
    ENOEXEC: (Refusal.NOT_EXECUTABLE, "the file is not a program, and its first line names none"),
    E2BIG: (Refusal.TOO_LONG, "the arguments are longer than the system allows"),
}
_FOLDER = (Refusal.FOLDER_CHANGED, "a folder changed while the command was starting")


class ClippedStream:
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


class CommandExit(Struct, frozen=True):
    """How and when a command ended, or why it did not start."""

    ending: CommandEnd
    at: float
    exit_code: int | None = None
    signal: int | None = None
    refusal: Refusal | None = None
    why: str = ""


class SandboxClient:
    """Follows one command and reads its output all the time, so that it never has to wait."""

    def __init__(
        self,
        process: Process,
        status: int,
        command: CommandRequest,
        started: Callable[[], None] | None = None,
        *,
        isolated: bool,
    ) -> None:
        self.stdout, self.stderr = (
            ClippedStream(command.max_output),
            ClippedStream(command.max_output),
        )
        self._started = started
        self._most = request.MAX_WRITTEN if command.tidy else None
        self._process, self._timeout_s = process, command.timeout_s
        self._status, self._isolated = status, isolated
        self._readers: dict[int, Callable[[bytes], None]] = {
            process.output: self.stdout.add,
            process.errors: self.stderr.add,
            status: self._read_reports,
        }
        self._poll = select.poll()
        for descriptor in self._readers:
            self._poll.register(descriptor, select.POLLIN)
        self._line, self._request, self._group = b"", b"", 0
        self.left = 0
        self._ended: CommandExit | None = None
        self._deadline = time.monotonic() + START_SECONDS

    def follow(self, request: bytes, cancellation: Cancellation | None) -> CommandExit:
        """Send the request, then wait until the command and its processes ended or time is up."""
        self._request = request
        if cancellation is not None:
            self._poll.register(cancellation.descriptor, select.POLLIN)
        while self._readers:
            left = min(max(0.0, self._deadline - time.monotonic()), _MAX_POLL_S)
            for descriptor, _ in self._poll.poll(left * _MS):
                self._read_descriptor(descriptor)
            if time.monotonic() >= self._deadline:
                if self._ended is not None:
                    supervisor.kill_all(
                        [*supervisor.descendants(self._process.pid), self._process.pid]
                    )
                    break
                self._stop(CommandEnd.TIMED_OUT)
        assert self._ended is not None
        return self._ended

    def _read_descriptor(self, descriptor: int) -> None:
        if descriptor not in self._readers:
            self._poll.unregister(descriptor)
            self._stop(CommandEnd.CANCELLED)
        elif data := os.read(descriptor, _AT_ONCE):
            self._readers[descriptor](data)
            self._check_flood()
        else:
            self._poll.unregister(descriptor)
            del self._readers[descriptor]
            if descriptor == self._status and self._ended is None:
                self._handle_lost_supervisor()

    def _check_flood(self) -> None:
        written = self.stdout.size + self.stderr.size
        if self._most is not None and written > self._most and self._ended is None:
            self._stop(CommandEnd.FLOODED)

    def _read_reports(self, data: bytes) -> None:
        *lines, rest = (self._line + data).split(b"\n")
        self._line = rest[:_MAX_LINE]
        for line in lines:
            word, _, more = line.partition(b" ")
            # Any process of the user may write here as well.
            with suppress(ValueError):
                self._handle_report(word, more)

    def _handle_report(self, word: bytes, more: bytes) -> None:
        if word == supervisor.READY:
            if self._ended is not None:
                return  # its input is closed, and the descriptor may be reused
            _raise_priority(self._process.pid)
            with suppress(OSError):  # it has exited; its end is reported separately
                self._process.send(self._request, self._deadline)
        elif not self._group:
            self._begin(word, more)
        elif word == supervisor.LEFT:
            self.left = _number(more, _MAX_PID)
        elif word == supervisor.EXITED:
            self._set_exit(CommandEnd.EXITED, exit_code=_number(more, _MAX_CODE))
        elif word == supervisor.KILLED:
            self._set_exit(CommandEnd.KILLED, number=_number(more, _MAX_CODE))
        elif word == supervisor.CROWDED:
            self._set_exit(CommandEnd.CROWDED)

    def _begin(self, word: bytes, more: bytes) -> None:
        if word == supervisor.STARTED:
            self._group = _number(more, _MAX_PID)
            self._deadline = time.monotonic() + self._timeout_s
            if self._started is not None:
                self._started()
        elif word == supervisor.REFUSED:
            number, what = more.split()
            self._refuse(*_refusal_of_errno(_number(number, _MAX_CODE), what))

    def _stop(self, ending: CommandEnd) -> None:
        if self._group or ending is CommandEnd.CANCELLED:
            self._set_exit(ending)
        else:
            self._refuse(Refusal.NOT_STARTED, "the command took too long to start")
        self._process.hang_up()

    def _handle_lost_supervisor(self) -> None:
        """Handle a supervisor that exited without a report: it did not start, or was killed."""
        if not self._group:
            said = self.stderr.output().text.strip().partition("\n")[0]
            self._refuse(*not_started_refusal(said or "its supervisor exited"))
            return
        self._set_exit(CommandEnd.KILLED, number=signal.SIGKILL)
        # Not inside bubblewrap, which has its own process ids.
        if not self._isolated and self._group > 1:
            with suppress(OSError):
                os.killpg(self._group, signal.SIGKILL)

    def _refuse(self, refusal: Refusal, why: str) -> None:
        self._set_exit(CommandEnd.REFUSED, refusal=refusal, why=why)

    def _set_exit(
        self,
        ending: CommandEnd,
        *,
        exit_code: int | None = None,
        number: int | None = None,
        refusal: Refusal | None = None,
        why: str = "",
    ) -> None:
        if self._ended is None:
            now = time.monotonic()
            self._ended = CommandExit(ending, now, exit_code, number, refusal, why)
            self._deadline = now + END_SECONDS


def read_line(descriptor: int, deadline: float) -> bytes:
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


def _raise_priority(pid: int) -> None:
    """Give the supervisor of root real-time priority, so that many processes cannot slow it down.

    The number of root's processes is not limited by the system.
    """
    if os.geteuid() != 0:
        return
    urgent = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    for one in (pid, *supervisor.descendants(pid)):
        with suppress(OSError):
            os.sched_setscheduler(one, urgent, os.sched_param(1))


def _number(digits: bytes, most: int) -> int:
    number = int(digits)
    if not 0 <= number <= most:
        raise ValueError
    return number


def _refusal_of_errno(number: int, what: bytes) -> tuple[Refusal, str]:
    if what == b"folder":
        return _FOLDER
    known = _REFUSALS.get(number) if what == b"program" else None
    return known or not_started_refusal(os.strerror(number))


def not_started_refusal(why: str) -> tuple[Refusal, str]:
    """Return the refusal of a command that might have been started elsewhere or later."""
    return Refusal.NOT_STARTED, f"the command could not be started: {why}"


BUBBLEWRAP = "bwrap"

_ISOLATION_OPTIONS = (
    "--unshare-user-try",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--as-pid-1",
    *("--cap-drop", "ALL"),
)
_PRIVATE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - no file is created there, the folder is hidden


def bubblewrap_arguments(program: str, roots: tuple[str, ...]) -> list[bytes]:
    """Return all arguments before the isolated program; the roots are paths without links."""
    places = {"/": ["--ro-bind", "/", "/"], "/dev": ["--dev", "/dev"], "/proc": ["--proc", "/proc"]}
    hidden = _hidden_folders()
    places |= {path: ["--tmpfs", path] for path in hidden}
    for path in _visible_paths():
        if any(is_inside(path, one) for one in hidden) and not any(
            is_inside(path, r) for r in roots
        ):
            places[path] = ["--ro-bind", path, path]
    places |= {path: ["--bind", path, path] for path in roots}
    # Mount outer folders first: a later mount would cover the folders inside.
    outside_in = sorted(places, key=lambda path: (path.rstrip("/").count("/"), path))
    mounts = [word for path in outside_in for word in places[path]]
    # Root could write settings of the system in `/proc`, even without any capability.
    closed = ["--remount-ro", "/proc"] if os.geteuid() == 0 else []
    return [as_bytes(word) for word in (program, *_ISOLATION_OPTIONS, *mounts, *closed, "--")]


def _hidden_folders() -> set[str]:
    home = as_text(os.environb.get(b"HOME", b""))
    cache = [f"{home}/.cache"] if home.startswith("/") else []
    return {real_path(path) for path in (*_PRIVATE, *cache) if is_folder(path)} - {"/"}


def _visible_paths() -> set[str]:
    """Return paths that must stay visible: our interpreter, and the resolver configuration."""
    interpreter = Path(sys.executable)
    folders = (interpreter.parent, interpreter.resolve().parent, Path(__file__).parent)
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    found = (*map(str, folders), *prefixes, "/etc/resolv.conf")
    return {real_path(path) for path in found if Path(path).exists()}


# A machine under load may answer slowly; no command runs meanwhile.
PROBE_SECONDS = 30.0

_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
_MS_PER_S = 1000


def run(
    command: CommandRequest,
    cancellation: Cancellation | None = None,
    started: Callable[[], None] | None = None,
) -> CommandResult:
    """Run a command until it ends; every failure is reported in the result.

    `started` is called when the program runs.
    """
    begun = time.monotonic()
    if cancellation is not None and cancellation.cancelled:
        return CommandResult(command=command, ending=CommandEnd.CANCELLED)
    try:
        with check_command(command) as ready:
            return _run(command, ready, begun, cancellation, started)
    except RefusedError as refused:
        return CommandResult.refused(command, refused.refusal, str(refused))


def detect_isolation() -> Isolation:
    """Determine by a trial how commands are isolated here; the answer is cached.

    RefusedError if bubblewrap is installed and does not answer in time. It may still work, so
    nothing runs without it, and the next call tries again.
    """
    return _detect_isolation(BUBBLEWRAP)


def _run(
    command: CommandRequest,
    ready: CheckedCommand,
    begun: float,
    cancellation: Cancellation | None,
    started: Callable[[], None] | None,
) -> CommandResult:
    how = detect_isolation()
    isolated = how.by is IsolationKind.BUBBLEWRAP
    roots = tuple(root.path for root in ready.roots)
    prefix = bubblewrap_arguments(find_program(BUBBLEWRAP), roots) if isolated else []
    with _start_supervisor(prefix) as (process, status):
        watch = SandboxClient(process, status, command, started, isolated=isolated)
        ended = watch.follow(supervisor_request(command, ready, isolated=isolated), cancellation)
    if ended.refusal is not None:
        raise RefusedError(ended.refusal, ended.why)
    return CommandResult(
        command=command,
        ending=ended.ending,
        program=ready.program,
        cwd=ready.cwd.path,
        exit_code=ended.exit_code,
        signal=ended.signal,
        stdout=watch.stdout.output(),
        stderr=watch.stderr.output(),
        left=watch.left,
        ms=round((ended.at - begun) * _MS_PER_S),
        isolation=how,
    )


@cache
def _detect_isolation(program: str) -> Isolation:
    # Bubblewrap may be installed and not work, for example without user namespaces.
    try:
        path = find_program(program)
    except RefusedError:
        return Isolation(IsolationKind.NOTHING, "bubblewrap is not installed")
    with _start_supervisor(bubblewrap_arguments(path, ())) as (process, status):
        deadline = time.monotonic() + PROBE_SECONDS
        if read_line(status, deadline) == supervisor.READY:
            return Isolation(IsolationKind.BUBBLEWRAP)
        why = read_line(process.errors, deadline).decode("utf-8", "replace")
        # After a timeout, ignore its output: it has not exited, so it may still work.
        if time.monotonic() >= deadline:
            raise RefusedError(*not_started_refusal("bubblewrap did not answer"))
        return Isolation(
            IsolationKind.NOTHING, f"bubblewrap does not work here: {why or 'no answer'}"
        )


@contextmanager
def _start_supervisor(prefix: list[bytes]) -> Iterator[tuple[Process, int]]:
    """Start a supervisor that waits for its request; yield it and the pipe for its reports."""
    status, theirs = os.pipe()
    try:
        try:
            ours = [sys.executable, "-I", "-S", _SUPERVISOR, str(theirs)]
            process = Process([*prefix, *ours], errors=PIPE, keep=(theirs,), patience=END_SECONDS)
        finally:
            os.close(theirs)
        try:
            yield process, status
        finally:
            process.kill()
    finally:
        os.close(status)


class Cancellation:
    """Ends the commands that were given it, permanently; from any thread or a signal handler."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.cancelled = False
        weakref.finalize(self, os.close, self.descriptor)

    def cancel(self) -> None:
        """End the commands now."""
        self.cancelled = True
        os.eventfd_write(self.descriptor, 1)
