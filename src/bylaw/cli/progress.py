"""Show progress of long work in one line on a terminal, which disappears at the end."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 0.5  # work that is faster shows no progress
_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text on standard error. An empty text removes the line.

    It may be called from any thread. It does nothing if standard error is not a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    line = _Line()
    try:
        yield line.show
    finally:
        line.end()


class _Line:
    """The newest text. It appears after `PATIENCE_S`, even if no new text comes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._words = ""
        self._shown = ""
        self._is_due = False
        self._timer = Timer(PATIENCE_S, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def show(self, words: str) -> None:
        with self._lock:
            self._words = words
            self._update()

    def end(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._words = ""
            self._update()
            self._is_due = False

    def _begin(self) -> None:
        with self._lock:
            self._is_due = True
            self._update()

    def _update(self) -> None:
        if self._is_due and self._words != self._shown:
            self._shown = self._words
            sys.stderr.write(f"{_CLEAR_LINE}{self._words} …" if self._words else _CLEAR_LINE)
            sys.stderr.flush()
