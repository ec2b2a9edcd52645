"""Files that Bylaw keeps for one user, beside no repository: where, read with care, written whole.

Nothing here is an error for people: what cannot be read is not there, what cannot be written is
left out.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bylaw.runtime.reading import (
    as_bytes,
    as_text,
    folder_of,
    lies_in,
    real_path,
    regular_bytes,
)
from bylaw.runtime.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRITABLE_BY_OTHERS = 0o022


def user_cache(root: str) -> str:
    """The folder for what can be made anew; the empty text if there is no safe place."""
    home = as_text(os.environb.get(b"XDG_CACHE_HOME") or _below_home(b".cache"))
    # A repository must not bring its own: what lies there is believed.
    if not home.startswith("/") or lies_in(real_path(home), real_path(root)):
        return ""
    return f"{home.rstrip('/')}/bylaw"


def _below_home(name: bytes) -> bytes:
    home = os.environb.get(b"HOME")
    return home + b"/" + name if home else b""


def read_own(folder: str, name: str, at_most: int) -> bytes:
    """A regular file that only this user can have written; empty if there is none."""
    try:
        with _opened(folder) as inside:
            # Nobody else can put another file in its place: the folder is ours.
            _refuse_foreign(os.stat(name, dir_fd=inside, follow_symlinks=False))
            data = regular_bytes(name, at_most, links=False, folder=inside)
    except (OSError, ValueError):
        return b""
    return data if len(data) <= at_most else b""


def write_own(folder: str, name: str, data: bytes, room: tuple[str, int]) -> None:
    """Write a file; of those that begin with the first word of `room`, the oldest go."""
    with suppress(OSError):
        _make(folder)
        with _opened(folder) as inside:
            write_whole(inside, name, data, lasting=False)
            _remove_oldest(inside, *room)


def _make(folder: str) -> None:
    # Not what lies above: a home that is not there is nobody's.
    for one in (folder_of(folder), folder):
        with suppress(FileExistsError):
            os.mkdir(as_bytes(one), 0o700)  # noqa: PTH102 - a Path takes no bytes


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    descriptor = os.open(as_bytes(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _refuse_foreign(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_foreign(found: os.stat_result) -> None:
    if found.st_uid != os.geteuid() or found.st_mode & _WRITABLE_BY_OTHERS:
        raise PermissionError


def _remove_oldest(folder: int, prefix: str, at_most: int) -> None:
    with os.scandir(folder) as entries:
        ours = [entry for entry in entries if entry.name.startswith(prefix)]
    if len(ours) > at_most:
        by_age = sorted(ours, key=lambda one: one.stat(follow_symlinks=False).st_mtime_ns)
        for entry in by_age[: len(ours) - at_most]:
            os.unlink(entry.name, dir_fd=folder)
