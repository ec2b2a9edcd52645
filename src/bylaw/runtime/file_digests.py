"""Paths from a root → what lies there now, as short texts that differ when it does."""

from __future__ import annotations

import os
from hashlib import file_digest, sha256
from stat import S_ISLNK, S_ISREG
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes, folder_of, lies_in, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Of a larger file, size and time of change have to do.
MAX_READ = 256 << 20


def file_digests(root: str, paths: Iterable[str]) -> dict[str, str]:
    """What lies at each path; the empty text for nothing, and for what is outside of the root."""
    top = real_path(root)
    return {path: _digest(top, f"{top}/{path}") for path in paths}


def digest_of_all(digests: Mapping[str, str]) -> str:
    """One digest of them all."""
    return sha256(as_bytes("\0".join(f"{k}\0{v}" for k, v in sorted(digests.items())))).hexdigest()


def _digest(top: str, path: str) -> str:
    if "\0" in path or not lies_in(real_path(folder_of(path)), top):
        return ""
    try:
        found = os.lstat(as_bytes(path))
        if S_ISLNK(found.st_mode):
            return f"link {sha256(os.readlink(as_bytes(path))).hexdigest()}"  # noqa: PTH115 - a Path takes no bytes
        if not S_ISREG(found.st_mode):
            return "no file"
        if found.st_size > MAX_READ:
            return f"large {found.st_size} {found.st_mtime_ns}"
        return _content(path)
    except OSError as problem:
        return "" if isinstance(problem, FileNotFoundError) else "unreadable"


def _content(path: str) -> str:
    # It may have become something else meanwhile: no link is followed, no pipe waited for.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(as_bytes(path), flags), "rb") as stream:  # noqa: PTH123 - a descriptor
        return file_digest(stream, "sha256").hexdigest()
