"""Find the program and folder for a command, or the reason why it must not run.

The folders stay open and are identified by device and inode: when the process starts, their paths
must still lead to the same folders.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from stat import S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.visible import brief, visible
from bylaw.runtime.command import COMMAND_PATH
from bylaw.runtime.paths import as_bytes, as_text, lies_in, real_path
from bylaw.runtime.watched.order import Refusal, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.runtime.watched.order import Command

# The limit of Linux for one argument, and less than its limit for all.
MAX_ARGUMENT = (128 << 10) - 1
MAX_ARGUMENTS = 1 << 20

_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class Folder(Struct, frozen=True):
    """A folder: its path without links, and the device and inode that identify it."""

    path: str
    device: int
    inode: int

    def as_words(self) -> tuple[bytes, int, int]:
        """Return the folder as it is sent to the supervisor."""
        return as_bytes(self.path), self.device, self.inode


class Checked(Struct, frozen=True):
    """The resolved program, arguments and folders of a command."""

    program: str
    argv: tuple[bytes, ...]
    cwd: Folder
    roots: tuple[Folder, ...]


@contextmanager
def checked(command: Command) -> Iterator[Checked]:
    """Check a command and keep its folders open meanwhile; RefusedError if it must not run."""
    argv = _arguments(command.argv)
    program = _allowed_program(command)
    with ExitStack() as stack:
        top = _opened(command.top, stack)
        found = [_opened(root, stack) for root in command.roots]
        # A root that does not exist or leads out of `top` is ignored.
        roots = [root for root in found if top and root and lies_in(root.path, top.path)]
        cwd = _opened(command.cwd, stack)
        if cwd is None:
            where = brief(visible(command.cwd))
            raise RefusedError(Refusal.NO_FOLDER, f"`{where}` is not a folder that can be entered")
        if not any(lies_in(cwd.path, root.path) for root in roots):
            where = brief(visible(cwd.path))
            why = f"`{where}` is outside the folders in which commands may run"
            raise RefusedError(Refusal.OUTSIDE, why)
        yield Checked(program, argv, cwd, tuple(roots))


def is_from_somewhere(program: str) -> bool:
    """Check whether the program is named by a relative path with a folder."""
    return "/" in program and not program.startswith("/")


def find_script(top: str, name: str) -> str:
    """Return the real path of an executable file of `top`, given its path from there."""
    shown, top = brief(visible(name)), real_path(top)
    path = real_path(f"{top}/{name}")
    if ".." in name.split("/") or not lies_in(path, top):
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
    if is_from_somewhere(name):
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


def _allowed_program(command: Command) -> str:
    name, allow = command.argv[0], command.allow
    if allow is None or name in allow:
        return _program(command, name)
    with suppress(RefusedError):
        program = _program(command, name)
        if program in allow:
            return program
    why = f"`{brief(visible(name))}` is not one of the allowed programs"
    raise RefusedError(Refusal.NOT_ALLOWED, why)


def _program(command: Command, name: str) -> str:
    if command.scripts and is_from_somewhere(name):
        return find_script(command.top, name)
    return find_program(name)


def _is_file(path: str) -> bool:
    try:
        return S_ISREG(os.stat(as_bytes(path)).st_mode)  # noqa: PTH116 - a Path takes no bytes
    except OSError:
        return False


def _opened(path: str, stack: ExitStack) -> Folder | None:
    if not path.startswith("/") or "\0" in path:
        return None
    try:
        descriptor = os.open(as_bytes(path), _PLACE)
    except (OSError, UnicodeEncodeError):
        return None
    stack.callback(os.close, descriptor)
    found = os.fstat(descriptor)
    real = os.readlink(f"/proc/self/fd/{descriptor}".encode())  # noqa: PTH115 - same
    return Folder(as_text(real), found.st_dev, found.st_ino)
