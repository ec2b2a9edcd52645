"""Bytes → a file of an open folder that is whole at every moment."""

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
    """Give a file that a person named another content; OSError or ValueError leave it as it was.

    A link stays one. The file is as open to others as it was.
    """
    path = real_path(path)
    name = path.rpartition("/")[2]
    folder = os.open(as_bytes(folder_of(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        old = os.stat(as_bytes(name), dir_fd=folder, follow_symlinks=False)
        if not S_ISREG(old.st_mode):
            raise ValueError("it is no regular file")
        if not os.access(as_bytes(name), os.W_OK, dir_fd=folder, effective_ids=True):
            raise PermissionError  # replacing it would go round what it forbids
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
    """Put a file of this user in the place of the old one; OSError leaves that as it was.

    A lasting one is whole also after the power failed. `mode` and `like`: see `write_beside`.
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
    """Make a new file, whole at every moment; FileExistsError if something has that name.

    Any OSError leaves everything as it was. It lasts also if the power fails.
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
    """Write a file beside the one that it is to replace, and give its name; OSError leaves none.

    It is as open to others as the one that it is like, else as `mode` and the user allow.
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
    """A name that nothing has, beside another one."""
    return f"{name}.{os.urandom(8).hex()}"


def rename(folder: int, old: str, new: str) -> None:
    """Give a file another name; whatever had that is gone."""
    os.rename(as_bytes(old), as_bytes(new), src_dir_fd=folder, dst_dir_fd=folder)


def move_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Move a file in one step; FileExistsError if the name is taken, and nothing is changed."""
    old, new = as_bytes(name), as_bytes(to_name)
    wrong = _rename_new()(folder, old, to_folder, new)
    if wrong == 0:
        return
    if wrong not in {EINVAL, ENOSYS}:
        raise OSError(wrong, os.strerror(wrong))
    # This file system cannot do it in one step: for a moment the file has both names.
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=folder)


def remove(folder: int, name: str) -> None:
    """Remove a file, if it is there; OSError if that cannot be done."""
    with suppress(FileNotFoundError):
        os.unlink(as_bytes(name), dir_fd=folder)


def clear_away(folder: int, name: str) -> None:
    """Remove a file that nobody looks at any more, if that can be done."""
    with suppress(OSError):
        remove(folder, name)


def _make_like(file: int, like: os.stat_result) -> None:
    rights = 0o777
    try:
        os.fchown(file, like.st_uid, like.st_gid)
    except PermissionError:
        rights = 0o707  # its group is another one now
    os.fchmod(file, like.st_mode & rights)


@cache
def _rename_new() -> Callable[[int, bytes, int, bytes], int]:
    """`renameat2`, which the standard library does not have; it gives the number of an error."""
    import ctypes  # noqa: PLC0415 - few who write need it, and it takes long to load

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return lambda *_: ENOSYS
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def renamed(folder: int, old: bytes, to_folder: int, new: bytes) -> int:
        done = rename(folder, old, to_folder, new, _NO_REPLACE) == 0
        return 0 if done else ctypes.get_errno()

    return renamed
