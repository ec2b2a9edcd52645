"""The four folders of a bus, open, and names for the files in them.

They are opened once and then used by their descriptors, so that no process can replace them with a
link. Their permissions follow the umask of the user, because agents share them. A reader gets the
folders that exist and creates none.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.store.files import os_error_text
from bylaw.store.paths import as_bytes, as_text
from bylaw.store.safe_paths import open_safe_path
from bylaw.store.system import own_process_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from bylaw.store.safe_paths import SafePath

INPUT, PROCESSING, OUTPUT, ERROR = "input", "processing", "output", "error"
FOLDERS = (INPUT, PROCESSING, OUTPUT, ERROR)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class BusFolders:
    """The open folders of a bus, created if needed. Raises BylawError if they cannot be used.

    `path` is the path of the bus from the root, with links resolved. `input` and `processing` are
    descriptors.
    """

    def __init__(self, root: str, path: str) -> None:
        self.root = root
        self.path = path
        self._opened = ExitStack()
        try:
            self._open()
        except (OSError, ValueError) as wrong:
            self.close()
            raise self._unusable(_error_text(wrong)) from None
        except BylawError:
            self.close()
            raise

    @property
    def input(self) -> int:
        """The folder of new messages."""
        return self._folders[INPUT]

    @property
    def processing(self) -> int:
        """The folder of claimed messages."""
        return self._folders[PROCESSING]

    def folder(self, name: str) -> int:
        """The descriptor of one of the folders."""
        return self._folders[name]

    def names(self, folder: str = INPUT) -> list[str]:
        """The names in a folder, sorted."""
        with self.translated_errors():
            # Listing moves the read position of a descriptor, so each call opens its own.
            own = os.open(".", _FOLDER, dir_fd=self._folders[folder])
            try:
                found = os.listdir(own)  # noqa: PTH208 - a descriptor
                return sorted(as_text(os.fsencode(name)) for name in found)
            finally:
                os.close(own)

    def shown(self, folder: str, name: str) -> str:
        """The path of a file from the root, for records and people; hidden characters escaped."""
        return visible("/".join(filter(None, (self.path, folder, name))))

    def check_place(self) -> None:
        """Raise BylawError if the path no longer leads to these folders."""
        try:
            in_place = all(self._is_in_place(name) for name in FOLDERS)
        except (OSError, ValueError):
            in_place = False
        if not in_place:
            raise self._unusable("its folders were moved, removed or replaced; restart the bus")

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Turn errors of the system into BylawError."""
        try:
            yield
        except OSError as wrong:
            raise self._unusable(os_error_text(wrong)) from wrong

    def close(self) -> None:
        """Close the folders."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> None:
        with open_safe_path(self.root, self.path, new=True) as place:
            self.path = place.path
            top = self._make_bus_folder(place)
        self._folders = {name: self._make_folder(top, name) for name in FOLDERS}
        self._check()

    def _make_bus_folder(self, place: SafePath) -> int:
        folder = place.folder
        for part in (*place.missing, place.name):
            folder = self._make_folder(folder, part)
        return folder

    def _make_folder(self, folder: int, name: str) -> int:
        with suppress(FileExistsError):
            os.mkdir(as_bytes(name), dir_fd=folder)
        return self._open_folder(folder, name)

    def _open_folder(self, folder: int, name: str) -> int:
        try:
            opened = os.open(as_bytes(name), _FOLDER, dir_fd=folder)
        except NotADirectoryError:
            raise self._unusable(f"its `{visible(name)}` is a file or a link") from None
        self._opened.callback(os.close, opened)
        return opened

    def _check(self) -> None:
        """Check that all can be written, and that files can be renamed from one to another."""
        for name, folder in self._folders.items():
            if not os.access(".", os.R_OK | os.W_OK | os.X_OK, dir_fd=folder, effective_ids=True):
                raise self._unusable(f"its `{name}` cannot be written by this user")
        if len({os.fstat(folder).st_dev for folder in self._folders.values()}) > 1:
            raise self._unusable("its folders are on different file systems")

    def _is_in_place(self, name: str) -> bool:
        with open_safe_path(self.root, f"{self.path}/{name}") as place:
            found = os.stat(as_bytes(place.name), dir_fd=place.folder, follow_symlinks=False)
        return os.path.samestat(found, os.fstat(self._folders[name]))

    def _unusable(self, why: str) -> BylawError:
        return BylawError(f"cannot use the bus `{visible(self.path)}`: {why}")


def _error_text(wrong: OSError | ValueError) -> str:
    if isinstance(wrong, NotADirectoryError):
        return "a file is in its place"
    return os_error_text(wrong)


class ReadOnlyFolders(BusFolders):
    """Like `BusFolders`, but creates nothing. A missing folder is empty.

    Raises BylawError if a folder cannot be read.
    """

    @property
    def exists(self) -> bool:
        """Whether the bus has any of its folders."""
        return bool(self.existing)

    @property
    def existing(self) -> frozenset[str]:
        """The names of the existing folders."""
        return frozenset(self._folders)

    def names(self, folder: str = INPUT) -> list[str]:
        """The names in a folder, sorted."""
        return super().names(folder) if folder in self._folders else []

    def _open(self) -> None:
        self._folders: dict[str, int] = {}
        with suppress(FileNotFoundError), open_safe_path(self.root, self.path) as place:
            self.path = place.path
            top = self._open_folder(place.folder, place.name)
            for name in FOLDERS:
                with suppress(FileNotFoundError):
                    self._folders[name] = self._open_folder(top, name)


MAX_NAME_BYTES = 255  # the limit of common file systems
MAX_ENDING_BYTES = 16
OWNER_TAG = r"[^_/.]*_[^_/.]*_\d+_\d*"  # a regular expression
_IN_CHARACTER = range(0x80, 0xC0)  # UTF-8 bytes that continue a character


def split_ending(name: str) -> tuple[str, str]:
    """Split a name into stem and ending, with its dot. A long ending is part of the stem."""
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - a name, no path
    return (stem, ending) if len(as_bytes(ending)) <= MAX_ENDING_BYTES else (name, "")


def with_tail(stem: str, tail: str) -> str:
    """Append a tail to a stem. A long stem is cut so that the name fits `MAX_NAME_BYTES`."""
    whole, room = as_bytes(stem), MAX_NAME_BYTES - len(as_bytes(tail))
    if len(whole) > room:
        while whole[room] in _IN_CHARACTER:
            room -= 1
    return as_text(whole[:room]) + tail


def owner_tag() -> str:
    """This process as part of a file name."""
    return own_process_name().replace("/", "_")


def owner_of(tag: str) -> str:
    """The process of a tag, in the form of `runtime/owner`."""
    return tag.replace("_", "/")
