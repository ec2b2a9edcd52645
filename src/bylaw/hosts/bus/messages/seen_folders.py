"""A root and the path of a bus in it → its folders as they are, for whoever only looks."""

from __future__ import annotations

from contextlib import suppress

from bylaw.hosts.bus.messages.folders import FOLDERS, INPUT, BusFolders
from bylaw.runtime.beneath import beneath


class SeenFolders(BusFolders):
    """Nothing is made, and a folder that is missing is empty; BylawError if it cannot be read."""

    @property
    def exists(self) -> bool:
        """Whether this is a bus at all."""
        return bool(self.there)

    @property
    def there(self) -> frozenset[str]:
        """The folders that are there."""
        return frozenset(self._folders)

    def names(self, folder: str = INPUT) -> list[str]:
        """What lies in a folder, in order."""
        return super().names(folder) if folder in self._folders else []

    def _open(self) -> None:
        self._folders: dict[str, int] = {}
        with suppress(FileNotFoundError), beneath(self.root, self.path) as place:
            self.path = place.path
            top = self._enter(place.folder, place.name)
            for name in FOLDERS:
                with suppress(FileNotFoundError):
                    self._folders[name] = self._enter(top, name)
