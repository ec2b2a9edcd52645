"""The folders of a bus for reading only."""

from __future__ import annotations

from contextlib import suppress

from bylaw.hosts.bus.messages.folders import FOLDERS, INPUT, BusFolders
from bylaw.runtime.beneath import beneath


class SeenFolders(BusFolders):
    """Like `BusFolders`, but creates nothing. A missing folder is empty.

    Raises BylawError if a folder cannot be read.
    """

    @property
    def exists(self) -> bool:
        """Whether the bus has any of its folders."""
        return bool(self.there)

    @property
    def there(self) -> frozenset[str]:
        """The names of the existing folders."""
        return frozenset(self._folders)

    def names(self, folder: str = INPUT) -> list[str]:
        """The names in a folder, sorted."""
        return super().names(folder) if folder in self._folders else []

    def _open(self) -> None:
        self._folders: dict[str, int] = {}
        with suppress(FileNotFoundError), beneath(self.root, self.path) as place:
            self.path = place.path
            top = self._enter(place.folder, place.name)
            for name in FOLDERS:
                with suppress(FileNotFoundError):
                    self._folders[name] = self._enter(top, name)
