"""What happens in the folders that the bus lives on → whoever waits for it; approvals at once.

These are few folders, each watched for itself: `input`, where messages come, and those in which
people decide and in which rules lie. The tree of files has a watch of its own (`file_rules.py`).
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
    """Hands what its threads hear to the loop; `close` ends them."""

    def __init__(self, root: str, folders: Iterable[str], revocations: Revocations) -> None:
        self._sources = (f"{root}/{SHARED_CONTEXT}", f"{root}/{TOKENS}")
        self._revocations = revocations
        self._news: SimpleQueue[News] = SimpleQueue()
        self._wake = Wake(root, self.hear)
        # Those above them tell that one of them comes, or is another one.
        flat = frozenset(path for folder in folders for path in with_ancestors(folder))
        self._wake.watch(Plan(flat=flat, deep=frozenset()))

    def hear(self, news: News) -> None:
        """From a thread of the watch: a command that runs meanwhile must not wait."""
        if news.everything or any(map(self._decides, news.paths)):
            self._revocations.end_if_revoked()
        self._news.put(news)

    def wake(self) -> None:
        """End a wait; also in a signal handler, which the queue allows."""
        self._news.put(News())

    def wait(self, seconds: float) -> list[News]:
        """What was heard, at latest after so many seconds; everything that is there is taken."""
        heard: list[News] = []
        try:
            heard.append(self._news.get(timeout=max(seconds, 0)))
            while True:
                heard.append(self._news.get_nowait())
        except Empty:
            return heard

    def close(self) -> None:
        """Hear nothing any more."""
        self._wake.close()

    def _decides(self, path: str) -> bool:
        return any(lies_in(path, source) for source in self._sources)
