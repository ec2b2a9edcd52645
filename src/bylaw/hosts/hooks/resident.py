"""Background process (resident) that has Bylaw imported and decides hooks in forked children.

Starting Python and importing Bylaw takes far longer than a decision. So the first hook starts a
resident. For each later hook the resident forks a child with the folder and the environment of the
caller. The child does exactly what a child of the entry point would do. From one hook to the next
the resident keeps nothing but code. It exits if no request comes for `IDLE_S`, if its code or its
socket changes, or if another resident has replaced it.
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
from bylaw.hosts.clients.fail_closed import patience_s
from bylaw.hosts.hooks.child import run_child
from bylaw.hosts.hooks.entrypoint import MAX_PAYLOAD
from bylaw.hosts.hooks.resident_client import (
    GO,
    LOCK,
    SOCKET,
    TAKEN,
    Request,
    request_length,
    socket_address,
)
from bylaw.store.paths import as_bytes, is_only_ours, state_home
from bylaw.version import __version__

IDLE_S = 20 * 60.0
CHECK_INTERVAL_S = 5.0  # how often it checks whether it must exit
LINGER_S = 3.0  # how long a child keeps the journal open for the next one
# Time for the caller to send the whole request and `GO`. The caller gives up after `HAND_OVER_S`,
# which is far less. This limit only ends a child whose caller hangs with the connection open.
REQUEST_TIMEOUT_S = 30
MAX_REQUEST = MAX_PAYLOAD + (4 << 20)
_PIECE = 1 << 16
# Prefixes of the modules that hooks use. Code of other commands is not imported.
PRELOADED = tuple(
    f"bylaw.{name}."
    for name in (
        "model",
        "paths",
        "expr",
        "engine",
        "languages",
        "store",
        "runtime",
        "worktree",
        "hosts.clients",
        "hosts.hooks",
    )
)
NOT_PRELOADED = tuple(f"bylaw.hosts.hooks.{name}" for name in ("canary", "doctor", "install"))
LATE_IMPORTS = ("difflib", "encodings.ascii")  # standard modules that hooks import only when needed


def serve() -> int:
    """Answer requests until the resident must exit. Return 1 if it cannot start, else 0."""
    folder = os.fsdecode(as_bytes(state_home()))
    if not folder or not _make_folder(folder):
        return 1
    lock = os.open(f"{folder}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return 0  # another resident runs
    _import_all()
    with _listen(folder) as listener:
        _Resident(listener, f"{folder}/{SOCKET}").run()
    return 0


def _make_folder(folder: str) -> bool:
    try:
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - pathlib is slow
        os.chmod(folder, 0o700)  # noqa: PTH101 - same
        return is_only_ours(os.stat(folder))  # noqa: PTH116 - pathlib is slow
    except OSError:
        return False


def _import_all() -> None:
    """Import everything that a hook may need, so that no child has to."""
    for found in walk_packages(bylaw.__path__, "bylaw."):
        if found.name.startswith(PRELOADED) and not found.name.startswith(NOT_PRELOADED):
            with suppress(ImportError):  # an optional dependency is not installed
                import_module(found.name)
    for name in LATE_IMPORTS:
        import_module(name)
    gc.collect()
    gc.freeze()  # no child has to traverse the objects that exist now


def _listen(folder: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = f"{SOCKET}.{os.getpid()}"
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=opened)
        listener.bind(socket_address(opened, fresh))
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
        self._socket = os.stat(path).st_ino  # noqa: PTH116 - pathlib is slow
        self._code = _code_stamp()
        self._last = monotonic()

    def run(self) -> None:
        while self._must_run():
            if not select.select([self._listener], [], [], CHECK_INTERVAL_S)[0]:
                continue
            line, _ = self._listener.accept()
            if self._code != _code_stamp():
                return  # the caller decides in its own child
            self._last = monotonic()
            if os.fork() == 0:
                _serve_one(line)
            line.close()
            _reap()

    def _must_run(self) -> bool:
        _reap()
        try:
            there = os.stat(self._path).st_ino == self._socket  # noqa: PTH116 - pathlib is slow
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
    """Run the child: take over folder and environment of the caller, then decide."""
    try:
        signal.alarm(REQUEST_TIMEOUT_S)
        asked = Request(_receive(line))
        if asked.version != __version__:
            os._exit(0)
        os.chdir(asked.folder)
        os.environb.clear()
        os.environb.update(asked.environment)
        line.sendall(TAKEN)
        if line.recv(len(GO)) != GO:
            os._exit(0)
        signal.alarm(int(patience_s(asked.event) + LINGER_S) + 1)
    except BaseException:  # noqa: BLE001 - the caller then decides in its own child
        os._exit(1)
    run_child(asked.host, asked.event, asked.data, line.detach(), LINGER_S)


def _receive(line: socket.socket) -> bytes:
    pieces: list[bytes] = []
    size = whole = 0
    while not whole or size < whole:
        piece = line.recv(_PIECE)
        pieces.append(piece)
        size += len(piece)
        whole = whole or request_length(b"".join(pieces))
        if not piece or max(size, whole) > MAX_REQUEST:
            raise ValueError
    return b"".join(pieces)


def _code_stamp() -> list[tuple[str, int, int]]:
    """Return a stamp that changes with any imported file of Bylaw, even if it becomes older."""
    ours = [(name, module) for name, module in sys.modules.items() if name.startswith("bylaw")]
    return [(name, *_file_stamp(getattr(module, "__file__", None))) for name, module in ours]


def _file_stamp(file: str | None) -> tuple[int, int]:
    try:
        found = os.stat(file) if file else None  # noqa: PTH116 - pathlib is slow
    except OSError:
        found = None
    return (found.st_mtime_ns, found.st_size) if found else (0, 0)


if __name__ == "__main__":
    sys.exit(serve())
