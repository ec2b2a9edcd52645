"""Start other programs. No other module starts a process.

A process gets no shell, and not our environment, working folder or open files. `Process` is for
programs of our own, `run` for all others: they are checked, supervised, and isolated where
bubblewrap works. Some limits cannot be bypassed: program, arguments, folder, environment,
time, kept output, and no more rights than ours. Without bubblewrap, a command can kill its
supervisor, and then processes that it started in other groups are left behind.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import weakref
from contextlib import suppress
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.runtime.sandbox.client import Cancellation
    from bylaw.runtime.sandbox.request import CommandRequest
    from bylaw.runtime.sandbox.result import CommandResult

# Where programs are searched, independent of our own environment.
PATH = "/usr/local/bin:/usr/bin:/bin"
# Commands of rules also search the folder of our interpreter, as few systems have a `python`.
_INTERPRETER_FOLDER = os.path.dirname(sys.executable)  # noqa: PTH120 - a Path would change the text
COMMAND_PATH = (
    f"{PATH}:{_INTERPRETER_FOLDER}"
    if _INTERPRETER_FOLDER.startswith("/") and ":" not in _INTERPRETER_FOLDER
    else PATH
)
# The environment of our own programs: their output must not depend on who started Bylaw.
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C"}
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
READ_BYTES = 1 << 16
ERRORS_ARE_READ = PIPE
ERRORS_ARE_OUTPUT = STDOUT
_MS = 1000


class Process:
    """A started process with a pipe in each direction; `argv` begins with an absolute path.

    It has its own session, which is killed with all its processes: by `kill`, when the object is no
    longer referenced, and when the interpreter exits. With `patience`, its input is closed first
    and it has that many seconds to exit; only then it is killed with all that it started. `keep`
    are descriptors that it inherits, `variables` are added to `ENVIRONMENT`, `cwd` is its folder.
    """

    def __init__(
        self,
        argv: Sequence[str | bytes],
        *,
        errors: int = DEVNULL,
        keep: tuple[int, ...] = (),
        patience: float = 0.0,
        variables: Mapping[str, str] = NO_VARIABLES,
        cwd: str = "/",
    ) -> None:
        # Everything that must be closed is referenced only by the finalizer, which runs once.
        process = Popen(  # noqa: S603 - an argument list, and no shell
            list(argv), stdin=PIPE, stdout=PIPE, stderr=errors, bufsize=0, close_fds=True,
            pass_fds=keep, cwd=cwd, env={**ENVIRONMENT, **variables}, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self.output = process.stdout.fileno()
        self.errors = -1 if process.stderr is None else process.stderr.fileno()
        self._process = process
        self._stdin = process.stdin
        self._input = process.stdin.fileno()
        os.set_blocking(self._input, False)
        self._end = weakref.finalize(self, _end, process, os.getpid(), patience)
        _STARTED.add(self)

    def send(self, data: bytes, deadline: float) -> None:
        """Write all data or raise OSError; `deadline` is a time of `time.monotonic`."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                _wait(self._input, select.POLLOUT, deadline)

    def receive(self, deadline: float) -> bytes:
        """Return available data, at least one byte, or raise OSError."""
        _wait(self.output, select.POLLIN, deadline)
        data = os.read(self.output, READ_BYTES)
        if not data:
            raise ConnectionError("the process closed its output")
        return data

    def hang_up(self) -> None:
        """Close the input of the process."""
        self._stdin.close()

    def exit_code(self, deadline: float) -> int:
        """Wait for the exit code; TimeoutError if that takes too long."""
        try:
            return self._process.wait(max(0.0, deadline - time.monotonic()))
        except TimeoutExpired:
            raise TimeoutError("the process took too long") from None

    def kill(self) -> None:
        """Kill the process and everything that it started; it may have exited before."""
        self._end()


def run(
    command: CommandRequest,
    cancellation: Cancellation | None = None,
    started: Callable[[], None] | None = None,
) -> CommandResult:
    """Run a command until it ends; every failure is reported in the result.

    `started` is called when the program runs.
    """
    # Most users of this module only talk to our own programs and do not need this import.
    from bylaw.runtime.sandbox.client import run as watched  # noqa: PLC0415 - see above

    return watched(command, cancellation, started)


def _wait(descriptor: int, what: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, what)
    left = max(0.0, deadline - time.monotonic())
    if not poll.poll(left * _MS):
        raise TimeoutError("the process took too long")


def _end(process: Popen[bytes], owner: int, patience: float) -> None:
    if owner == os.getpid():
        _stop(process, patience)
    else:
        # The process belongs to our parent from before the fork; do not wait for it.
        process.returncode = 0
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _stop(process: Popen[bytes], patience: float) -> None:
    if process.returncode is not None:
        return  # it has already been waited for
    if patience:
        assert process.stdin is not None
        process.stdin.close()
        with suppress(TimeoutExpired):
            process.wait(patience)
            return
        _kill_below(process.pid)
    # Kill before waiting: afterwards another process may have the id.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _kill_below(pid: int) -> None:
    from bylaw.runtime.sandbox.supervisor import descendants, kill_all  # noqa: PLC0415 - seldom needed

    kill_all(descendants(pid))


_STARTED: weakref.WeakSet[Process] = weakref.WeakSet()


def _release_after_fork() -> None:
    for process in list(_STARTED):
        process.kill()


os.register_at_fork(after_in_child=_release_after_fork)


MAX_ERROR_BYTES = 64 << 10
_MS_PER_S = 1000


class ProgramOutput(Struct, frozen=True):
    """The output of a program; of its error output only the beginning."""

    exit_code: int
    output: bytes
    error_output: bytes


class TooMuchOutputError(Exception):
    """A program wrote more output than allowed."""


def read_output(
    argv: Sequence[str | bytes],
    *,
    seconds: float,
    at_most: int,
    variables: Mapping[str, str] = NO_VARIABLES,
) -> ProgramOutput:
    """Run a program to its end, without input.

    Raises OSError if it cannot run, TimeoutError, or TooMuchOutputError.
    """
    deadline = time.monotonic() + seconds
    process = Process(argv, errors=ERRORS_ARE_READ, variables=variables)
    try:
        process.hang_up()
        output, complaint = _read(process, deadline, at_most)
        return ProgramOutput(process.exit_code(deadline), output, complaint)
    finally:
        process.kill()


def _read(process: Process, deadline: float, at_most: int) -> tuple[bytes, bytes]:
    found: dict[int, list[bytes]] = {process.output: [], process.errors: []}
    left = {process.output: at_most, process.errors: MAX_ERROR_BYTES}
    poll = select.poll()
    for descriptor in found:
        poll.register(descriptor, select.POLLIN)
    open_ones = set(found)
    while open_ones:
        for descriptor in _wait_readable(poll, deadline):
            piece = os.read(descriptor, READ_BYTES)
            if not piece:
                open_ones.remove(descriptor)
                poll.unregister(descriptor)
            found[descriptor].append(piece[: left[descriptor]])
            left[descriptor] -= len(piece)
        if left[process.output] < 0:
            raise TooMuchOutputError
        left[process.errors] = max(0, left[process.errors])
    return b"".join(found[process.output]), b"".join(found[process.errors])


def _wait_readable(poll: select.poll, deadline: float) -> list[int]:
    ready = poll.poll(max(0.0, deadline - time.monotonic()) * _MS_PER_S)
    if not ready:
        raise TimeoutError
    return [descriptor for descriptor, _ in ready]
