"""Input and output of the commands: questions, JSON lines, texts, progress, live screens, files.

Also the options `--format` and `--root`, which many commands share. Progress and live screens are
shown only on a terminal. A path argument `-` is standard input.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from contextlib import contextmanager
from errno import EBADF
from threading import Lock, Timer
from typing import TYPE_CHECKING, BinaryIO

import click

from bylaw.hosts.clients.caller import require_person
from bylaw.model.display import visible_in_json, width
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.root import find_root
from bylaw.store.files import MAX_INPUT_BYTES, absolute, decode_source, read_file, unreadable_error
from bylaw.store.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import TextIO

    from bylaw.model.source import SourceFile


def confirm(question: str) -> bool:
    """Ask a yes/no question. BylawError if an input or output is not a terminal."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if any(stream is None or not stream.isatty() for stream in streams):
        raise BylawError("cannot ask for confirmation without a terminal; pass `--yes`")
    sys.stdout.flush()
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def require_terminal(what: str) -> None:
    """BylawError if a coding agent calls, or if there is no terminal."""
    require_person(what)
    if any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise BylawError(f"{what} needs a person on a terminal")


PIPE_COLUMNS = 80

text_or_json = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: machine-readable.",
)
always_json = click.option(
    "--format",
    type=click.Choice(["json"]),
    default="json",
    expose_value=False,
    help="Accepted for scripts; the output is always JSON.",
)


def emit(value: object) -> None:
    """Write one compact line of JSON. The value must be valid JSON, so numbers must be finite."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write(visible_in_json(text) + "\n")


def write(text: str) -> None:
    """Write to standard output, which `main` sets to UTF-8."""
    if sys.stdout is None:  # the parent process closed it
        raise BrokenPipeError
    sys.stdout.write(text)


def uses_color(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal and `NO_COLOR` is not set."""
    return stream is not None and stream.isatty() and "NO_COLOR" not in os.environ


def screen_columns() -> int:
    """Return the width of the terminal, or `PIPE_COLUMNS` for other outputs."""
    if sys.stdout is None or not sys.stdout.isatty():
        return PIPE_COLUMNS
    return shutil.get_terminal_size().columns


PROGRESS_DELAY_S = 0.5  # work that is faster shows no progress
_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text on standard error. An empty text removes the line.

    It may be called from any thread. It does nothing if standard error is not a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    line = _ProgressLine()
    try:
        yield line.show
    finally:
        line.end()


class _ProgressLine:
    """The newest text. It appears after `PATIENCE_S`, even if no new text comes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._words = ""
        self._shown = ""
        self._is_due = False
        self._timer = Timer(PROGRESS_DELAY_S, self._begin)
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


_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_FROM_TOP, _END_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"
_COLOR_CODE = re.compile("\x1b\\[[0-9;]*m")
_TERMINATED = 128 + signal.SIGTERM


@contextmanager
def live_screen() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text. At the end, the last text stays on the terminal."""
    last = ""

    def show(text: str) -> None:
        nonlocal last
        last = text
        write(
            _FROM_TOP
            + "".join(f"{line}{_END_OF_LINE}\n" for line in _lines_on_screen(text))
            + _REST
        )

    before = signal.signal(signal.SIGTERM, _exit_on_signal)
    write(_OPEN)
    try:
        yield show
    finally:
        write(_CLOSE + last)
        signal.signal(signal.SIGTERM, before)


def _exit_on_signal(_number: int, _frame: FrameType | None) -> None:
    """Exit with an exception, so that the terminal is restored."""
    raise SystemExit(_TERMINATED)


def _lines_on_screen(text: str) -> list[str]:
    """Return the lines that fit on the screen. One line is left for the cursor."""
    size = shutil.get_terminal_size()
    lines, left = text.splitlines(), size.lines - 1
    for number, line in enumerate(lines):
        left -= max(1, -(-width(_COLOR_CODE.sub("", line)) // size.columns))
        if left < 0:
            more = len(lines) - number + 1
            return [*lines[: max(number - 1, 0)], f"… and {more:,} more lines"]
    return lines


STANDARD_INPUT = "-"


def read_source(path: str) -> SourceFile:
    """Read a file, a pipe, or standard input for `-`. LoadError if it cannot be read."""
    return _read_standard_input() if path == STANDARD_INPUT else read_file(path)


@contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    """Open a file, a pipe or standard input to read it in pieces. OSError if that fails."""
    if path == STANDARD_INPUT:
        yield _standard_input()
        return
    with open(as_bytes(path), "rb") as stream:  # noqa: PTH123 - `Path` does not accept bytes
        yield stream


def _read_standard_input() -> SourceFile:
    try:
        data = _standard_input().read(MAX_INPUT_BYTES + 1)
    except OSError as wrong:
        raise LoadError([unreadable_error(STANDARD_INPUT, wrong, "standard input")]) from None
    return decode_source("<stdin>", data)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise OSError(EBADF, "it is closed")
    return sys.stdin.buffer


root_option = click.option(
    "--root",
    metavar="DIR",
    default="",
    help="Repository root. Default: the one around the current folder.",
)


def resolve_root(given: str) -> str:
    """Return the given root, or the one around the current folder."""
    return absolute(given) if given else find_root()
