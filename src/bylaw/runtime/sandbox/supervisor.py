"""Supervisor process: start one command, report what happens, and end all that it started.

Started by its path with STATUS, a descriptor, by an interpreter that loads little else. It reads
one request from standard input and writes a report per line: `ready`, `refused ERRNO WHAT`,
`started PID`, `left NUMBER`, then `exited CODE`, `killed SIGNAL` or `crowded`. When standard input
ends, all processes are ended. Inside bubblewrap it is process 1. Elsewhere it becomes the parent of
every process whose parent exits, and ends it.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import signal
import sys
import time
from errno import ESTALE

# Importing `typing` takes as long as starting the interpreter.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


READY = b"ready"
REFUSED = b"refused"
STARTED = b"started"
LEFT = b"left"
EXITED = b"exited"
KILLED = b"killed"
CROWDED = b"crowded"
LENGTH = 8

# Time between SIGTERM and SIGKILL, and the time after which processes that survive are left alone.
GRACE_SECONDS = 0.5
SWEEP_SECONDS = 3.0
POLL_SECONDS = 0.1
# Time for processes that exit by themselves after the command, such as the end of a pipe.
LINGER_SECONDS = 1.0

# Options of prctl(2) and their values.
_NO_NEW_PRIVILEGES = (38, 1)
_CHILD_SUBREAPER = (36, 1)
_NOT_DUMPABLE = (4, 0)
_FIXED_SIGNALS = {signal.SIGKILL, signal.SIGSTOP}
_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
# The position of the parent after the name, see proc(5).
_PARENT = 1


class NotStartedError(Exception):
    """The command did not start. The arguments are the errno and what failed."""


class Supervisor:
    """Starts one command and ends it with all its processes."""

    def __init__(self, status: int) -> None:
        os.set_inheritable(status, False)
        self._status = status
        self._control = os.dup(0)
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._wake = _child_wakeup()
        self._child = 0

    def watch(self) -> None:
        """Wait for the request, start the command, report how it ended."""
        self.say(READY)
        request = self._request()
        if request is None:
            return
        try:
            _prepare(request)
            self._child = _start(request)
        except NotStartedError as refused:
            self.say(REFUSED, *refused.args)
            return
        try:
            self.say(STARTED, self._child)
            self._follow(request["processes"], tidy=request["tidy"])
        finally:
            self._end(alone=request["alone"])

    def say(self, *words: bytes | int) -> None:
        """Write one report; ignore it if the reader is gone."""
        line = b" ".join(word if isinstance(word, bytes) else b"%d" % word for word in words)
        try:
            os.write(self._status, line + b"\n")
        except OSError:
            return

    def _request(self) -> dict[str, Any] | None:
        head = _read(self._control, LENGTH)
        size = int.from_bytes(head, "big")
        data = _read(self._control, size)
        if not data or len(data) < size:
            return None
        request: dict[str, Any] = marshal.loads(data)  # noqa: S302 - written by our parent
        return request

    def _follow(self, most: int, *, tidy: bool) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        # The system does not limit the processes of root, so count them.
        look = POLL_SECONDS * 1000 if os.geteuid() == 0 else None
        while not self._has_ended(most, tidy=tidy):
            ready = [descriptor for descriptor, _ in poll.poll(look)]
            if self._control in ready:
                return
            if self._wake in ready:
                os.read(self._wake, 1 << 16)
            if look and len(descendants(os.getpid())) > most:
                self.say(CROWDED)
                _kill_group(self._child, signal.SIGKILL)
                return

    def _has_ended(self, most: int, *, tidy: bool) -> bool:
        """Check whether the command ended. Its zombie stays, so that its group id is not reused."""
        while (found := os.waitid(os.P_ALL, 0, _ENDED)) is not None:
            if found.si_pid != self._child:
                os.waitpid(found.si_pid, 0)
                continue
            word = EXITED if found.si_code == os.CLD_EXITED else KILLED
            # Evaluate first: a command that kills us meanwhile has not ended well.
            ended_well = word == EXITED and found.si_status == 0
            if tidy and ended_well and (left := self._count_left(most)):
                self.say(LEFT, left)
            self.say(word, found.si_status)
            return True
        return False

    def _count_left(self, most: int) -> int:
        """Count processes that still run after the time to exit; too many get no time."""
        deadline = time.monotonic() + LINGER_SECONDS
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while left := self._count_others():
            ready = [descriptor for descriptor, _ in poll.poll(POLL_SECONDS * 1000)]
            if self._control in ready or left > most or time.monotonic() >= deadline:
                break
            if self._wake in ready:
                os.read(self._wake, 1 << 16)
        return left

    def _count_others(self) -> int:
        """Count the processes in addition to the command."""
        return sum(pid != self._child and not _has_exited(pid) for pid in descendants(os.getpid()))

    def _end(self, *, alone: bool) -> None:
        if os.waitid(os.P_PID, self._child, _ENDED) is None:
            _kill_group(self._child, signal.SIGTERM)
            self._wait(GRACE_SECONDS)
        _kill_group(self._child, signal.SIGKILL)
        if not alone:
            _sweep()

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        while os.waitid(os.P_PID, self._child, _ENDED) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return
            os.read(self._wake, 1 << 16)


def descendants(top: int) -> list[int]:
    """Return all descendants of a process."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(top, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def _has_exited(pid: int) -> bool:
    """Check whether a child of this process has ended; other processes count as running."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def kill_all(pids: list[int]) -> None:
    """Kill processes; they may have exited before."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to import
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stream:  # noqa: PTH123 - same
                # The name can contain any character, including parentheses and spaces.
                words = stream.read().rpartition(b")")[2].split()
        except OSError:
            continue
        yield int(name), int(words[_PARENT])


