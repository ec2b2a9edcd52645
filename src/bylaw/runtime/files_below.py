"""List the files of folders, and compare a file with a copy of it."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes, as_text, is_there
from bylaw.runtime.reading import regular_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEEP = 6
MAX_LISTED = 20_000  # names read per folder
MAX_COMPARED = 1 << 20


def files_in(path: str, deep: int) -> Iterator[str]:
    """Yield a file, or the files of a folder and its subfolders, at most `deep` levels down."""
    try:
        mode = os.stat(as_bytes(path)).st_mode  # noqa: PTH116 - a Path takes no bytes
        if S_ISREG(mode):
            yield path
        elif S_ISDIR(mode) and deep:
            for name in sorted(os.listdir(as_bytes(path)))[:MAX_LISTED]:  # noqa: PTH208 - same
                yield from files_in(f"{path}/{as_text(name)}", deep - 1)
    except (OSError, ValueError):
        return


def is_program(path: str) -> bool:
    """Check whether this user may execute a file."""
    return os.access(as_bytes(path), os.X_OK)


def takes_place_of(path: str, source: str) -> bool:
    """Check whether a copy of `source` would change an existing file; true if in doubt."""
    if not is_there(path):
        return False
    try:
        data = regular_bytes(path, MAX_COMPARED)
        return len(data) > MAX_COMPARED or data != regular_bytes(source, MAX_COMPARED)
    except (OSError, ValueError):
        return True
