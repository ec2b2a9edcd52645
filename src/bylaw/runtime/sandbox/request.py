"""A command to run: its limits, the checks before it starts, and the request to its supervisor.

Folders stay open and are identified by device and inode: when the process starts, their paths must
still lead to the same folders.
"""

from __future__ import annotations

import marshal
import os
import resource
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from stat import S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.display import brief, visible
from bylaw.runtime.sandbox.command import COMMAND_PATH
from bylaw.runtime.sandbox.supervisor import LENGTH
from bylaw.store.paths import as_bytes, as_text, is_inside, real_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_OUTPUT = 16 << 10  # bytes kept of each stream
# More than a build with all cores of a large machine needs; threads count as well.
MAX_PROCESSES = 8192
MAX_FILE = 4 << 30  # bytes
# For both streams together: more than any report that people read.
MAX_WRITTEN = 10_000_000


class CommandRequest(Struct, frozen=True, kw_only=True):
    """What to run, where, and with which limits; all paths are absolute.

    The real path of `cwd` must be in one of the `roots`, and theirs in `top`. `allow` lists
    programs by name or absolute path; None allows all. With `scripts`, a program may also be a file
    of `top`, by its path from there. `env` are variables that the command may see in addition to
    the usual ones. With `tidy`, it fails if it writes too much output or leaves processes behind.
    """

    argv: tuple[str, ...]
    cwd: str
    roots: tuple[str, ...]
    timeout_s: float
    top: str = "/"
    allow: frozenset[str] | None = None
    scripts: bool = False
    tidy: bool = False
    env: tuple[str, ...] = ()
    max_output: int = MAX_OUTPUT


class Refusal(StrEnum):
    """Why a command was not started."""

    UNTRUSTED = "untrusted"
    UNSAFE_NAME = "unsafe name"
    EMPTY = "empty"
    NUL = "null byte"
    NOT_TEXT = "not text"
    TOO_LONG = "too long"
    NOT_ALLOWED = "not allowed"
    NOT_FOUND = "not found"
    NOT_EXECUTABLE = "not executable"
    VANISHED = "vanished"
    OUTSIDE = "outside"
    NO_FOLDER = "no folder"
    FOLDER_CHANGED = "folder changed"
    NOT_STARTED = "not started"


class RefusedError(Exception):
    """A command must not or cannot be started."""

    def __init__(self, refusal: Refusal, why: str) -> None:
        super().__init__(why)
        self.refusal = refusal


# The variables of our environment that a command sees. PATH is always set by us (DW-A27).
USUAL_VARIABLES = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "TMPDIR")
# Not passed into bubblewrap, which has its own temporary folder.
_TEMPORARY = "TMPDIR"


def supervisor_request(command: CommandRequest, ready: CheckedCommand, *, isolated: bool) -> bytes:
    """Return the bytes that the supervisor reads."""
    told = marshal.dumps(
        {
            "program": as_bytes(ready.program),
            "argv": ready.argv,
            "environment": _environment(command.env, isolated=isolated),
            "folder": ready.cwd.as_tuple(),
            "folders": [root.as_tuple() for root in ready.roots] if isolated else [],
            "limits": _limits(),
            "processes": MAX_PROCESSES,
            "alone": isolated,
            "tidy": command.tidy,
        }
    )
    return len(told).to_bytes(LENGTH, "big") + told


def _environment(names: tuple[str, ...], *, isolated: bool) -> dict[bytes, bytes]:
    seen = {*USUAL_VARIABLES, *names} - ({_TEMPORARY} if isolated else set())
    ours = {name.encode(): os.environb.get(name.encode()) for name in seen}
    known = {name: value for name, value in ours.items() if value is not None}
    return known | {b"PATH": COMMAND_PATH.encode()}


def _limits() -> list[tuple[int, int]]:
    found = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, MAX_FILE)]
    if os.geteuid() != 0:  # not for root, whose processes the supervisor counts
        found.append((resource.RLIMIT_NPROC, _tasks_of_user() + MAX_PROCESSES))
    return found


def _tasks_of_user() -> int:
    """Count the threads of the user; the limit covers all of them, also those of other programs."""
    found = 0
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are enough
        if name.isdigit():
            try:
                entry = os.stat(f"/proc/{name}/task")  # noqa: PTH116 - one call each
            except OSError:
                continue
            # A folder has two links in addition to one for each folder in it.
            found += entry.st_nlink - 2 if entry.st_uid == os.geteuid() else 0
    return found


# The limit of Linux for one argument, and less than its limit for all.
MAX_ARGUMENT = (128 << 10) - 1
MAX_ARGUMENTS = 1 << 20

_FOLDER_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class Folder(Struct, frozen=True):
    """A folder: its path without links, and the device and inode that identify it."""

    path: str
    device: int
    inode: int

    def as_tuple(self) -> tuple[bytes, int, int]:
        """Return the folder as it is sent to the supervisor."""
        return as_bytes(self.path), self.device, self.inode


class CheckedCommand(Struct, frozen=True):
    """The resolved program, arguments and folders of a command."""

    program: str
    argv: tuple[bytes, ...]
    cwd: Folder
    roots: tuple[Folder, ...]


