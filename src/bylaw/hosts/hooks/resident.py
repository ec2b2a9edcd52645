"""A process that has everything imported and judges hooks in children of its own.

Starting Python and importing Bylaw costs far more than a decision. So the first hook starts this;
the next ones are forked from here, each with the folder and the environment of its own caller, and
do exactly what the front end would have done by itself. Nothing is remembered from one to the next
but code. It ends when nobody asks for a while, when its code or its socket changes, and when
another one has taken its place.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from importlib import import_module
from pkgutil import walk_packages
from time import monotonic

import bylaw
from bylaw.hosts.hooks.closing import patience_s
from bylaw.hosts.hooks.front import MAX_PAYLOAD
from bylaw.hosts.hooks.judging import judge
from bylaw.hosts.hooks.line import GO, LOCK, SOCKET, TAKEN, Request, address, length_of
from bylaw.runtime.own_place import is_own, state_home
from bylaw.runtime.paths import as_bytes
from bylaw.version import __version__

IDLE_S = 20 * 60.0
LOOK_S = 5.0  # how often it looks whether it is still wanted
LINGER_S = 3.0  # how long a child keeps the journal open for the next one
# Until a caller has said all and `GO`. It gives up itself after `HAND_OVER_S`; this is far more,
# and only ends a child whose caller hangs with the line open.
TAKING_S = 30
MAX_REQUEST = MAX_PAYLOAD + (4 << 20)
_PIECE = 1 << 16
# Of our own code: what the other commands of Bylaw do is none of it.
NEEDED = tuple(
    f"bylaw.{name}."
    for name in ("model", "expr", "engine", "dialects", "runtime", "hosts.hooks", "hosts.worktree")
)
NOT_NEEDED = tuple(f"bylaw.hosts.hooks.{name}" for name in ("canary", "doctor", "install"))
LATE = ("difflib", "encodings.ascii")  # what is imported where it is needed, and is not ours


def serve() -> int:
    """Answer until nobody needs it any more; 0 at the end, 1 if it cannot begin."""
    folder = os.fsdecode(as_bytes(state_home()))
    if not folder or not _made(folder):
        return 1
    lock = os.open(f"{folder}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return 0  # there is one
    _import_all()
    with _listening(folder) as listener:
        _Resident(listener, f"{folder}/{SOCKET}").run()
    return 0


def _made(folder: str) -> bool:
    try:
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - bytes and text alike
        os.chmod(folder, 0o700)  # noqa: PTH101 - same
        return is_own(os.stat(folder))  # noqa: PTH116 - pathlib is heavy
    except OSError:
        return False


def _import_all() -> None:
    """Everything that a hook may need, so that no child has to."""
    for found in walk_packages(bylaw.__path__, "bylaw."):
        if found.name.startswith(NEEDED) and not found.name.startswith(NOT_NEEDED):
            with suppress(ImportError):  # of an extra that is not installed
                import_module(found.name)
    for name in LATE:
        import_module(name)
    gc.collect()
    gc.freeze()  # what is there stays: no child looks through it


def _listening(folder: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = f"{SOCKET}.{os.getpid()}"
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=opened)
        listener.bind(address(opened, fresh))
        os.chmod(fresh, 0o600, dir_fd=opened)
        listener.listen(64)
        os.rename(fresh, SOCKET, src_dir_fd=opened, dst_dir_fd=opened)
    finally:
        os.close(opened)
    return listener


class _Resident:
    def __init__(self, listener: socket.socket, path: str) -> None:
        self._listener = listener
        self._path = path
        self._socket = os.stat(path).st_ino  # noqa: PTH116 - pathlib is heavy
        self._code = _code_stamp()
        self._last = monotonic()

    def run(self) -> None:
        while self._is_wanted():
            if not select.select([self._listener], [], [], LOOK_S)[0]:
                continue
            line, _ = self._listener.accept()
            if self._code != _code_stamp():
                return  # the caller does the work itself
            self._last = monotonic()
            if os.fork() == 0:
                _serve_one(line)
            line.close()
            _reap()

    def _is_wanted(self) -> bool:
        _reap()
        try:
            there = os.stat(self._path).st_ino == self._socket  # noqa: PTH116 - pathlib is heavy
        except OSError:
            return False
        if monotonic() - self._last > IDLE_S:
            os.unlink(self._path)  # noqa: PTH108 - same
            return False
        return there


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _serve_one(line: socket.socket) -> None:
    """The child: as its caller would have been."""
    try:
        signal.alarm(TAKING_S)
        asked = Request(_received(line))
        if asked.version != __version__:
            os._exit(0)
        os.chdir(asked.folder)
        os.environb.clear()
        os.environb.update(asked.environment)
        line.sendall(TAKEN)
        if line.recv(len(GO)) != GO:
            os._exit(0)
        signal.alarm(int(patience_s(asked.event) + LINGER_S) + 1)
    except BaseException:  # noqa: BLE001 - what was not taken, the caller does itself
        os._exit(1)
    judge(asked.host, asked.event, asked.data, line.detach(), LINGER_S)


def _received(line: socket.socket) -> bytes:
    pieces: list[bytes] = []
    size = whole = 0
    while not whole or size < whole:
        piece = line.recv(_PIECE)
        pieces.append(piece)
        size += len(piece)
        whole = whole or length_of(b"".join(pieces))
        if not piece or max(size, whole) > MAX_REQUEST:
            raise ValueError
    return b"".join(pieces)


def _code_stamp() -> list[tuple[str, int, int]]:
    """Changes with any file of ours that was imported, also if an older one takes its place."""
    ours = [(name, module) for name, module in sys.modules.items() if name.startswith("bylaw")]
    return [(name, *_stamp_of(getattr(module, "__file__", None))) for name, module in ours]


def _stamp_of(file: str | None) -> tuple[int, int]:
    try:
        found = os.stat(file) if file else None  # noqa: PTH116 - pathlib is heavy
    except OSError:
        found = None
    return (found.st_mtime_ns, found.st_size) if found else (0, 0)


if __name__ == "__main__":
    sys.exit(serve())
