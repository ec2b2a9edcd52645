"""Show texts on a terminal, each in the place of the one before."""

from __future__ import annotations

import re
import shutil
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bylaw.cli.output import write
from bylaw.model.visible import width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_FROM_TOP, _END_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"
_PAINT = re.compile("\x1b\\[[0-9;]*m")
_TERMINATED = 128 + signal.SIGTERM


@contextmanager
def live_screen() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text. At the end, the last text stays on the terminal."""
    last = ""

    def show(text: str) -> None:
        nonlocal last
        last = text
        write(_FROM_TOP + "".join(f"{line}{_END_OF_LINE}\n" for line in _fitting(text)) + _REST)

    before = signal.signal(signal.SIGTERM, _end)
    write(_OPEN)
    try:
        yield show
    finally:
        write(_CLOSE + last)
        signal.signal(signal.SIGTERM, before)


def _end(_number: int, _frame: FrameType | None) -> None:
    """Exit with an exception, so that the terminal is restored."""
    raise SystemExit(_TERMINATED)


def _fitting(text: str) -> list[str]:
    """Return the lines that fit on the screen. One line is left for the cursor."""
    size = shutil.get_terminal_size()
    lines, left = text.splitlines(), size.lines - 1
    for number, line in enumerate(lines):
        left -= max(1, -(-width(_PAINT.sub("", line)) // size.columns))
        if left < 0:
            more = len(lines) - number + 1
            return [*lines[: max(number - 1, 0)], f"… and {more:,} more lines"]
    return lines
