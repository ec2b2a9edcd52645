"""Derive the file changes of a root from reports about paths, batch by batch.

It starts no thread and does not wait. The caller calls `start`, passes reports to `note`, gets the
changes of quiet paths (LD-A34) from `due`, and confirms them with `acknowledge`. `take` saves the
change that is handled next, so that a crash does not repeat it. A process that ends before it
acknowledges gets the same changes at its next start. From time to time everything is compared, to
find changes that the system did not report.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from bylaw.hosts.bus.watcher.actor import ActorHints
from bylaw.hosts.bus.watcher.folder_watch import WatchPlan, make_plan
from bylaw.hosts.bus.watcher.scan import (
    EntryKind,
    FileChange,
    Scanner,
    Snapshot,
    derive_changes,
    with_ancestors,
)
from bylaw.hosts.bus.watcher.snapshot_store import SnapshotStore
from bylaw.model.display import fact_path
from bylaw.model.errors import BylawError
from bylaw.store.paths import real_path, relative_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bylaw.hosts.bus.watcher.scan import Entry, ScanResult

QUIET_S = 0.1
# A file that is written continuously is reported at this interval.
MAX_DELAY_S = 1.0
# With more paths than this, comparing everything is cheaper.
MAX_PATHS = 100_000


class QuietWindow:
    """The waiting paths, each with the times of its first and its latest report."""

    def __init__(self) -> None:
        self._noted: dict[str, tuple[float, float]] = {}

    def note(self, paths: Iterable[str], now: float) -> None:
        """Note that something happened at these paths."""
        noted = self._noted
        for path in paths:
            first = noted[path][0] if path in noted else now
            noted[path] = (first, now)
        if len(noted) > MAX_PATHS:
            first = min(first for first, _ in noted.values())
            noted.clear()
            noted[""] = (first, now)

    def waiting(self) -> set[str]:
        """All waiting paths."""
        return set(self._noted)

    def due(self, now: float) -> set[str]:
        """Remove and return the paths that have waited long enough."""
        found = {path for path, times in self._noted.items() if _due_at(times) <= now}
        for path in found:
            del self._noted[path]
        return found

    def next_due(self) -> float | None:
        """The time when the next path is due, if nothing more happens."""
        return min(map(_due_at, self._noted.values()), default=None)


def _due_at(times: tuple[float, float]) -> float:
    first, last = times
    return min(last + QUIET_S, first + MAX_DELAY_S)


MAX_FILES = 1_000_000
# Everything is compared this long after a change, and at this interval without changes.
SWEEP_AFTER_S = 2.0
SWEEP_EVERY_S = 60.0
# Full comparisons take at most this share of the time.
_SWEEP_SHARE = 0.02
MAX_NOTES = 1_000  # problems that are remembered so that each is noted once


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
        self._scanner = Scanner(root, _resolve_excluded(root, excluded, own))
        self._clock = clock
        self._store = SnapshotStore(store_path)
        self._known = Snapshot()
        self._window = QuietWindow()
        self._actors = ActorHints(self._scanner.root, clock)
        self._unsaved: dict[str, Entry | None] = {}
        self._by_name: dict[str, str] | None = None  # paths in `_unsaved` by their reported names
        self._is_handling = False
        self.left: tuple[FileChange, int] | None = None
        self._plan: WatchPlan | None = None
        self._replan = True
        self._swept_at = self._sweep_at = 0.0
        self._sweep_cost = 0.0
        self._noted: set[str] = set()
        self.outside: list[str] = []
        self.notes: list[str] = []

    def start(self) -> list[FileChange]:
        """Return what changed while no process watched; nothing at the first start. Sets `left`."""
        self.left = self._store.handled()
        loaded = self._store.load()
        self._add_notes([self._store.note] if self._store.note else [])
        if loaded is None:
            self._start_fresh()
            changes: list[FileChange] = []
        else:
            changes = self._resume(*loaded)
        if self._known.count > MAX_FILES:
            raise BylawError(
                f"there are {self._known.count:,} files to watch, but the limit is {MAX_FILES:,}: "
                "exclude folders"
            )
        return changes

    def note(self, paths: Iterable[str]) -> None:
        """Note that something happened at or below these absolute paths."""
        root = self._scanner.root
        inside = {relative_name(root, path) for path in paths if path != root}
        inside = {path for path in inside if path and not self._scanner.is_excluded(path)}
        if not inside:
            return
        now = self._clock()
        self._window.note(inside, now)
        self._sweep_at = min(self._sweep_at, self._next_sweep(now + SWEEP_AFTER_S))

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
            self._add_notes([str(wrong)])
            return
        self._add_notes([self._store.note] if self._store.note else [])
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

    def pop_plan(self) -> WatchPlan | None:
        """Return a new plan if the watch must be set up again, else None."""
        if not self._replan:
            return None
        self._replan = False
        self._plan = make_plan(self._known.top, self._scanner.excluded)
        return self._plan

    def close(self) -> None:
        """Close the snapshot on disk. The next start reports changes that are not acknowledged."""
        self._store.close()

    def _start_fresh(self) -> None:
        sight = self._scanner.look([""], self._known)
        self._add_notes(sight.problems)
        self._apply(sight, sight.after.keys())
        self._store.replace(self._known, self._scanner.excluded)
        self._unsaved.clear()
        self._schedule_sweep()

    def _resume(self, known: Snapshot, was_excluded: frozenset[str]) -> list[FileChange]:
        self._known = known
        excluded = self._scanner.excluded
        if excluded != was_excluded:
            self._apply_exclusions(was_excluded)
        changes = self._changes({""})
        self._schedule_sweep()
        return changes

    def _apply_exclusions(self, was_excluded: frozenset[str]) -> None:
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
        self._add_notes(sight.problems)
        changes = derive_changes(
            _without_outside_links(sight.before), _without_outside_links(sight.after)
        )
        differing = sight.before.keys() | sight.after.keys()
        taken = {p for p in differing if any(part in due for part in with_ancestors(p))}
        kept = _connected_changes(changes, taken)
        if self._plan and any(map(self._plan.names, due)):
            self._replan = True
        self._apply(sight, taken)
        return self._finish_changes(kept)

    def _apply(self, sight: ScanResult, paths: Iterable[str]) -> None:
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
            self._replan |= make_plan(self._known.top, self._scanner.excluded) != self._plan
        if self._known.count > MAX_FILES:
            self._add_notes([f"more than {MAX_FILES:,} files are watched: exclude folders"])

    def _replan_for_link(self, path: str, entry: Entry) -> None:
        self._replan = True
        if entry.kind is EntryKind.OUTSIDE:
            self.outside.append(fact_path(path))

    def _finish_changes(self, changes: list[FileChange]) -> list[FileChange]:
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
        self._add_notes(sight.problems)
        differing = sight.before.keys() | sight.after.keys()
        self._window.note(differing - self._window.waiting(), begun)
        self._window.note(set(sight.gone) - self._window.waiting(), begun)
        if sight.folders_differ and self._plan:
            self._replan |= make_plan(self._known.top, self._scanner.excluded) != self._plan
        self._sweep_cost = self._clock() - begun
        self._schedule_sweep()

    def _schedule_sweep(self) -> None:
        self._swept_at = self._clock()
        self._sweep_at = self._next_sweep(self._swept_at + SWEEP_EVERY_S)

    def _next_sweep(self, wanted: float) -> float:
        return max(wanted, self._swept_at + self._sweep_cost / _SWEEP_SHARE)

    def _add_notes(self, texts: Iterable[str]) -> None:
        for text in texts:
            if text not in self._noted and len(self._noted) < MAX_NOTES:
                self._noted.add(text)
                self.notes.append(text)


def _resolve_excluded(root: str, excluded: Iterable[str], own: Iterable[str]) -> set[str]:
    """The excluded paths, the same with links resolved, and the files of the snapshot."""
    top = real_path(root)
    paths = {path.strip("/") for path in excluded}
    locations = [*(f"{top}/{path}" for path in paths), *own]
    return (paths | {relative_name(top, real_path(location)) for location in locations}) - {""}


def _without_outside_links(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Remove links that lead out of the root: they are reported, but are not files of the root."""
    return {path: entry for path, entry in entries.items() if entry.kind is not EntryKind.OUTSIDE}


def _connected_changes(changes: list[FileChange], taken: set[str]) -> list[FileChange]:
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
