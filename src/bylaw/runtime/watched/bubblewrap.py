"""Folders → the arguments with which bubblewrap keeps a process to them.

A wall: nothing but the roots can be written, whatever runs as whoever; what was started ends with
its watcher; no process outside can be seen, traced or killed; no program gives more rights. `/tmp`,
`/var/tmp`, `/run` and the user's cache are empty and private, which also hides the sockets of
services there.

No wall: everything that the user can read can be read, and the network is as it is, since tests and
builds need both. Memory is not limited.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bylaw.runtime.paths import as_bytes, as_text, is_folder, lies_in, real_path

PROGRAM = "bwrap"

_ALONE = (
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
_PRIVATE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - nothing is put there, it is hidden


def arguments(program: str, roots: tuple[str, ...]) -> list[bytes]:
    """Everything before the program that is to be isolated; the roots are paths without links."""
    places = {"/": ["--ro-bind", "/", "/"], "/dev": ["--dev", "/dev"], "/proc": ["--proc", "/proc"]}
    hidden = _hidden()
    places |= {path: ["--tmpfs", path] for path in hidden}
    for path in _needed():
        if any(lies_in(path, one) for one in hidden) and not any(lies_in(path, r) for r in roots):
            places[path] = ["--ro-bind", path, path]
    places |= {path: ["--bind", path, path] for path in roots}
    # What lies above would cover what lies below.
    outside_in = sorted(places, key=lambda path: (path.rstrip("/").count("/"), path))
    mounts = [word for path in outside_in for word in places[path]]
    # Root may write settings of the system there, even without any capability.
    closed = ["--remount-ro", "/proc"] if os.geteuid() == 0 else []
    return [as_bytes(word) for word in (program, *_ALONE, *mounts, *closed, "--")]


def _hidden() -> set[str]:
    home = as_text(os.environb.get(b"HOME", b""))
    cache = [f"{home}/.cache"] if home.startswith("/") else []
    return {real_path(path) for path in (*_PRIVATE, *cache) if is_folder(path)} - {"/"}


def _needed() -> set[str]:
    """What has to be there nevertheless: our interpreter, and how names of hosts are found."""
    interpreter = Path(sys.executable)
    folders = (interpreter.parent, interpreter.resolve().parent, Path(__file__).parent)
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    found = (*map(str, folders), *prefixes, "/etc/resolv.conf")
    return {real_path(path) for path in found if Path(path).exists()}
