"""Read a path argument as text with its name, or as a stream; `-` is standard input."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from errno import EBADF
from typing import TYPE_CHECKING, BinaryIO

from bylaw.model.errors import LoadError
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import MAX_INPUT_BYTES, decoded, read_file, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.source import SourceFile

STANDARD_INPUT = "-"


def read_source(path: str) -> SourceFile:
    """Read a file, a pipe, or standard input for `-`. LoadError if it cannot be read."""
    return _read_standard_input() if path == STANDARD_INPUT else read_file(path)


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
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
        raise LoadError([unreadable(STANDARD_INPUT, wrong, "standard input")]) from None
    return decoded("<stdin>", data)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise OSError(EBADF, "it is closed")
    return sys.stdin.buffer
