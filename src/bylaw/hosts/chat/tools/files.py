"""The files that the tools of a chat may read and change: below one folder, nowhere else.

Paths come from a model. An action that is not possible raises ToolError with the reason.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.protection import protected_by_default
from bylaw.hosts.chat.tools.text_form import Text
from bylaw.model.visible import clipped
from bylaw.runtime.beneath import beneath
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import in_plain_words, open_regular, read_at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.chat.tools.protection import Protected
    from bylaw.runtime.beneath import Place

MAX_EDITED_BYTES = 4 * 1024 * 1024
MAX_SHOWN = 200  # characters of a path, or of a line, in a message


class Spot(Struct, frozen=True):
    """Where a file is, or where it can be created.

    `asked` is the path as given, `path` the real path, and `state` the state of the file there,
    None if there is no file. `linked`: the last part of the given path is a link.
    """

    asked: str
    path: str
    state: os.stat_result | None
    linked: bool


class Files:
    """The files below a root."""

    def __init__(self, root: str, protected: Protected = protected_by_default) -> None:
        self.root = root
        self._protected = protected

    def spot(self, path: str) -> Spot:
        """Return where a file may be changed or created."""
        with cannot("write", path), beneath(self.root, path, new=True) as place:
            why = self._protected(place.path)
            if why:
                raise ValueError(why)
            return Spot(path, place.path, state_of(place), place.linked)

    def text(self, spot: Spot) -> Text:
        """Return the text of a file that will be changed. Only writable files are read."""
        with (
            cannot("change", spot.asked),
            beneath(self.root, spot.path) as place,
            open_regular(place.name, os.O_RDWR, links=False, folder=place.folder) as file,
        ):
            if spot.state is None or not is_same(os.fstat(file), spot.state):
                raise ValueError(CHANGED)
            data = read_at_most(file, MAX_EDITED_BYTES)
            if len(data) > MAX_EDITED_BYTES:
                raise ValueError(f"it is larger than {MAX_EDITED_BYTES:,} bytes")
            return Text.decode(data)


CHANGED = "it has changed in the meantime"


def state_of(place: Place) -> os.stat_result | None:
    """Return the state of a file, None if there is none. Raises an error if it is not regular."""
    if place.missing:
        return None
    try:
        state = os.stat(as_bytes(place.name), dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if S_ISDIR(state.st_mode):
        raise IsADirectoryError
    if not S_ISREG(state.st_mode):
        raise ValueError("it is not a regular file")
    return state


def is_same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Whether a file is still the same one and unchanged."""
    if one is None or other is None:
        return one is other
    return _identity(one) == _identity(other)


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


@contextmanager
def cannot(act: str, path: str) -> Iterator[None]:
    """Turn an error of the system or of a check into a ToolError: `cannot ACT PATH: why`."""
    try:
        yield
    except (OSError, ValueError) as wrong:
        raise ToolError(f"cannot {act} `{shown(path)}`: {in_plain_words(wrong)}") from None


def shown(text: str) -> str:
    """Return foreign text for a message: not too long, and valid in UTF-8."""
    return clipped(text.encode("utf-8", "backslashreplace").decode(), MAX_SHOWN)
