"""Changes of files → events under law, from the one orchestrator of a root that watches.

Only what a rule could be about becomes an event: the journal is no list of all changes.
"""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from time import monotonic
from typing import TYPE_CHECKING

from bylaw.hosts.bus.handled import Handled
from bylaw.model.errors import BylawError
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.state_folder import STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.hosts.base import Loop
    from bylaw.hosts.bus.bus_host import BusHost
    from bylaw.hosts.bus.events import Events
    from bylaw.hosts.bus.in_force import InForce
    from bylaw.hosts.bus.watcher.changes import FileChange
    from bylaw.hosts.bus.watcher.watcher import FileWatcher
    from bylaw.model.event import File

LEASE = f"{STATE}/watch.lock"
NEVER_S = 3600.0


class FileRules:
    """The watch of a root, once it is ours, and what follows from what it sees."""

    def __init__(
        self,
        root: str,
        events: Events,
        in_force: InForce,
        host: BusHost,
        loop: Loop,
        make_watcher: Callable[[], FileWatcher],
    ) -> None:
        self._root = root
        self._events = events
        self._in_force = in_force
        self._host = host
        self._loop = loop
        self._make_watcher = make_watcher
        self._watcher: FileWatcher | None = None
        self._lease = -1
        self._missed: list[FileChange] = []

    def try_to_watch(self) -> None:
        """Take over the watch if nobody has it: two of them would do everything twice."""
        if self._watcher is None and self._take_lease():
            self._watcher = self._make_watcher()
            self._missed = self._watcher.start()

    def changed(self, paths: Iterable[str]) -> None:
        """These paths may have changed."""
        if self._watcher is not None:
            self._watcher.note(paths)

    def next_due(self) -> float:
        """In how many seconds there will be something to handle."""
        if self._missed:
            return 0.0
        due = None if self._watcher is None else self._watcher.next_due()
        return NEVER_S if due is None else max(due - monotonic(), 0.0)

    def handle(self) -> Iterator[Handled]:
        """Submit every change that is due; then the watch may forget them."""
        if self._watcher is None:
            return
        changes, self._missed = [*self._missed, *self._watcher.due()], []
        for change in changes:
            event = self._events.of_change(change)
            if self._concerns_a_rule(event):
                yield self._submit(event)
        if changes:
            self._watcher.acknowledge()

    def close(self) -> None:
        """Let go of the watch."""
        if self._watcher is not None:
            self._watcher.close()
        if self._lease >= 0:
            os.close(self._lease)

    def _submit(self, event: File) -> Handled:
        self._host.written.clear()
        (answer,) = self._loop.take([event])
        if answer.problem:
            raise BylawError(answer.problem)
        return Handled.of(answer, self._host.written)

    def _concerns_a_rule(self, event: File) -> bool:
        if event.facts.outside:
            return True  # evidence says that it leads out
        found = self._in_force.rules.candidates(event)
        return any(not rule.free for group in found for rule in group.rules)

    def _take_lease(self) -> bool:
        """Whether the watch is ours; the system takes it from a dead process."""
        if self._lease < 0:
            path = as_bytes(f"{self._root}/{LEASE}")
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._lease = os.open(path, flags, 0o600)
        try:
            flock(self._lease, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        return True
