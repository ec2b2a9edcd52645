"""Write files atomically in an open folder: readers see either the old or the new content."""

from __future__ import annotations

import os
from contextlib import suppress
from errno import EINVAL, ENOSYS
from functools import cache
from stat import S_ISREG
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes, folder_of, real_path

if TYPE_CHECKING:
    from collections.abc import Callable

_NO_REPLACE = 1  # RENAME_NOREPLACE
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def replace_file(path: str, data: bytes) -> None:
    """Replace the content of a file that a person named.

    OSError or ValueError leave the file unchanged. A link stays a link. Owner, group and mode are
    kept where possible.
    """
    path = real_path(path)
    name = path.rpartition("/")[2]
    folder = os.open(as_bytes(folder_of(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        old = os.stat(as_bytes(name), dir_fd=folder, follow_symlinks=False)
        if not S_ISREG(old.st_mode):
            raise ValueError("it is not a regular file")
        if not os.access(as_bytes(name), os.W_OK, dir_fd=folder, effective_ids=True):
            raise PermissionError  # a rename would bypass the mode of the file
        write_whole(folder, name, data, like=old)
    finally:
        os.close(folder)


def write_whole(
    folder: int,
    name: str,
    data: bytes,
    *,
    lasting: bool = True,
    mode: int = 0o600,
    like: os.stat_result | None = None,
) -> None:
    """Replace a file atomically; OSError leaves the old file unchanged.

    With `lasting`, the content survives a power failure. For `mode` and `like` see `write_beside`.
    """
    temporary = write_beside(folder, name, data, lasting=lasting, mode=mode, like=like)
    try:
        rename(folder, temporary, name)
        if lasting:
            os.fsync(folder)
    except OSError:
        clear_away(folder, temporary)
        raise


def write_new(folder: int, name: str, data: bytes, *, mode: int = 0o600) -> None:
    """Create a new file atomically; FileExistsError if the name exists.

    Any OSError leaves the folder unchanged. The content survives a power failure.
    """
    temporary = write_beside(folder, name, data, mode=mode)
    try:
        move_new(folder, temporary, folder, name)
    except OSError:
        clear_away(folder, temporary)
        raise
    os.fsync(folder)


def write_beside(
    folder: int,
    name: str,
    data: bytes,
    *,
    lasting: bool = True,
    mode: int = 0o600,
    like: os.stat_result | None = None,
) -> str:
    """Write a temporary file next to the file that it will replace and return its name.

    OSError leaves no file behind. Mode, owner and group are those of `like`, else `mode` with the
    umask of the user.
    """
    temporary = spare_name(name)
    try:
        with open(os.open(as_bytes(temporary), _NEW, mode, dir_fd=folder), "wb") as stream:  # noqa: PTH123 - a descriptor
            if like is not None:
                _make_like(stream.fileno(), like)
            stream.write(data)
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
    except OSError:
        clear_away(folder, temporary)
        raise
    return temporary


def spare_name(name: str) -> str:
    """Return an unused name that starts with another name."""
    return f"{name}.{os.urandom(8).hex()}"


def rename(folder: int, old: str, new: str) -> None:
    """Rename a file; a file with the new name is replaced."""
    os.rename(as_bytes(old), as_bytes(new), src_dir_fd=folder, dst_dir_fd=folder)


def move_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Move a file in one step; FileExistsError, and no change, if the new name exists."""
    old, new = as_bytes(name), as_bytes(to_name)
    wrong = _rename_new()(folder, old, to_folder, new)
    if wrong == 0:
        return
    if wrong not in {EINVAL, ENOSYS}:
        raise OSError(wrong, os.strerror(wrong))
    # This file system has no such call. Until the unlink, the file has both names.
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=folder)


def remove(folder: int, name: str) -> None:
    """Remove a file if it exists; OSError if that fails."""
    with suppress(FileNotFoundError):
        os.unlink(as_bytes(name), dir_fd=folder)


def clear_away(folder: int, name: str) -> None:
    """Remove a file that is no longer needed; ignore errors."""
    with suppress(OSError):
        remove(folder, name)


def _make_like(file: int, like: os.stat_result) -> None:
    rights = 0o777
    try:
        os.fchown(file, like.st_uid, like.st_gid)
    except PermissionError:
        rights = 0o707  # the group could not be kept
    os.fchmod(file, like.st_mode & rights)


@cache
def _rename_new() -> Callable[[int, bytes, int, bytes], int]:
    """Return a wrapper of `renameat2` that returns an errno; the standard library has none."""
    import ctypes  # noqa: PLC0415 - slow to import, and seldom used

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return lambda *_: ENOSYS
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def renamed(folder: int, old: bytes, to_folder: int, new: bytes) -> int:
        done = rename(folder, old, to_folder, new, _NO_REPLACE) == 0
        return 0 if done else ctypes.get_errno()

    return renamed
