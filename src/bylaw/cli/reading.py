"""A path argument → the text behind it with its name, or a diagnostic that says why not."""

from __future__ import annotations

import sys
from typing import BinaryIO

from bylaw.model.codes.input import NOT_UTF8, TOO_LARGE, UNREADABLE_FILE
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError
from bylaw.model.source import EncodingError, SourceFile, Span

MAX_INPUT_BYTES = 5 * 1024 * 1024
STANDARD_INPUT = "-"

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PLAIN_WORDS: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file",
    NotADirectoryError: "there is no such file",
    IsADirectoryError: "it is a folder",
    PermissionError: "permission denied",
}


def read_source(path: str) -> SourceFile:
    """Read a file, a pipe, or standard input for `-`; LoadError if that cannot be done."""
    data = _read_bytes(path)
    name = "<stdin>" if path == STANDARD_INPUT else path
    if len(data) > MAX_INPUT_BYTES:
        raise LoadError([_too_large(name)])
    try:
        return SourceFile.decode(name, data)
    except EncodingError as wrong:
        raise LoadError([_not_utf8(wrong, data)]) from None


def _read_bytes(path: str) -> bytes:
    # One byte more than allowed tells "too large" without reading an endless pipe.
    try:
        if path == STANDARD_INPUT:
            return _standard_input().read(MAX_INPUT_BYTES + 1)
        # As `cli.frame` decodes arguments: UTF-8 in every locale, other bytes unchanged.
        with open(path.encode("utf-8", "surrogateescape"), "rb") as stream:  # noqa: PTH123 - a Path takes no bytes
            return stream.read(MAX_INPUT_BYTES + 1)
    except (OSError, ValueError) as wrong:
        raise LoadError([_unreadable(path, wrong)]) from None


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("it is closed")
    return sys.stdin.buffer


def _unreadable(path: str, wrong: OSError | ValueError) -> Diagnostic:
    why = _PLAIN_WORDS.get(type(wrong)) or getattr(wrong, "strerror", None) or str(wrong)
    what = "standard input" if path == STANDARD_INPUT else f"`{path}`"
    return error(UNREADABLE_FILE, f"cannot read {what}: {why}", SourceFile(path, ""), Span(0, 0))


def _too_large(name: str) -> Diagnostic:
    return error(
        TOO_LARGE,
        f"`{name}` is larger than {MAX_INPUT_BYTES:,} bytes",
        SourceFile(name, ""),
        Span(0, 0),
        help="split it, or leave out what no rule needs",
    )


def _not_utf8(wrong: EncodingError, data: bytes) -> Diagnostic:
    how = "it looks like UTF-16: " if data.startswith(_UTF16_MARKS) else ""
    return error(
        NOT_UTF8,
        f"this is not UTF-8 text: byte 0x{wrong.byte:02x}",
        wrong.source,
        wrong.span,
        note="not UTF-8 from here on",
        help=f"{how}save the file as UTF-8",
    )
