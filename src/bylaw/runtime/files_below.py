"""Files of folders, as texts: which there are, and two that are the same."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes, as_text, is_there
from bylaw.runtime.reading import regular_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEEP = 6
MAX_LISTED = 20_000  # names of a folder
MAX_COMPARED = 1 << 20


def files_in(path: str, deep: int) -> Iterator[str]:
    """A file, or all files of a folder and of those in it, so many folders deep."""
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
    """Whether a file may be run."""
    return os.access(as_bytes(path), os.X_OK)


def takes_place_of(path: str, source: str) -> bool:
    """Whether a copy of a file would change the one that is there; nobody may be able to tell."""
    if not is_there(path):
        return False
    try:
        data = regular_bytes(path, MAX_COMPARED)
        return len(data) > MAX_COMPARED or data != regular_bytes(source, MAX_COMPARED)
    except (OSError, ValueError):
        return True
