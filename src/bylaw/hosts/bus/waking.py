"""Wake the main loop when something changes in the folders that the bus needs.

These few folders are watched without their subfolders: `input`, the folders of rules, and the
places where people decide. A change of an approval is checked at once, in the thread of the watch.
The tree of files has its own watch (`file_rules.py`).
"""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from bylaw.hosts.bus.watcher.plan import Plan
from bylaw.hosts.bus.watcher.snapshot import with_ancestors
from bylaw.hosts.bus.watcher.wake import News, Wake
from bylaw.runtime.paths import lies_in
from bylaw.runtime.shared_files import SHARED_CONTEXT, TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.bus.approvals.revoking import Revocations


class Waking:
    """Pass changes from the threads of the watch to the main loop. `close` ends the threads."""

    def __init__(self, root: str, folders: Iterable[str], revocations: Revocations) -> None:
        self._sources = (f"{root}/{SHARED_CONTEXT}", f"{root}/{TOKENS}")
        self._revocations = revocations
        self._news: SimpleQueue[News] = SimpleQueue()
        self._wake = Wake(root, self.hear)
        # Their parents report when one of them is created or replaced.
        flat = frozenset(path for folder in folders for path in with_ancestors(folder))
        self._wake.watch(Plan(flat=flat, deep=frozenset()))

    def hear(self, news: News) -> None:
        """Receive a change, in a thread of the watch: a revocation must end a command at once."""
        if news.everything or any(map(self._decides, news.paths)):
            self._revocations.end_if_revoked()
        self._news.put(news)

    def wake(self) -> None:
        """End a wait. Safe in a signal handler, because `SimpleQueue.put` is reentrant."""
        self._news.put(News())

    def wait(self, seconds: float) -> list[News]:
        """Wait at most `seconds` for a change. Return all changes that have arrived."""
        heard: list[News] = []
        try:
            heard.append(self._news.get(timeout=max(seconds, 0)))
            while True:
                heard.append(self._news.get_nowait())
        except Empty:
            return heard

    def close(self) -> None:
        """Stop watching."""
        self._wake.close()

    def _decides(self, path: str) -> bool:
        return any(lies_in(path, source) for source in self._sources)
