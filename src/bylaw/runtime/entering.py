"""Open or create folders inside an open folder, without following links."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.runtime.beneath import Place

# Open a folder; fail if the name is a link.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FOR_ALL = 0o777  # the umask of the user still applies


def enter(folder: int, name: str, opened: ExitStack, *, make: int | None = None) -> int:
    """Open a folder in another folder until `opened` closes; OSError if it is not a folder.

    With `make`, a missing folder is created with that mode.
    """
    if make is not None:
        with suppress(FileExistsError):
            os.mkdir(as_bytes(name), make, dir_fd=folder)
    inside = os.open(as_bytes(name), FOLDER, dir_fd=folder)
    opened.callback(os.close, inside)
    return inside


@contextmanager
def entered(place: Place) -> Iterator[int]:
    """Open the folder of a place and create missing folders; OSError if that fails."""
    with ExitStack() as opened:
        folder = place.folder
        for part in place.missing:
            folder = enter(folder, part, opened, make=FOR_ALL)
        # The descriptor in `place` was opened with O_PATH, which cannot list or sync the folder.
        yield enter(folder, ".", opened)
