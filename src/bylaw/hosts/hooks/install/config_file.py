"""Read, replace and remove a client's configuration file below a folder.

A file is replaced completely or not at all. Links that lead out of the folder are not followed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.errors import BylawError, LoadError
from bylaw.model.visible import visible
from bylaw.runtime.beneath import beneath
from bylaw.runtime.entering import entered
from bylaw.runtime.paths import as_bytes, folder_of
from bylaw.runtime.reading import (
    MAX_INPUT_BYTES,
    decoded,
    in_plain_words,
    regular_bytes,
    unreadable,
)
from bylaw.runtime.writing import write_whole

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile
    from bylaw.runtime.beneath import Place

_IN_THE_WAY = "a file is in the place of its folder"


class ConfigFile(Struct, frozen=True):
    """A file by its `path` from a `folder` that links must not leave.

    `shown` is its path in messages.
    """

    folder: str
    path: str
    shown: str

    @property
    def location(self) -> str:
        """The absolute path."""
        return f"{self.folder.rstrip('/')}/{self.path}"

    def content(self) -> bytes | None:
        """Return the bytes of the file, or None if it does not exist.

        Raises LoadError if it cannot be read.
        """
        try:
            with beneath(self.folder, self.path, new=True) as place:
                if place.missing:
                    return None
                return regular_bytes(place.name, MAX_INPUT_BYTES, folder=place.folder, links=False)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as wrong:
            told = ValueError(_IN_THE_WAY) if isinstance(wrong, NotADirectoryError) else wrong
            raise LoadError([unreadable(self.shown, told)]) from None

    def source(self, data: bytes) -> SourceFile:
        """Decode the bytes of the file. Raises LoadError if they are not text."""
        return decoded(self.shown, data)

    def missing_folders(self) -> list[str]:
        """Return the folders to create for the file, outermost first, as paths from `folder`."""
        with suppress(OSError, ValueError), beneath(self.folder, self.path, new=True) as place:
            there = folder_of(f"/{place.path}")[1:].split("/")
            first = len(there) - len(place.missing)
            return ["/".join(there[: index + 1]) for index in range(first, len(there))]
        return []

    def write(self, data: bytes, before: bytes | None) -> None:
        """Replace the file if it still is as `before`; None means no file.

        Raises BylawError and leaves the file unchanged if it is not, or cannot be written.
        """
        try:
            with beneath(self.folder, self.path, new=True) as place:
                self._write(place, data, before)
        except (OSError, ValueError) as wrong:
            raise BylawError(f"cannot write `{visible(self.shown)}`: {_why(wrong)}") from None

    def _write(self, place: Place, data: bytes, before: bytes | None) -> None:
        with entered(place) as folder:
            old = None
            with suppress(FileNotFoundError):
                old = os.stat(as_bytes(place.name), dir_fd=folder, follow_symlinks=False)
            self._refuse_changed(folder, place.name, before)
            if old is not None and not _is_writable(place.name, folder):
                raise PermissionError  # replacing the file would bypass its permissions
            write_whole(folder, place.name, data, mode=0o666, like=old)

    def remove(self, before: bytes, folders: list[str]) -> None:
        """Remove the file if it still is as `before`, then those of `folders` that are empty.

        Raises BylawError if the file has changed or cannot be removed.
        """
        try:
            with beneath(self.folder, self.path) as place, entered(place) as folder:
                self._refuse_changed(folder, place.name, before)
                os.unlink(as_bytes(place.name), dir_fd=folder)
        except (OSError, ValueError) as wrong:
            raise BylawError(f"cannot remove `{visible(self.shown)}`: {_why(wrong)}") from None
        for one in reversed(folders):
            with suppress(OSError, ValueError), beneath(self.folder, one) as place:
                os.rmdir(as_bytes(place.name), dir_fd=place.folder)

    def _refuse_changed(self, folder: int, name: str, before: bytes | None) -> None:
        now: bytes | None = None
        with suppress(FileNotFoundError):
            now = regular_bytes(name, MAX_INPUT_BYTES, folder=folder, links=False)
        if now != before:
            raise ValueError("it changed in the meantime; run the command again")


def _is_writable(name: str, folder: int) -> bool:
    return os.access(as_bytes(name), os.W_OK, dir_fd=folder, effective_ids=True)


def _why(wrong: OSError | ValueError) -> str:
    if isinstance(wrong, FileNotFoundError):
        return "its folder does not exist"
    if isinstance(wrong, NotADirectoryError):
        return _IN_THE_WAY
    return in_plain_words(wrong)
