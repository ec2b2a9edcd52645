"""A path argument → the text behind it with its name; `-` is standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

from bylaw.model.errors import LoadError
from bylaw.runtime.reading import MAX_INPUT_BYTES, decoded, read_file, unreadable

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile

STANDARD_INPUT = "-"


def read_source(path: str) -> SourceFile:
    """Read a file, a pipe, or standard input for `-`; LoadError if that cannot be done."""
    return _read_standard_input() if path == STANDARD_INPUT else read_file(path)


def _read_standard_input() -> SourceFile:
    try:
        data = _standard_input().read(MAX_INPUT_BYTES + 1)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(STANDARD_INPUT, wrong, "standard input")]) from None
    return decoded("<stdin>", data)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("it is closed")
    return sys.stdin.buffer
