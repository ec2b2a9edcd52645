"""The four folders of a bus, open.

They are opened once and then used by their descriptors, so that no process can replace them with a
link. Their permissions follow the umask of the user, because agents share them.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.beneath import beneath
from bylaw.runtime.paths import as_bytes, as_text
from bylaw.runtime.reading import in_plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from bylaw.runtime.beneath import Place

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
            raise self._unusable(_why(wrong)) from None
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
        with self.told_plainly():
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
    def told_plainly(self) -> Iterator[None]:
        """Turn errors of the system into BylawError."""
        try:
            yield
        except OSError as wrong:
            raise self._unusable(in_plain_words(wrong)) from wrong

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
        with beneath(self.root, self.path, new=True) as place:
            self.path = place.path
            top = self._made(place)
        self._folders = {name: self._make(top, name) for name in FOLDERS}
        self._check()

    def _made(self, place: Place) -> int:
        folder = place.folder
        for part in (*place.missing, place.name):
            folder = self._make(folder, part)
        return folder

    def _make(self, folder: int, name: str) -> int:
        with suppress(FileExistsError):
            os.mkdir(as_bytes(name), dir_fd=folder)
        return self._enter(folder, name)

    def _enter(self, folder: int, name: str) -> int:
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
        with beneath(self.root, f"{self.path}/{name}") as place:
            found = os.stat(as_bytes(place.name), dir_fd=place.folder, follow_symlinks=False)
        return os.path.samestat(found, os.fstat(self._folders[name]))

    def _unusable(self, why: str) -> BylawError:
        return BylawError(f"cannot use the bus `{visible(self.path)}`: {why}")


def _why(wrong: OSError | ValueError) -> str:
    if isinstance(wrong, NotADirectoryError):
        return "a file is in its place"
    return in_plain_words(wrong)
