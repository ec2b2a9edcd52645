"""The state folder `.bylaw/state/` of a root: files that Bylaw keeps for the root outside git.

`.bylaw` may be a link within the root; the state folder must not be a link. It is opened once and
used by its descriptor, so that another process cannot swap the folder meanwhile.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bylaw.model.codes.state import UNSAFE_STATE_FOLDER
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.brief_lock import PATIENCE_S, briefly_locked
from bylaw.runtime.entering import FOLDER
from bylaw.runtime.paths import as_bytes, name_from, real_path
from bylaw.runtime.reading import regular_bytes
from bylaw.runtime.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = ".bylaw"
STATE = f"{OURS}/state"

_FOR_OTHERS = 0o077
_IGNORE = ".gitignore"


class StateFolder:
    """An open state folder; all names are files in it."""

    def __init__(self, descriptor: int) -> None:
        self._folder = descriptor

    def read(self, name: str, at_most: int) -> bytes | None:
        """Read a file, at most one byte more than `at_most`; None if it does not exist."""
        try:
            return regular_bytes(name, at_most, links=False, folder=self._folder)
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes, *, lasting: bool = True) -> None:
        """Replace a file atomically, see `write_whole`."""
        write_whole(self._folder, name, data, lasting=lasting)

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)

    @contextmanager
    def locked(self, name: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """Hold the lock of that name until the context ends."""
        with briefly_locked(self._folder, f"{name}.lock", f"{STATE}/{name}", patience_s):
            yield


@contextmanager
def existing_state_folder(root: str) -> Iterator[StateFolder | None]:
    """Open the state folder of a root; None if there is none. Raises LoadError or OSError."""
    try:
        folder = os.open(as_bytes(f"{_place(root)}/state"), FOLDER)
    except FileNotFoundError:
        yield None
        return
    try:
        yield StateFolder(folder)
    finally:
        os.close(folder)


@contextmanager
def state_folder(root: str) -> Iterator[StateFolder]:
    """Open the state folder of a root, and create it if needed. Raises LoadError or OSError."""
    ours = _place(root)
    _make(ours, 0o777)  # other users may read the rules in it
    _make(f"{ours}/state", 0o700)
    folder = os.open(as_bytes(f"{ours}/state"), FOLDER)
    try:
        _keep_to_ourselves(folder)
        yield StateFolder(folder)
    finally:
        os.close(folder)


def _place(root: str) -> str:
    """Return the real path of `.bylaw`; LoadError if a link makes it unsafe."""
    top = real_path(root)
    ours = real_path(f"{top}/{OURS}")
    if not name_from(top, ours):
        raise _unsafe(f"`{OURS}` is a link that leads out of the root")
    if os.path.islink(as_bytes(f"{ours}/state")):  # noqa: PTH114 - a Path takes no bytes
        raise _unsafe(f"`{STATE}` is a link")
    return ours


def _unsafe(headline: str) -> LoadError:
    help_ = "make it a folder of the repository"
    nowhere = SourceFile(STATE, "")
    return load_error(UNSAFE_STATE_FOLDER, headline, nowhere, Span(0, 0), help=help_)


def _make(folder: str, mode: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(as_bytes(folder), mode)  # noqa: PTH102 - a Path takes no bytes


def _keep_to_ourselves(folder: int) -> None:
    """Hide the folder from other users and from git."""
    mode = os.fstat(folder).st_mode
    if mode & _FOR_OTHERS:
        os.fchmod(folder, mode & 0o700)
    try:
        os.stat(_IGNORE, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        write_whole(folder, _IGNORE, b"*\n")
