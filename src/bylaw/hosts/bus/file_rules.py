"""File changes → events under RULE_DSL rules, in the one orchestrator of a root that watches.

A change becomes an event only if a rule may match it: the journal does not list all changes.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from bylaw.hosts.bus.events import SESSION
from bylaw.hosts.bus.watcher.folder_watch import FolderWatch
from bylaw.hosts.bus.watcher.scan import FileChange
from bylaw.hosts.bus.watcher.snapshot_store import AlreadyWatchedError
from bylaw.hosts.bus.watcher.watcher import FileWatcher
from bylaw.model.event import File
from bylaw.model.vocabulary import Change, Kind
from bylaw.store.journal.records import records_since
from bylaw.store.state_folder import STATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.hosts.bus.active_rules import ActiveRules
    from bylaw.hosts.bus.events import Events
    from bylaw.hosts.bus.handle_message import JournalSubmitter, MessageOutcome
    from bylaw.hosts.bus.watcher.folder_watch import ChangeNotice
    from bylaw.store.journal.journal import Journal

SNAPSHOT_PATH = f"{STATE_FOLDER}/watch.db"
NEVER_S = 3600.0


class FileRules:
    """Watch the files of a root, if no other process does, and submit their changes."""

    def __init__(
        self,
        root: str,
        excluded: Iterable[str],
        events: Events,
        in_force: ActiveRules,
        submissions: JournalSubmitter,
        journal: Journal,
    ) -> None:
        self._root = root
        self._excluded = tuple(excluded)
        self._events = events
        self._active_rules = in_force
        self._submissions = submissions
        self._journal = journal
        self._watcher: FileWatcher | None = None
        self._folder_watch: FolderWatch | None = None
        self._missed_changes: list[FileChange] = []

    def try_to_watch(self, hear: Callable[[ChangeNotice], None]) -> None:
        """Start to watch, unless another process does: two would handle each change twice."""
        if self._watcher is not None:
            return
        try:
            watcher = FileWatcher(self._root, self._excluded, f"{self._root}/{SNAPSHOT_PATH}")
        except AlreadyWatchedError:
            return
        self._watcher, self._missed_changes = watcher, watcher.start()
        if watcher.left is not None and not self._was_recorded(*watcher.left):
            self._missed_changes.insert(0, watcher.left[0])
        self._folder_watch = FolderWatch(self._root, hear)

    def process_notices(self, news: Iterable[ChangeNotice]) -> list[str]:
        """Pass on what the watch reported. Return notes for a person."""
        if self._watcher is None or self._folder_watch is None:
            return []
        for one in news:
            self._watcher.note(one.paths)
            if one.everything:
                self._watcher.note_everything()
        plan = self._watcher.pop_plan()
        if plan is not None:
            self._folder_watch.watch(plan)
        notes, self._watcher.notes = self._watcher.notes, []
        return notes

    def next_due(self) -> float:
        """The number of seconds until there may be a change to handle."""
        if self._missed_changes:
            return 0.0
        return NEVER_S if self._watcher is None else max(self._watcher.next_due() - monotonic(), 0)

    def handle(self) -> Iterator[MessageOutcome]:
        """Submit every change that is due, then acknowledge all of them.

        If the caller stops early, the next start finds the remaining changes.
        """
        watcher = self._watcher
        if watcher is None:
            return
        changes, self._missed_changes = [*self._missed_changes, *watcher.due()], []
        outside, watcher.outside = watcher.outside, []
        for path in outside:
            link = FileChange(Change.CREATED, path)
            yield self._submissions.submit(self._events.for_change(link, outside=True))
        for change in changes:
            event = self._events.for_change(change)
            if self._matches_a_rule(event):
                # Save it before the decision: a change that may have been begun is not repeated.
                watcher.take(change, self._journal.session(SESSION).seq)
                yield self._submissions.submit(event)
        watcher.acknowledge()

    def close(self) -> None:
        """Stop watching."""
        if self._folder_watch is not None:
            self._folder_watch.close()
        if self._watcher is not None:
            self._watcher.close()

    def _was_recorded(self, change: FileChange, after_seq: int) -> bool:
        """Whether a change was decided before its process died. Recovery then handles its plan."""
        found = records_since(self._journal, SESSION, after_seq, Kind.FILE)
        events = (one.event for one in found if isinstance(one.event, File))
        return any((one.change, one.path) == (change.change, change.path) for one in events)

    def _matches_a_rule(self, event: File) -> bool:
        found = self._active_rules.rules.candidates(event)
        return any(not rule.free for group in found for rule in group.rules)
