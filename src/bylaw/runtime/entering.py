"""An open folder, and names in it → the folders of these names, open; a link is none."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.runtime.beneath import Place

# How a folder is opened that no link may stand for.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FOR_ALL = 0o777  # as far as the user's umask goes


def enter(folder: int, name: str, opened: ExitStack, *, make: int | None = None) -> int:
    """Open a folder in another one, until `opened` ends; OSError if it is none.

    With a mode to `make` it with, it is made if it is missing.
    """
    if make is not None:
        with suppress(FileExistsError):
            os.mkdir(as_bytes(name), make, dir_fd=folder)
    inside = os.open(as_bytes(name), FOLDER, dir_fd=folder)
    opened.callback(os.close, inside)
    return inside


@contextmanager
def entered(place: Place) -> Iterator[int]:
    """The folder of a place, made if it is missing; OSError if that cannot be."""
    with ExitStack() as opened:
        folder = place.folder
        for part in place.missing:
            folder = enter(folder, part, opened, make=FOR_ALL)
        # That of a place is open for nothing but its names.
        yield enter(folder, ".", opened)
