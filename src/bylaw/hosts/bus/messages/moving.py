"""A file of an open folder → the same file under a name that was free; names that fit for it."""

from __future__ import annotations

import ctypes
import os
from errno import EINVAL, ENOSYS
from functools import cache
from typing import TYPE_CHECKING

from bylaw.runtime.owner import this_process
from bylaw.runtime.paths import as_bytes, as_text

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NAME_BYTES = 255  # as the file systems have it
MAX_ENDING_BYTES = 16
OWNER_TAG = r"[^_/.]*_[^_/.]*_\d+_\d*"  # of a regular expression
_NO_REPLACE = 1  # RENAME_NOREPLACE
_IN_CHARACTER = range(0x80, 0xC0)  # bytes of UTF-8 with which no character begins


def move_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Move a file in one step; FileExistsError if the name is taken, and nothing is changed."""
    old, new = as_bytes(name), as_bytes(to_name)
    if _rename()(folder, old, to_folder, new, _NO_REPLACE) == 0:
        return
    wrong = ctypes.get_errno()
    if wrong not in {EINVAL, ENOSYS}:
        raise OSError(wrong, os.strerror(wrong))
    # This file system cannot do it in one step: for a moment the file has both names.
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=folder)


def split_ending(name: str) -> tuple[str, str]:
    """A name before its ending, and the ending with its dot; what is too long for one is none."""
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - a name, no path
    return (stem, ending) if len(as_bytes(ending)) <= MAX_ENDING_BYTES else (name, "")


def with_tail(stem: str, tail: str) -> str:
    """A name with something behind it; of a long name the end is left out before that."""
    whole, room = as_bytes(stem), MAX_NAME_BYTES - len(as_bytes(tail))
    if len(whole) > room:
        while whole[room] in _IN_CHARACTER:
            room -= 1
    return as_text(whole[:room]) + tail


def owner_tag() -> str:
    """This process as part of a file name."""
    return this_process().replace("/", "_")


def owner_of(tag: str) -> str:
    """The process of a tag, as `runtime/owner` knows it."""
    return tag.replace("_", "/")


@cache
def _rename() -> Callable[..., int]:
    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return _unknown
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return found


def _unknown(*_: object) -> int:
    ctypes.set_errno(ENOSYS)
    return -1
