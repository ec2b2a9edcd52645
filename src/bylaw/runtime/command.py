"""A command → what became of it: the one place that starts any other program.

No process sees a shell, our environment, our folder or our open files. `Process` is for programs
of our own that are talked to; `run` is for all others: looked at right before they start, watched
by `watched/watcher.py`, isolated by `watched/bubblewrap.py` where that works. A fork of ours lets
go of them.

A wall everywhere: the program, its arguments, folder and environment; how long we wait, what is
kept of its output, no more rights than ours. Only a fence without bubblewrap: a command can do what
the user can, so it can kill its watcher, and what it started in other groups is then left behind.
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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.runtime.watched.cancellation import Cancellation
    from bylaw.runtime.watched.order import Command
    from bylaw.runtime.watched.result import CommandResult

# Where programs are looked for, whatever our own environment says.
PATH = "/usr/local/bin:/usr/bin:/bin"
# Behind it, for commands of rules, the folder of our own interpreter: few systems have a `python`.
_OWN = os.path.dirname(sys.executable)  # noqa: PTH120 - its bytes as they are
COMMAND_PATH = f"{PATH}:{_OWN}" if _OWN.startswith("/") and ":" not in _OWN else PATH
# All that a program of ours sees: what it prints does not depend on who started it.
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C"}
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
AT_ONCE = 1 << 16
ERRORS_ARE_READ = PIPE
ERRORS_ARE_OUTPUT = STDOUT
_MS = 1000


class Process:
    """A process that was started, with a pipe each way; `argv` begins with an absolute path.

    It has a session of its own, which is killed as a whole: when it is told to, when nobody holds
    the process any more, and when the interpreter ends. With `patience` it ends itself in that many
    seconds when its input ends, and only then is killed, with all that it started. `keep` are
    descriptors that it is given, `variables` what it sees beside `ENVIRONMENT`, `cwd` its folder.
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
        # What must be closed is held by the finalizer alone, which runs once.
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
        """Write everything, or raise an `OSError`; `deadline` is a time of `time.monotonic`."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                _wait(self._input, select.POLLOUT, deadline)

    def receive(self, deadline: float) -> bytes:
        """What has come, at least one byte, or an `OSError`."""
        _wait(self.output, select.POLLIN, deadline)
        data = os.read(self.output, AT_ONCE)
        if not data:
            raise ConnectionError("the process closed its output")
        return data

    def hang_up(self) -> None:
        """End its input: nothing more is sent."""
        self._stdin.close()

    def exit_code(self, deadline: float) -> int:
        """How it ended, once it has; TimeoutError if that takes too long."""
        try:
            return self._process.wait(max(0.0, deadline - time.monotonic()))
        except TimeoutExpired:
            raise TimeoutError("the process took too long") from None

    def kill(self) -> None:
        """End it and everything that it started; it may have ended before."""
        self._end()


def run(
    command: Command,
    cancellation: Cancellation | None = None,
    started: Callable[[], None] | None = None,
) -> CommandResult:
    """Run a command to its end; whatever goes wrong stands in the result.

    `started` is called when its program runs.
    """
    # Most who come here only talk to a process of ours, and need nothing of this.
    from bylaw.runtime.watched.run import run as watched  # noqa: PLC0415 - see above

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
        # It belongs to the process that we were forked from, and must not be waited for.
        process.returncode = 0
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _stop(process: Popen[bytes], patience: float) -> None:
    if process.returncode is not None:
        return  # it was waited for
    if patience:
        assert process.stdin is not None
        process.stdin.close()
        with suppress(TimeoutExpired):
            process.wait(patience)
            return
        _kill_below(process.pid)
    # Before it is waited for: then its number may be another's.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _kill_below(pid: int) -> None:
    from bylaw.runtime.watched.watcher import below, kill  # noqa: PLC0415 - hardly ever needed

    kill(below(pid))


_STARTED: weakref.WeakSet[Process] = weakref.WeakSet()


def _let_go() -> None:
    for process in list(_STARTED):
        process.kill()


os.register_at_fork(after_in_child=_let_go)
