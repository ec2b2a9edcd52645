"""Watch folders with `watchfiles`, and report where something happened.

`watchfiles` only signals that there is something to compare. It does not report lost events, it
follows links out of the root, and it stops working after one name that is not UTF-8. So a folder
is watched recursively only if there are no links to folders and no excluded folders below it.
After a failure everything is compared and the watch is set up again.
"""

from __future__ import annotations

import os
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.hosts.bus.watcher.scan import EntryKind, join_path, with_ancestors
from bylaw.model.display import clip_text, visible
from bylaw.model.errors import BylawError
from bylaw.store.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.hosts.bus.watcher.scan import Folder

# How long `watchfiles` collects events, in milliseconds. `watcher.py` merges for longer.
STEP_MS, DEBOUNCE_MS = 10, 20
POLL_MS = 300
# The pause before a failed watch is set up again; it doubles with each failure.
AGAIN_S, MAX_AGAIN_S = 0.1, 5.0
# How long to wait for the new watch before the old one ends.
PATIENCE_S = 30.0
MAX_SHOWN = 300
_POLLING = "WATCHFILES_FORCE_POLLING"


class ChangeNotice(Struct, frozen=True):
    """Absolute paths at which something happened; `everything` if it may have been anywhere.

    `note` is a message for a person.
    """

    paths: tuple[str, ...] = ()
    everything: bool = False
    note: str = ""


class FolderWatch:
    """Watch folders below a root in its own threads, and call `hear` from them."""

    def __init__(self, root: str, hear: Callable[[ChangeNotice], None]) -> None:
        self._root = root
        self._hear = hear
        self._backend = _backend()
        self._threads: list[_WatchThread] = []

    def watch(self, plan: WatchPlan) -> None:
        """Watch the folders of this plan from now on.

        The old watch ends after the new one has begun. The new one then reports `everything`, so
        that changes in between are found.
        """
        old = self._threads
        wanted = ((plan.flat, False), (plan.deep, True))
        self._threads = [
            _WatchThread(self._backend, self._absolute(paths), self._hear, deep=deep)
            for paths, deep in wanted
            if paths
        ]
        for ear in self._threads:
            ear.start()
        for ear in self._threads:
            ear.begun.wait(PATIENCE_S)
        _stop_threads(old)

    def close(self) -> None:
        """Stop watching."""
        _stop_threads(self._threads)
        self._threads = []

    def _absolute(self, paths: Iterable[str]) -> list[str]:
        return [f"{self._root}/{path}" if path else self._root for path in sorted(paths)]


class _WatchThread(threading.Thread):
    """One watch. It is set up again after each failure."""

    def __init__(
        self, backend: Any, paths: list[str], hear: Callable[[ChangeNotice], None], *, deep: bool
    ) -> None:
        super().__init__(name="bylaw-watch", daemon=True)
        self._backend = backend
        self._paths = paths
        self._hear = hear
        self._deep = deep
        self.begun = threading.Event()
        self.ending = threading.Event()

    def run(self) -> None:
        pause = AGAIN_S
        while not self.ending.is_set():
            begun = time.monotonic()
            try:
                self._watch()
            except (OSError, RuntimeError) as wrong:
                self._hear(ChangeNotice(everything=True, note=_failure_note(wrong)))
            self.begun.set()
            pause = (
                AGAIN_S if time.monotonic() > begun + MAX_AGAIN_S else min(pause * 2, MAX_AGAIN_S)
            )
            self.ending.wait(pause)

    def _watch(self) -> None:
        """Report changes until this ends. Raises an error if the watch fails."""
        there = self._existing_paths()
        with self._backend(there, False, _is_polling(), POLL_MS, self._deep, False) as watch:
            self.begun.set()
            self._hear(ChangeNotice(everything=True))
            is_same = self._existing_paths() == there
            while is_same and not self.ending.is_set():
                # No timeout: events that arrive as it expires would be lost.
                found = watch.watch(DEBOUNCE_MS, STEP_MS, 0, self.ending)
                if isinstance(found, set):
                    paths = {path for _, path in found}
                    self._hear(ChangeNotice(tuple(paths)))
                    # A watched folder that was created again is not watched yet.
                    is_same = paths.isdisjoint(self._paths)

    def _existing_paths(self) -> list[str]:
        return [path for path in self._paths if os.path.isdir(as_bytes(path))]  # noqa: PTH112


def _stop_threads(ears: Iterable[_WatchThread]) -> None:
    for ear in ears:
        ear.ending.set()
    for ear in ears:
        ear.join(PATIENCE_S)


def _backend() -> Any:
    """The class behind `watchfiles.watch`. Unlike that, it shows when watching has begun."""
    try:
        return import_module("watchfiles._rust_notify").RustNotify
    except ImportError:
        raise BylawError(
            "the package `watchfiles` is not installed: install `bylaw[watch]`"
        ) from None


def _is_polling() -> bool:
    """Whether the user chose polling, with the variable that watchfiles reads."""
    wanted = os.environ.get(_POLLING, "").lower()
    return wanted not in {"", "false", "disable", "disabled"}


def _failure_note(wrong: Exception) -> str:
    why = visible(clip_text(str(wrong), MAX_SHOWN))
    help_ = ""
    if "os error 28" in why or "No space left" in why or "limit" in why.lower():
        help_ = "; raise `fs.inotify.max_user_watches`, or exclude folders"
    return f"watching files failed and is restarted; until then, files are compared: {why}{help_}"


_FOLLOWED_LINKS = frozenset({EntryKind.FOLDER_LINK, EntryKind.OUTSIDE})


class WatchPlan(Struct, frozen=True):
    """Folders to watch by path from the root: `flat` without subfolders, `deep` recursively."""

    flat: frozenset[str]
    deep: frozenset[str]

    def names(self, path: str) -> bool:
        """Whether the plan names a folder itself."""
        return path in self.flat or path in self.deep


def make_plan(top: Folder, excluded: Iterable[str]) -> WatchPlan:
    """Plan how to watch a tree."""
    above = {part for path in excluded for part in with_ancestors(path)}
    flat: set[str] = set()
    deep: set[str] = set()
    _add(top, "", above, flat, deep)
    return WatchPlan(frozenset(flat), frozenset(deep))


def _add(folder: Folder, path: str, above: set[str], flat: set[str], deep: set[str]) -> bool:
    """Add a folder to the plan. Return whether it is watched recursively."""
    if folder.closed:
        return False
    inner = {name: join_path(path, name) for name in folder.folders}
    is_plain = path not in above and all(
        entry.kind not in _FOLLOWED_LINKS for entry in folder.files.values()
    )
    parts = [_add(folder.folders[name], below, above, flat, deep) for name, below in inner.items()]
    if is_plain and all(parts):
        deep.difference_update(inner.values())
        deep.add(path)
        return True
    flat.add(path)
    return False
