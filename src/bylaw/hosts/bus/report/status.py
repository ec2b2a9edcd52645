"""Read the status of a bus repeatedly. Creates and changes nothing."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

from bylaw.hosts.bus.in_force import law_settings
from bylaw.hosts.bus.intake import is_complete
from bylaw.hosts.bus.ledger.ledger import Ledger
from bylaw.hosts.bus.messages.message_file import NotYet, Ready, look
from bylaw.hosts.bus.messages.seen_folders import SeenFolders
from bylaw.hosts.bus.report.glance import Glance
from bylaw.hosts.bus.report.refusals import Refusals
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.paths import as_bytes, is_folder
from bylaw.runtime.shared_files import SharedFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.bus.messages.message_file import Ignored
    from bylaw.tools.bus_report import BusReport


class BusStatus:
    """Read the bus of one root again and again. `limit` is the length of each list."""

    def __init__(self, root: str, limit: int) -> None:
        if not is_folder(root):
            raise BylawError(f"folder `{visible(root)}` does not exist")
        self.root = root
        self.limit = limit
        self.law = law_settings(root)
        self.files = SharedFiles(root, self.law.bus)
        self.refusals = Refusals()
        self._looked: dict[str, tuple[tuple[int, ...], Ready]] = {}

    def read(self) -> BusReport:
        """Report the present state. Raises BylawError if the bus or its ledger cannot be read."""
        with SeenFolders(self.root, self.law.bus) as bus:
            opened = Ledger.to_read(self.root) if bus.exists else None
            with nullcontext() if opened is None else closing(opened):
                return Glance(self, bus, opened).report()

    def look(self, bus: SeenFolders, name: str) -> Ready | NotYet | Ignored | None:
        """Read a file of `input`, from the cache if it has not changed; None if it is gone."""
        try:
            found = os.stat(as_bytes(name), dir_fd=bus.input, follow_symlinks=False)
        except OSError:
            return None
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        kept = self._looked.get(name)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        looked = look(bus, name, is_complete)
        if isinstance(looked, Ready):
            self._looked[name] = (stamp, looked)
        return looked

    def forget_others(self, names: Sequence[str]) -> None:
        """Remove all other files from the cache."""
        there = set(names)
        self._looked = {name: one for name, one in self._looked.items() if name in there}