def _child_wakeup() -> int:
    """Return a descriptor that becomes readable when a child ends; ignore all other signals."""
    for number in signal.valid_signals() - _FIXED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := os.read(descriptor, size - len(data))):
        data += piece
    return data


def _prepare(request: dict[str, Any]) -> None:
    for path, device, inode in request["folders"]:
        _check_folder(path, device, inode)
    try:
        os.chdir(request["folder"][0])
    except OSError as problem:
        raise NotStartedError(problem.errno, b"folder") from None
    # The current folder can no longer be exchanged.
    _check_folder(b".", *request["folder"][1:])
    try:
        for name, most in request["limits"]:
            _at_most(name, most)
        if not request["alone"]:
            _adopt_orphans()
    except (OSError, ValueError) as problem:
        raise NotStartedError(getattr(problem, "errno", 0), b"process") from None


def _check_folder(path: bytes, device: int, inode: int) -> None:
    try:
        found = os.stat(path)  # noqa: PTH116 - pathlib is slow to import
    except OSError as problem:
        raise NotStartedError(problem.errno, b"folder") from None
    if (found.st_dev, found.st_ino) != (device, inode):
        raise NotStartedError(ESTALE, b"folder")


def _at_most(limit: int, most: int) -> None:
    _, hard = resource.getrlimit(limit)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def _adopt_orphans() -> None:
    """Adopt orphans, prevent programs from gaining rights, and prevent tracing of this process."""
    import ctypes  # noqa: PLC0415 - not needed inside bubblewrap

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for what, value in (_NO_NEW_PRIVILEGES, _CHILD_SUBREAPER, _NOT_DUMPABLE):
        if prctl(what, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def _start(request: dict[str, Any]) -> int:
    try:
        return os.posix_spawn(
            request["program"],
            request["argv"],
            request["environment"],
            setpgroup=0,
            setsigmask=(),
            setsigdef=signal.valid_signals() - _FIXED_SIGNALS,
        )
    except OSError as problem:
        raise NotStartedError(problem.errno, b"program") from None


def _kill_group(group: int, number: int) -> None:
    # One call for all: no process of the group can start another meanwhile.
    try:
        os.killpg(group, number)
    except OSError:
        return


def _sweep() -> None:
    """End all remaining processes; each of them becomes a child of this process in the end."""
    deadline = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        kill_all(descendants(os.getpid()))
        time.sleep(0.002)


if __name__ == "__main__":
    Supervisor(int(sys.argv[1])).watch()