@contextmanager
def check_command(command: CommandRequest) -> Iterator[CheckedCommand]:
    """Check a command and keep its folders open meanwhile; RefusedError if it must not run."""
    argv = _arguments(command.argv)
    program = _allowed_program(command)
    with ExitStack() as stack:
        top = _open_folder(command.top, stack)
        found = [_open_folder(root, stack) for root in command.roots]
        # A root that does not exist or leads out of `top` is ignored.
        roots = [root for root in found if top and root and is_inside(root.path, top.path)]
        cwd = _open_folder(command.cwd, stack)
        if cwd is None:
            where = brief(visible(command.cwd))
            raise RefusedError(Refusal.NO_FOLDER, f"`{where}` is not a folder that can be entered")
        if not any(is_inside(cwd.path, root.path) for root in roots):
            where = brief(visible(cwd.path))
            why = f"`{where}` is outside the folders in which commands may run"
            raise RefusedError(Refusal.OUTSIDE, why)
        yield CheckedCommand(program, argv, cwd, tuple(roots))


def is_relative_path(program: str) -> bool:
    """Check whether the program is named by a relative path with a folder."""
    return "/" in program and not program.startswith("/")


def find_script(top: str, name: str) -> str:
    """Return the real path of an executable file of `top`, given its path from there."""
    shown, top = brief(visible(name)), real_path(top)
    path = real_path(f"{top}/{name}")
    if ".." in name.split("/") or not is_inside(path, top):
        raise RefusedError(Refusal.OUTSIDE, f"`{shown}` leads out of the repository")
    if not _is_file(path):
        raise RefusedError(Refusal.NOT_FOUND, f"script `{shown}` not found in the repository")
    if not os.access(as_bytes(path), os.X_OK, effective_ids=True):
        why = f"`{shown}` is not executable; run `chmod +x` on it"
        raise RefusedError(Refusal.NOT_EXECUTABLE, why)
    return path


def find_program(name: str) -> str:
    """Return the path of a program, given by its name or by an absolute path."""
    shown = brief(visible(name))
    if is_relative_path(name):
        why = f"`{shown}` is a relative path; use the name of the program or its absolute path"
        raise RefusedError(Refusal.NOT_ALLOWED, why)
    folders = [""] if name.startswith("/") else [f"{folder}/" for folder in COMMAND_PATH.split(":")]
    there = [path for path in (f"{folder}{name}" for folder in folders) if _is_file(path)]
    if not there:
        where = "" if name.startswith("/") else f" in {COMMAND_PATH}"
        raise RefusedError(Refusal.NOT_FOUND, f"program `{shown}` not found{where}")
    for path in there:
        if os.access(as_bytes(path), os.X_OK, effective_ids=True):
            return path
    raise RefusedError(Refusal.NOT_EXECUTABLE, f"`{shown}` is not executable")


def _arguments(argv: Sequence[str]) -> tuple[bytes, ...]:
    if not argv or not argv[0]:
        raise RefusedError(Refusal.EMPTY, "the command is empty")
    if any("\0" in word for word in argv):
        raise RefusedError(Refusal.NUL, "an argument contains a null byte")
    try:
        words = tuple(as_bytes(word) for word in argv)
    except UnicodeEncodeError:
        raise RefusedError(Refusal.NOT_TEXT, "an argument is not text") from None
    # Each argument also needs a byte for its end and an address of 8 bytes.
    size = sum(len(word) + 9 for word in words)
    if size > MAX_ARGUMENTS or max(map(len, words)) > MAX_ARGUMENT:
        why = f"arguments exceed {MAX_ARGUMENTS:,} bytes, or one of them {MAX_ARGUMENT:,}"
        raise RefusedError(Refusal.TOO_LONG, why)
    return words


def _allowed_program(command: CommandRequest) -> str:
    name, allow = command.argv[0], command.allow
    if allow is None or name in allow:
        return _program(command, name)
    with suppress(RefusedError):
        program = _program(command, name)
        if program in allow:
            return program
    why = f"`{brief(visible(name))}` is not one of the allowed programs"
    raise RefusedError(Refusal.NOT_ALLOWED, why)


def _program(command: CommandRequest, name: str) -> str:
    if command.scripts and is_relative_path(name):
        return find_script(command.top, name)
    return find_program(name)


def _is_file(path: str) -> bool:
    try:
        return S_ISREG(os.stat(as_bytes(path)).st_mode)  # noqa: PTH116 - a Path takes no bytes
    except OSError:
        return False


def _open_folder(path: str, stack: ExitStack) -> Folder | None:
    if not path.startswith("/") or "\0" in path:
        return None
    try:
        descriptor = os.open(as_bytes(path), _FOLDER_FLAGS)
    except (OSError, UnicodeEncodeError):
        return None
    stack.callback(os.close, descriptor)
    found = os.fstat(descriptor)
    real = os.readlink(f"/proc/self/fd/{descriptor}".encode())  # noqa: PTH115 - same
    return Folder(as_text(real), found.st_dev, found.st_ino)
