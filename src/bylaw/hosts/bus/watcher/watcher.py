"""A root, and news of paths below it → changes of files, taken over one batch after the other.

It starts no thread and waits for nothing. Whoever runs it hands over what `wake.py` hears:

    changes = watcher.start()         # what changed while nobody watched
    watcher.note(paths)               # something happened there
    changes = watcher.due()           # what has been quiet for long enough
    watcher.take(change, seq)         # it is handled now; `left`, if nothing follows that
    watcher.acknowledge()             # these changes are taken over, and never told again
    watcher.next_due()                # when to ask again at the latest
    watcher.take_plan()               # what `wake.py` is to watch, if that is new

A process that ends before it has acknowledged finds the same changes at its next start. Now and
then everything is compared, so that what the system forgot to tell is found, too.
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
# Everything is compared when it was quiet for a while after news, and once in a while without.
SETTLED_S = 2.0
AT_REST_S = 60.0
# Comparing takes no more than this share of the time.
_SWEEP_SHARE = 0.02
MAX_TOLD = 1_000  # problems that are kept so that each is told once


class FileWatcher:
    """Finds out what happens to the files below a root; `excluded` are paths from there.

    `outside` are links that lead out of the root, each once, and `notes` what a person should
    know, each once; whoever reads them empties the lists.
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
        self._by_name: dict[str, str] | None = None  # what is unsaved, as it is told
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
        """What changed while nobody watched, nothing at the very first start; sets `left`."""
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
                f"there are {self._known.count:,} files to watch, {MAX_FILES:,} at most can be: "
                "exclude folders"
            )
        return changes

    def note(self, paths: Iterable[str]) -> None:
        """Something happened at these absolute paths, or below them."""
        root = self._scanner.root
        inside = {name_from(root, path) for path in paths if path != root}
        inside = {path for path in inside if path and not self._scanner.is_excluded(path)}
        if not inside:
            return
        now = self._clock()
        self._window.note(inside, now)
        self._sweep_at = min(self._sweep_at, self._next_sweep(now + SETTLED_S))

    def note_everything(self) -> None:
        """Something may have happened anywhere: compare everything."""
        self._sweep_at = min(self._sweep_at, self._next_sweep(self._clock()))

    def due(self) -> list[FileChange]:
        """What happened at the paths that have been quiet for long enough, in their order."""
        now = self._clock()
        if now >= self._sweep_at:
            self._sweep()
        due = self._window.due(now)
        return self._changes(due) if due else []

    def next_due(self) -> float:
        """When `due` has something to do, if nothing more is noted."""
        waiting = self._window.next_due()
        return self._sweep_at if waiting is None else min(waiting, self._sweep_at)

    def acknowledge(self) -> None:
        """All changes that were told are taken over: the next start does not tell them again."""
        if not self._unsaved and not self._is_handling:
            return
        try:
            self._store.save(self._unsaved, self._known, self._scanner.excluded)
        except BylawError as wrong:  # told again at the next start, if it stays so
            self._tell([str(wrong)])
            return
        self._tell([self._store.note] if self._store.note else [])
        self._unsaved.clear()
        self._is_handling = False

    def take(self, change: FileChange, after_seq: int) -> None:
        """A change is handled next, and at the next start is `left`; BylawError if not kept."""
        if self._by_name is None:
            self._by_name = {fact_path(path): path for path in self._unsaved}
        paths = [self._by_name.get(name, "") for name in (change.path, change.old_path)]
        taken = {path: self._unsaved[path] for path in paths if path in self._unsaved}
        self._store.save(taken, self._known, self._scanner.excluded, (change, after_seq))
        self._is_handling = True
        for path in taken:
            del self._unsaved[path]

    def take_plan(self) -> Plan | None:
        """What is to be watched, if it has to be set up anew; None if it stays as it is."""
        if not self._replan:
            return None
        self._replan = False
        self._plan = plan(self._known.top, self._scanner.excluded)
        return self._plan

    def close(self) -> None:
        """Let go of the snapshot on disk; what is not acknowledged is told at the next start."""
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
        """What is excluded now did not go, and what is not any more did not come."""
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
        # A file may have moved from or to a path that is not due yet: that is one change.
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
        """What was seen at these paths is what is known from now on."""
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
        """With names that are text, and with a guess who it was."""
        actors = self._actors.guess(change.path for change in changes)
        return [
            FileChange(c.change, fact_path(c.path), fact_path(c.old_path), actors[c.path])
            for c in changes
        ]

    def _sweep(self) -> None:
        """Compare everything; what differs waits like anything that was noted."""
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
    """The paths, where they really lie if there are links on the way, and files of our own."""
    top = real_path(root)
    paths = {path.strip("/") for path in excluded}
    locations = [*(f"{top}/{path}" for path in paths), *own]
    return (paths | {name_from(top, real_path(location)) for location in locations}) - {""}


def _watched(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Without links that lead out of the root: they are told of, but are no files of it."""
    return {path: entry for path, entry in entries.items() if entry.kind is not EntryKind.OUTSIDE}


def _touching(changes: list[FileChange], taken: set[str]) -> list[FileChange]:
    """The changes at these paths, and those that hang together with them, which are taken, too."""
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
