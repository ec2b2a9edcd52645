"""Build the arguments with which bubblewrap limits a process to some folders.

These limits cannot be bypassed: only the roots can be written, by any process and user; all started
processes end with their supervisor; no process outside can be seen, traced or killed; no program
gives more rights. `/tmp`, `/var/tmp`, `/run` and the user's cache are empty and private, which also
hides the sockets of services in them.

Not limited: everything that the user can read can be read, and the network is available, because
tests and builds need both. Memory is not limited either.
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
_PRIVATE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - no file is created there, the folder is hidden


def arguments(program: str, roots: tuple[str, ...]) -> list[bytes]:
    """Return all arguments before the isolated program; the roots are paths without links."""
    places = {"/": ["--ro-bind", "/", "/"], "/dev": ["--dev", "/dev"], "/proc": ["--proc", "/proc"]}
    hidden = _hidden()
    places |= {path: ["--tmpfs", path] for path in hidden}
    for path in _needed():
        if any(lies_in(path, one) for one in hidden) and not any(lies_in(path, r) for r in roots):
            places[path] = ["--ro-bind", path, path]
    places |= {path: ["--bind", path, path] for path in roots}
    # Mount outer folders first: a later mount would cover the folders inside.
    outside_in = sorted(places, key=lambda path: (path.rstrip("/").count("/"), path))
    mounts = [word for path in outside_in for word in places[path]]
    # Root could write settings of the system in `/proc`, even without any capability.
    closed = ["--remount-ro", "/proc"] if os.geteuid() == 0 else []
    return [as_bytes(word) for word in (program, *_ALONE, *mounts, *closed, "--")]


def _hidden() -> set[str]:
    home = as_text(os.environb.get(b"HOME", b""))
    cache = [f"{home}/.cache"] if home.startswith("/") else []
    return {real_path(path) for path in (*_PRIVATE, *cache) if is_folder(path)} - {"/"}


def _needed() -> set[str]:
    """Return paths that must stay visible: our interpreter, and the resolver configuration."""
    interpreter = Path(sys.executable)
    folders = (interpreter.parent, interpreter.resolve().parent, Path(__file__).parent)
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    found = (*map(str, folders), *prefixes, "/etc/resolv.conf")
    return {real_path(path) for path in found if Path(path).exists()}
