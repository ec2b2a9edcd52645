"""A root → the folder of its queue, open and locked."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from stat import S_IMODE
from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError
from bylaw.runtime.brief_lock import wait_for_lock
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import in_plain_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STATE = ".deepwork/tmp/policy"
QUEUE = f"{STATE}/queue"
FOLDER_MODE = 0o700

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextmanager
def locked_queue(root: str, note: Callable[[str], None], *, make: bool) -> Iterator[int | None]:
    """The folder, which no other process uses meanwhile; None if there is none to be looked at.

    The lock is one on the folder itself, so that it goes when that does. BylawError says why it
    cannot be used.
    """
    while True:
        folder = _open(root, note, make=make)
        if folder is None:
            yield None
            return
        try:
            wait_for_lock(folder, QUEUE)
            if _is_still_there(root, folder):
                yield folder
                return
        finally:
            os.close(folder)


def _is_still_there(root: str, folder: int) -> bool:
    try:
        found = os.stat(as_bytes(f"{root}/{QUEUE}"), follow_symlinks=False)  # noqa: PTH116 - bytes
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(folder))


def _open(root: str, note: Callable[[str], None], *, make: bool) -> int | None:
    path = root
    try:
        for part in QUEUE.split("/"):
            path = f"{path}/{part}"
            if make:
                with suppress(FileExistsError):
                    os.mkdir(as_bytes(path), FOLDER_MODE)  # noqa: PTH102 - a Path takes no bytes
        folder = os.open(as_bytes(path), _FOLDER)
    except FileNotFoundError:
        return None
    except OSError as wrong:
        raise BylawError(f"cannot use `{QUEUE}`: {in_plain_words(wrong)}") from None
    try:
        _keep_private(folder, note)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _keep_private(folder: int, note: Callable[[str], None]) -> None:
    """DW-133, DW-A45."""
    found = os.fstat(folder)
    if found.st_uid != os.geteuid():
        raise BylawError(f"`{QUEUE}` belongs to another user")
    mode = S_IMODE(found.st_mode)
    if mode != FOLDER_MODE:
        os.fchmod(folder, FOLDER_MODE)
        note(f"`{QUEUE}` had the mode {mode:o}, which is {FOLDER_MODE:o} now")
