"""Derive the file changes of a root from reports about paths, batch by batch.

It starts no thread and does not wait. The caller passes on what `wake.py` reports:

    changes = watcher.start()         # changes while no process was watching
    watcher.note(paths)               # something happened at these paths
    changes = watcher.due()           # changes at paths that have been quiet long enough
    watcher.take(change, seq)         # handle this change now; it is `left` after a crash
    watcher.acknowledge()             # the changes are handled, do not report them again
    watcher.next_due()                # the latest time for the next call of `due`
    watcher.take_plan()               # the folders that `wake.py` must watch, if they changed

A process that ends before it acknowledges gets the same changes at its next start. From time to
time everything is compared, to find changes that the system did not report.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from bylaw.hosts.bus.watcher.actor import ActorHints
from bylaw.hosts.bus.watcher.changes import FileChange, derive
from bylaw.hosts.bus.watcher.plan import Plan, plan
from bylaw.hosts.bus.watcher.scan import Scanner
from bylaw.hosts.bus.watcher.snapshot import EntryKind, Snapshot, with_ancestors
from bylaw.hosts.bus.watcher.store import SnapshotStore
from bylaw.hosts.bus.watcher.window import Window
from bylaw.model.errors import BylawError
from bylaw.model.fact_paths import fact_path
from bylaw.runtime.paths import name_from, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bylaw.hosts.bus.watcher.scan import Sight
    from bylaw.hosts.bus.watcher.snapshot import Entry

MAX_FILES = 1_000_000
# Everything is compared this long after a change, and at this interval without changes.
SETTLED_S = 2.0
AT_REST_S = 60.0
# Full comparisons take at most this share of the time.
_SWEEP_SHARE = 0.02
MAX_TOLD = 1_000  # problems that are remembered so that each is noted once


class FileWatcher:
    """Report what happens to the files below a root, except at the paths `excluded`.

    `outside` lists new links that lead out of the root, `notes` lists messages for a person. The
    caller empties both lists when it reads them.
    """

    def __init__(
        self,
        root: str,
        excluded: Iterable[str],
        store_path: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        own = SnapshotStore.files(store_path)
        self._scanner = Scanner(root, _really_excluded(root, excluded, own))
        self._clock = clock
        self._store = SnapshotStore(store_path)
        self._known = Snapshot()
        self._window = Window()
        self._actors = ActorHints(self._scanner.root, clock)
        self._unsaved: dict[str, Entry | None] = {}
        self._by_name: dict[str, str] | None = None  # paths in `_unsaved` by their reported names
        self._is_handling = False
        self.left: tuple[FileChange, int] | None = None
        self._plan: Plan | None = None
        self._replan = True
        self._swept_at = self._sweep_at = 0.0
        self._sweep_cost = 0.0
        self._told: set[str] = set()
        self.outside: list[str] = []
        self.notes: list[str] = []

    def start(self) -> list[FileChange]:
        """Return what changed while no process watched; nothing at the first start. Sets `left`."""
        self.left = self._store.handled()
        loaded = self._store.load()
        self._tell([self._store.note] if self._store.note else [])
        if loaded is None:
            self._begin()
            changes: list[FileChange] = []
        else:
            changes = self._go_on(*loaded)
        if self._known.count > MAX_FILES:
            raise BylawError(
                f"there are {self._known.count:,} files to watch, but the limit is {MAX_FILES:,}: "
                "exclude folders"
            )
        return changes

    def note(self, paths: Iterable[str]) -> None:
        """Note that something happened at or below these absolute paths."""
        root = self._scanner.root
        inside = {name_from(root, path) for path in paths if path != root}
        inside = {path for path in inside if path and not self._scanner.is_excluded(path)}
        if not inside:
            return
        now = self._clock()
        self._window.note(inside, now)
        self._sweep_at = min(self._sweep_at, self._next_sweep(now + SETTLED_S))

    def note_everything(self) -> None:
        """Note that something may have happened anywhere, so that everything is compared."""
        self._sweep_at = min(self._sweep_at, self._next_sweep(self._clock()))

    def due(self) -> list[FileChange]:
        """Return the changes at paths that have been quiet long enough, sorted by path."""
        now = self._clock()
        if now >= self._sweep_at:
            self._sweep()
        due = self._window.due(now)
        return self._changes(due) if due else []

    def next_due(self) -> float:
        """The time when `due` must be called next, if nothing more is noted."""
        waiting = self._window.next_due()
        return self._sweep_at if waiting is None else min(waiting, self._sweep_at)

    def acknowledge(self) -> None:
        """Save all reported changes as handled, so that the next start does not repeat them."""
        if not self._unsaved and not self._is_handling:
            return
        try:
            self._store.save(self._unsaved, self._known, self._scanner.excluded)
        except BylawError as wrong:  # the next start reports these changes again
            self._tell([str(wrong)])
            return
        self._tell([self._store.note] if self._store.note else [])
        self._unsaved.clear()
        self._is_handling = False

    def take(self, change: FileChange, after_seq: int) -> None:
        """Save that a change is handled next. After a crash, the next start has it as `left`.

        Raises BylawError if it cannot be saved.
        """
        if self._by_name is None:
            self._by_name = {fact_path(path): path for path in self._unsaved}
        paths = [self._by_name.get(name, "") for name in (change.path, change.old_path)]
        taken = {path: self._unsaved[path] for path in paths if path in self._unsaved}
        self._store.save(taken, self._known, self._scanner.excluded, (change, after_seq))
        self._is_handling = True
        for path in taken:
            del self._unsaved[path]

    def take_plan(self) -> Plan | None:
        """Return a new plan if the watch must be set up again, else None."""
        if not self._replan:
            return None
        self._replan = False
        self._plan = plan(self._known.top, self._scanner.excluded)
        return self._plan

    def close(self) -> None:
        """Close the snapshot on disk. The next start reports changes that are not acknowledged."""
        self._store.close()

    def _begin(self) -> None:
        sight = self._scanner.look([""], self._known)
        self._tell(sight.problems)
        self._apply(sight, sight.after.keys())
        self._store.replace(self._known, self._scanner.excluded)
        self._unsaved.clear()
        self._rest()

    def _go_on(self, known: Snapshot, was_excluded: frozenset[str]) -> list[FileChange]:
        self._known = known
        excluded = self._scanner.excluded
        if excluded != was_excluded:
            self._adopt(was_excluded)
        changes = self._changes({""})
        self._rest()
        return changes

    def _adopt(self, was_excluded: frozenset[str]) -> None:
        """Adapt the snapshot to other excluded paths, without reporting any changes."""
        excluded = self._scanner.excluded
        for path in [p for p, _ in self._known.top.entries() if self._scanner.is_excluded(p)]:
            self._known.set(path, None)
        for path in excluded:
            self._known.forget_folder(path)
        sight = self._scanner.look(was_excluded - excluded, self._known)
        self._apply(sight, sight.before.keys() | sight.after.keys())
        self._store.replace(self._known, excluded)
        self._unsaved.clear()

    def _changes(self, due: set[str]) -> list[FileChange]:
        # Include waiting paths: a move from or to a path that is not due yet is one change.
        sight = self._scanner.look(due | self._window.waiting(), self._known)
        self._tell(sight.problems)
        changes = derive(_watched(sight.before), _watched(sight.after))
        differing = sight.before.keys() | sight.after.keys()
        taken = {p for p in differing if any(part in due for part in with_ancestors(p))}
        kept = _touching(changes, taken)
        if self._plan and any(map(self._plan.names, due)):
            self._replan = True
        self._apply(sight, taken)
        return self._finished(kept)

    def _apply(self, sight: Sight, paths: Iterable[str]) -> None:
        """Update the snapshot at these paths."""
        leads_on = {EntryKind.FOLDER_LINK, EntryKind.OUTSIDE}
        self._by_name = None
        for path in sorted(paths):
            entry = sight.after.get(path)
            self._known.set(path, entry)
            self._unsaved[path] = entry
            if entry is not None and entry.kind in leads_on:
                self._replan_for_link(path, entry)
        for path in reversed(sight.gone):
            self._known.forget_folder(path)
        if sight.folders_differ and self._plan:
            self._replan |= plan(self._known.top, self._scanner.excluded) != self._plan
        if self._known.count > MAX_FILES:
            self._tell([f"more than {MAX_FILES:,} files are watched: exclude folders"])

    def _replan_for_link(self, path: str, entry: Entry) -> None:
        self._replan = True
        if entry.kind is EntryKind.OUTSIDE:
            self.outside.append(fact_path(path))

    def _finished(self, changes: list[FileChange]) -> list[FileChange]:
        """Convert paths to text and add a guess who made each change."""
        actors = self._actors.guess(change.path for change in changes)
        return [
            FileChange(c.change, fact_path(c.path), fact_path(c.old_path), actors[c.path])
            for c in changes
        ]

    def _sweep(self) -> None:
        """Compare everything. Paths that differ wait like noted paths."""
        begun = self._clock()
        sight = self._scanner.look([""], self._known)
        self._tell(sight.problems)
        differing = sight.before.keys() | sight.after.keys()
        self._window.note(differing - self._window.waiting(), begun)
        self._window.note(set(sight.gone) - self._window.waiting(), begun)
        if sight.folders_differ and self._plan:
            self._replan |= plan(self._known.top, self._scanner.excluded) != self._plan
        self._sweep_cost = self._clock() - begun
        self._rest()

    def _rest(self) -> None:
        self._swept_at = self._clock()
        self._sweep_at = self._next_sweep(self._swept_at + AT_REST_S)

    def _next_sweep(self, wanted: float) -> float:
        return max(wanted, self._swept_at + self._sweep_cost / _SWEEP_SHARE)

    def _tell(self, texts: Iterable[str]) -> None:
        for text in texts:
            if text not in self._told and len(self._told) < MAX_TOLD:
                self._told.add(text)
                self.notes.append(text)


def _really_excluded(root: str, excluded: Iterable[str], own: Iterable[str]) -> set[str]:
    """The excluded paths, the same with links resolved, and the files of the snapshot."""
    top = real_path(root)
    paths = {path.strip("/") for path in excluded}
    locations = [*(f"{top}/{path}" for path in paths), *own]
    return (paths | {name_from(top, real_path(location)) for location in locations}) - {""}


def _watched(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Remove links that lead out of the root: they are reported, but are not files of the root."""
    return {path: entry for path, entry in entries.items() if entry.kind is not EntryKind.OUTSIDE}


def _touching(changes: list[FileChange], taken: set[str]) -> list[FileChange]:
    """The changes at `taken`, and those that renames connect with them. Extends `taken`."""
    at = defaultdict(list)
    for change in changes:
        for path in {change.path, change.old_path} - {""}:
            at[path].append(change)
    todo, kept = list(taken), set()
    while todo:
        for change in at.pop(todo.pop(), ()):
            kept.add(change.path)
            for path in {change.path, change.old_path} - {""}:
                taken.add(path)
                todo.append(path)
    return [change for change in changes if change.path in kept]
