"""Words about long work → one line on a terminal that goes away; nothing in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 0.5  # what is quicker than this needs no words
_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function that shows how far the work is, on standard error."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    line = _Line()
    try:
        yield line.show
    finally:
        line.clear()


class _Line:
    def __init__(self) -> None:
        self._since = monotonic()
        self._shown = False

    def show(self, words: str) -> None:
        if monotonic() - self._since >= PATIENCE_S:
            self._write(f"{_CLEAR_LINE}{words} …")
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            self._write(_CLEAR_LINE)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
