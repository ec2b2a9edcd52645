"""How long it takes until a written file is told of, and what a watched file costs.

One file is written in a tree that both sides watch, ours with its snapshot, its merging and its
guess who it was, theirs with bare `watchfiles` with the same settings. They take turns. The window
that merges is taken off our time: it is meant. Then a start that compares a whole tree with the
snapshot, against a walk that only asks the system for the same.
"""

from __future__ import annotations

import os
import queue
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from table import Row
from watchfiles import watch

from bylaw.hosts.bus.watcher.folder_watch import DEBOUNCE_MS, STEP_MS, FolderWatch
from bylaw.hosts.bus.watcher.watcher import QUIET_S, FileWatcher

if TYPE_CHECKING:
    from collections.abc import Callable

AT_MOST = 1.5
WRITES = 100
FEW, MANY = 1_000, 50_000
STARTS = 3
PATIENCE_S = 10.0
_MEASURE = """
import sys
from bylaw.hosts.bus.watcher.watcher import FileWatcher
def resident():
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("VmHWM")) * 1024
before = resident()
watcher = FileWatcher(sys.argv[1], [], sys.argv[2])
watcher.start()
watcher.close()
print(resident() - before)
"""


def run() -> list[Row]:
    """All rows of the watcher."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        return [_latency(root), _start(root)]


def _tree(root: Path, files: int) -> Path:
    for number in range(files // 50):
        folder = root / f"part-{number % 20}" / f"folder-{number}"
        folder.mkdir(parents=True)
        for name in range(50):
            (folder / f"module_{name}.py").touch()
    return root


def _latency(root: Path) -> Row:
    top = _tree(root / "latency", FEW)
    ours, theirs = _Ours(top, root / "latency.db"), _Theirs(top)
    took: dict[str, list[float]] = {"ours": [], "theirs": []}
    chance = random.Random(1)
    try:
        for _ in range(WRITES):
            for name, side in (("ours", ours), ("theirs", theirs)):
                # At any moment of the step in which either of them sleeps.
                time.sleep(QUIET_S * 2 + chance.random() * STEP_MS / 1000)
                side.forget()
                took[name].append(_seconds_until_told(top, side.wait))
    finally:
        ours.close()
        theirs.close()
    inside = (
        f"median of {WRITES} writes in a tree of {FEW:,} files, from the write to the change; ours "
        f"less the {QUIET_S * 1000:.0f} ms in which changes are merged; both with steps of "
        f"{STEP_MS} ms"
    )
    mine = median(took["ours"]) - QUIET_S
    return Row("a write / watchfiles", inside, mine, median(took["theirs"]), AT_MOST, faster=False)


def _seconds_until_told(top: Path, wait: Callable[[str], None]) -> float:
    path = top / "part-3/folder-3/module_7.py"
    begun = time.perf_counter()
    with path.open("a") as stream:
        stream.write("x")
    wait("part-3/folder-3/module_7.py")
    return time.perf_counter() - begun


class _Ours:
    """The watcher as the orchestrator runs it: news, changes that are due, acknowledged."""

    def __init__(self, top: Path, store: Path) -> None:
        self._watcher = FileWatcher(str(top), [".git"], str(store))
        self._watcher.start()
        self._news: queue.SimpleQueue = queue.SimpleQueue()
        self._wake = FolderWatch(str(top), self._news.put)
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ending = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending:
            if plan := self._watcher.pop_plan():
                self._wake.watch(plan)
            try:
                until = min(self._watcher.next_due() - time.monotonic(), 0.5)
                news = self._news.get(timeout=max(0.0, until))
                if news.everything:
                    self._watcher.note_everything()
                self._watcher.note(news.paths)
            except queue.Empty:
                pass
            for change in self._watcher.due():
                self._told.put(change.path)
            self._watcher.acknowledge()

    def wait(self, path: str) -> None:
        while self._told.get(timeout=PATIENCE_S) != path:
            pass

    def forget(self) -> None:
        while not self._told.empty():
            self._told.get()

    def close(self) -> None:
        self._ending = True
        self._thread.join()
        self._wake.close()
        self._watcher.close()


class _Theirs:
    """Bare watchfiles in a thread."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        settings = {"step": STEP_MS, "debounce": DEBOUNCE_MS, "watch_filter": None}
        for changes in watch(self._top, stop_event=self._ending, **settings):
            for _, path in changes:
                self._told.put(os.path.relpath(path, self._top))

    def wait(self, path: str) -> None:
        while self._told.get(timeout=PATIENCE_S) != path:
            pass

    def forget(self) -> None:
        while not self._told.empty():
            self._told.get()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()


def _start(root: Path) -> Row:
    top, store = _tree(root / "start", MANY), root / "start.db"
    _started(top, store)
    ours = theirs = float("inf")
    for _ in range(STARTS):
        ours = min(ours, _seconds(lambda: _started(top, store)))
        theirs = min(theirs, _seconds(lambda: _walked(top)))
    command = [sys.executable, "-c", _MEASURE, str(top), str(store)]
    grown = int(subprocess.run(command, capture_output=True, check=True).stdout)
    inside = (
        f"a file of {MANY:,}: the snapshot loaded, all compared; theirs: os.walk and lstat. "
        f"A watched file takes {grown / MANY:,.0f} bytes of memory at most"
    )
    return Row("start / a bare walk", inside, ours / MANY, theirs / MANY, faster=False)


def _started(top: Path, store: Path) -> None:
    watcher = FileWatcher(str(top), [], str(store))
    try:
        assert watcher.start() == []
    finally:
        watcher.close()


def _walked(top: Path) -> None:
    for folder, _, names in os.walk(top):
        for name in names:
            os.lstat(f"{folder}/{name}")


def _seconds(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
