"""Receive file events of the system: paths at which something happened, or `everything`.

`watchfiles` only signals that there is something to compare. It does not report lost events, it
follows links, and it stops working after one name that is not UTF-8. So it watches only folders
without links (`plan.py`). After a failure everything is compared and the watch is set up again.
"""

from __future__ import annotations

import os
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.model.errors import BylawError
from bylaw.model.visible import clipped, visible
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.hosts.bus.watcher.plan import Plan

# How long `watchfiles` collects events, in milliseconds. The longer merging is in `window.py`.
STEP_MS, DEBOUNCE_MS = 10, 20
POLL_MS = 300
# The pause before a failed watch is set up again; it doubles with each failure.
AGAIN_S, MAX_AGAIN_S = 0.1, 5.0
# How long to wait for the new watch before the old one ends.
PATIENCE_S = 30.0
MAX_SHOWN = 300
_POLLING = "WATCHFILES_FORCE_POLLING"


class News(Struct, frozen=True):
    """Absolute paths at which something happened; `everything` if it may have been anywhere.

    `note` is a message for a person.
    """

    paths: tuple[str, ...] = ()
    everything: bool = False
    note: str = ""


class Wake:
    """Watch folders below a root in its own threads, and call `hear` from them."""

    def __init__(self, root: str, hear: Callable[[News], None]) -> None:
        self._root = root
        self._hear = hear
        self._backend = _backend()
        self._ears: list[_Ear] = []

    def watch(self, plan: Plan) -> None:
        """Watch the folders of this plan from now on.

        The old watch ends after the new one has begun. The new one then reports `everything`, so
        that changes in between are found.
        """
        old = self._ears
        wanted = ((plan.flat, False), (plan.deep, True))
        self._ears = [
            _Ear(self._backend, self._absolute(paths), self._hear, deep=deep)
            for paths, deep in wanted
            if paths
        ]
        for ear in self._ears:
            ear.start()
        for ear in self._ears:
            ear.begun.wait(PATIENCE_S)
        _end(old)

    def close(self) -> None:
        """Stop watching."""
        _end(self._ears)
        self._ears = []

    def _absolute(self, paths: Iterable[str]) -> list[str]:
        return [f"{self._root}/{path}" if path else self._root for path in sorted(paths)]


class _Ear(threading.Thread):
    """One watch. It is set up again after each failure."""

    def __init__(
        self, backend: Any, paths: list[str], hear: Callable[[News], None], *, deep: bool
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
                self._listen()
            except (OSError, RuntimeError) as wrong:
                self._hear(News(everything=True, note=_failed(wrong)))
            self.begun.set()
            pause = (
                AGAIN_S if time.monotonic() > begun + MAX_AGAIN_S else min(pause * 2, MAX_AGAIN_S)
            )
            self.ending.wait(pause)

    def _listen(self) -> None:
        """Report changes until this ends. Raises an error if the watch fails."""
        there = self._there()
        with self._backend(there, False, _is_polling(), POLL_MS, self._deep, False) as watch:
            self.begun.set()
            self._hear(News(everything=True))
            is_same = self._there() == there
            while is_same and not self.ending.is_set():
                # No timeout: events that arrive as it expires would be lost.
                found = watch.watch(DEBOUNCE_MS, STEP_MS, 0, self.ending)
                if isinstance(found, set):
                    paths = {path for _, path in found}
                    self._hear(News(tuple(paths)))
                    # A watched folder that was created again is not watched yet.
                    is_same = paths.isdisjoint(self._paths)

    def _there(self) -> list[str]:
        return [path for path in self._paths if os.path.isdir(as_bytes(path))]  # noqa: PTH112


def _end(ears: Iterable[_Ear]) -> None:
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


def _failed(wrong: Exception) -> str:
    why = visible(clipped(str(wrong), MAX_SHOWN))
    help_ = ""
    if "os error 28" in why or "No space left" in why or "limit" in why.lower():
        help_ = "; raise `fs.inotify.max_user_watches`, or exclude folders"
    return f"watching files failed and is restarted; until then, files are compared: {why}{help_}"
