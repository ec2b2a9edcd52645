"""A watcher with a clock of its own, and one that is really woken."""

import queue
import time
from contextlib import suppress

from bylaw.hosts.bus.watcher.folder_watch import FolderWatch
from bylaw.hosts.bus.watcher.watcher import FileWatcher

EXCLUDED = ("runtime/bus", "runtime/locks", ".bylaw/state", ".git")
STORE = ".bylaw/state/watch.db"
MARK = "mark"


class Told:
    """A watcher that is told what happens, at a time that the test sets."""

    def __init__(self, root, excluded=EXCLUDED):
        self.root = root
        self.now = 1000.0
        self.watcher = FileWatcher(str(root), excluded, str(root / STORE), lambda: self.now)

    def __enter__(self):
        self.at_start = brief(self.watcher.start())
        self.watcher.acknowledge()
        return self

    def __exit__(self, *_):
        self.watcher.close()

    def note(self, *paths):
        self.watcher.note(f"{self.root}/{path}" for path in paths)

    def later(self, seconds=0.1):
        self.now += seconds
        return brief(self.watcher.due())

    def after(self, *paths):
        """What happened, if the system names these paths."""
        self.note(*paths)
        return self.later()


class Woken:
    """A watcher that is woken by the system."""

    def __init__(self, root):
        self.mark = root / MARK
        self.mark.write_text("x")
        self.watcher = FileWatcher(str(root), EXCLUDED, str(root / STORE))
        self.news = queue.SimpleQueue()
        self.wake = FolderWatch(str(root), self.news.put)
        self.notes = []
        self.changes = []

    def __enter__(self):
        self.watcher.start()
        self.until(lambda: False, 0.3)
        self.changes.clear()
        return self

    def __exit__(self, *_):
        self.wake.close()
        self.watcher.close()

    def until(self, is_enough, seconds=300.0):
        """Run until the changes are enough; whether they were in time."""
        deadline = time.monotonic() + seconds
        while not is_enough():
            if time.monotonic() > deadline:
                return False
            self.step(deadline)
        return True

    def step(self, deadline):
        if plan := self.watcher.pop_plan():
            self.wake.watch(plan)
        until = min(deadline, self.watcher.next_due())
        with suppress(queue.Empty):
            self.hear(self.news.get(timeout=max(0.0, until - time.monotonic())))
        self.changes += self.watcher.due()
        self.watcher.acknowledge()

    def hear(self, news):
        self.notes += [news.note] if news.note else []
        if news.everything:
            self.watcher.note_everything()
        self.watcher.note(news.paths)

    def quiet(self, seconds=0.4, *, marked=True):
        """What was told since the last time, when nothing more comes.

        First a change of a file of its own must arrive, so that a busy machine has time for all.
        """
        if marked:
            self.mark.write_text(f"{self.mark.read_text()}x")
            assert self.until(lambda: any(change.path == MARK for change in self.changes))
        self.until(lambda: False, seconds)
        told, self.changes = brief(self.changes), []
        return [change for change in told if change[-1] != MARK]


def brief(changes):
    return [
        (str(c.change), c.old_path, c.path) if c.old_path else (str(c.change), c.path)
        for c in changes
    ]


def write(root, path, text="x"):
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
