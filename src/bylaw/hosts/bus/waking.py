"""Changed paths of the root → whoever waits for them; those that approve are looked at at once."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from bylaw.hosts.bus.shared_files import SHARED_CONTEXT, TOKENS
from bylaw.runtime.paths import lies_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.bus.revoking import Revocations


class Waking:
    """What the thread of the watch hands to the loop."""

    def __init__(
        self, root: str, revocations: Revocations, reload: Callable[[set[str]], None]
    ) -> None:
        self._sources = (f"{root}/{SHARED_CONTEXT}", f"{root}/{TOKENS}")
        self._revocations = revocations
        self._reload = reload
        self._batches: SimpleQueue[set[str]] = SimpleQueue()

    def take(self, paths: set[str]) -> None:
        """From the thread of the watch: a command that runs meanwhile must not wait."""
        if any(lies_in(path, source) for path in paths for source in self._sources):
            self._revocations.look()
        self._batches.put(paths)

    def wait(self, seconds: float) -> set[str]:
        """What changed, at latest after so many seconds; everything that is there is taken."""
        try:
            changed = set(self._batches.get(timeout=max(seconds, 0)))
            while True:
                changed |= self._batches.get_nowait()
        except Empty:
            pass
        self._reload(changed)
        return changed
