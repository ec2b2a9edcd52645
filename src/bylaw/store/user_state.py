"""Read and write files in the user's state and cache folders. Writes are atomic.

A file that cannot be read is treated as missing. A cache file that cannot be written is skipped.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError
from bylaw.store.files import read_regular_bytes, write_atomic
from bylaw.store.locks import wait_for_lock
from bylaw.store.paths import (
    CACHE_BASE,
    STATE_BASE,
    as_bytes,
    base_folder,
    folder_of,
    is_only_ours,
    is_safe_place,
    named_folder,
    user_home,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_STATE_HOME_HINT = "set `XDG_STATE_HOME` to the absolute path of a folder outside the repository"


def user_cache(root: str) -> str:
    """Return the folder for data that can be computed again; empty if there is no safe folder."""
    place = named_folder(CACHE_BASE)
    # The repository must not supply its own cache: Bylaw trusts its content.
    return place if place and is_safe_place(CACHE_BASE, root) else ""


def user_state(root: str) -> str:
    """Return the folder for data that must last, such as trust; BylawError if none is safe."""
    base, place = base_folder(STATE_BASE), named_folder(STATE_BASE)
    if not place:
        raise BylawError(f"no state folder: `{base}` is not an absolute path; {_STATE_HOME_HINT}")
    if not is_safe_place(STATE_BASE, root):
        why = "which could then grant itself trust"
        raise BylawError(f"`{base}` is inside the repository, {why}; {_STATE_HOME_HINT}")
    return place


def read_user_file(folder: str, name: str, at_most: int) -> bytes:
    """Read a regular file that only this user can have written; empty if there is none."""
    try:
        with _open_folder(folder) as inside:
            # Other users cannot replace the file after this check: the folder is ours.
            _refuse_foreign(os.stat(name, dir_fd=inside, follow_symlinks=False))
            data = read_regular_bytes(name, at_most, links=False, folder=inside)
    except (OSError, ValueError):
        return b""
    return data if len(data) <= at_most else b""


def write_cache_file(folder: str, name: str, data: bytes, room: tuple[str, int]) -> None:
    """Write a cache file, then remove the oldest files beyond a limit.

    `room` is the prefix of the file names to count, and the limit.
    """
    with suppress(OSError):
        _make_folder(folder)
        with _open_folder(folder) as inside:
            write_atomic(inside, name, data, lasting=False)
            _remove_oldest(inside, *room)


def write_user_file(folder: str, name: str, data: bytes) -> None:
    """Write a file that must last, in a folder only for this user; OSError if that fails."""
    _make_folder(folder)
    with _open_folder(folder, to_ourselves=True) as inside:
        write_atomic(inside, name, data)


def open_for_writing(folder: str, name: str, at_most: int) -> int:
    """Open a file of this user to write it in place, and return its descriptor.

    Removes the oldest files of the folder beyond `at_most`. Raises OSError.
    """
    _make_folder(folder)
    with _open_folder(folder, to_ourselves=True) as inside:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.open(name, flags, 0o600, dir_fd=inside)
        _remove_oldest(inside, "", at_most)
    return file


@contextmanager
def lock_folder(folder: str, what: str) -> Iterator[None]:
    """Hold the lock of a folder until the context ends. Raises OSError.

    BylawError if another process holds the lock too long; `what` names the folder in the message.
    """
    _make_folder(folder)
    with _open_folder(folder, to_ourselves=True) as inside:
        wait_for_lock(inside, what)
        yield


def remove_user_file(folder: str, name: str) -> bool:
    """Remove a file; False if it does not exist, OSError if that fails."""
    try:
        with _open_folder(folder) as inside:
            os.unlink(name, dir_fd=inside)
    except FileNotFoundError:
        return False
    return True


def _make_folder(folder: str) -> None:
    """Create the missing folders of a path, but never the home folder of the user."""
    missing = []
    while not os.path.lexists(as_bytes(folder)):
        missing.append(folder)
        folder = folder_of(folder)
    if user_home() in missing:
        raise FileNotFoundError
    for one in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(as_bytes(one), 0o700)  # noqa: PTH102 - a Path takes no bytes


@contextmanager
def _open_folder(folder: str, *, to_ourselves: bool = False) -> Iterator[int]:
    descriptor = os.open(as_bytes(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if to_ourselves:
            os.fchmod(descriptor, 0o700)
        _refuse_foreign(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_foreign(found: os.stat_result) -> None:
    if not is_only_ours(found):
        raise PermissionError


def _remove_oldest(folder: int, prefix: str, at_most: int) -> None:
    with os.scandir(folder) as entries:
        ours = [entry for entry in entries if entry.name.startswith(prefix)]
    if len(ours) > at_most:
        by_age = sorted(ours, key=lambda one: one.stat(follow_symlinks=False).st_mtime_ns)
        for entry in by_age[: len(ours) - at_most]:
            os.unlink(entry.name, dir_fd=folder)
