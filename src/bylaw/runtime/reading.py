"""Read files, with a size limit, as UTF-8 text; failures become diagnostics."""

from __future__ import annotations

import os
from contextlib import contextmanager
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from bylaw.model.codes.input import NOT_UTF8, TOO_LARGE, UNREADABLE_FILE
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError
from bylaw.model.source import EncodingError, SourceFile, Span
from bylaw.runtime.beneath import beneath
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_INPUT_BYTES = 5 * 1024 * 1024
_PIECE = 64 * 1024

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PLAIN_WORDS: dict[type[Exception], str] = {
    FileNotFoundError: "file not found",
    NotADirectoryError: "file not found",
    IsADirectoryError: "it is a folder",
    PermissionError: "permission denied",
}


def read_file(path: str, name: str = "") -> SourceFile:
    """Read a file or a pipe that a person named; LoadError if it cannot be read."""
    name = name or path
    try:
        descriptor = _open(path, os.O_RDONLY)
        try:
            data = read_at_most(descriptor, MAX_INPUT_BYTES)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(name, wrong)]) from None
    return decoded(name, data)


def read_regular_file(path: str, name: str) -> SourceFile:
    """Read a file that a search found; LoadError if it cannot be read."""
    try:
        data = regular_bytes(path, MAX_INPUT_BYTES)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(name, wrong)]) from None
    return decoded(name, data)


def read_beneath(root: str, path: str) -> SourceFile:
    """Read a file of a root; LoadError if it cannot be read or a link leads out of the root."""
    try:
        with beneath(root, path) as place:
            data = regular_bytes(place.name, MAX_INPUT_BYTES, folder=place.folder, links=False)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(path, wrong)]) from None
    return decoded(path, data)


def regular_bytes(
    path: str, at_most: int, *, links: bool = True, folder: int | None = None
) -> bytes:
    """Read at most `at_most` + 1 bytes of a regular file; raises OSError or ValueError.

    Opening a pipe or a device does not hang. Without `links`, a link raises OSError with `ELOOP`.
    With `folder`, the path is relative to that open folder.
    """
    with open_regular(path, links=links, folder=folder) as descriptor:
        return read_at_most(descriptor, at_most)


@contextmanager
def open_regular(
    path: str, flags: int = os.O_RDONLY, *, links: bool = True, folder: int | None = None
) -> Iterator[int]:
    """Open a regular file; the arguments are those of `regular_bytes`."""
    descriptor = _open(path, flags | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW), folder)
    try:
        # Check the opened file, not the name: the folder may change meanwhile.
        mode = os.fstat(descriptor).st_mode
        if S_ISDIR(mode):
            raise IsADirectoryError
        if not S_ISREG(mode):
            raise ValueError("it is not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: str, flags: int, folder: int | None = None) -> int:
    if "\0" in path:
        raise ValueError("embedded null byte")  # Python's own message depends on the function
    return os.open(as_bytes(path), flags, dir_fd=folder)


def read_at_most(descriptor: int, at_most: int) -> bytes:
    """Read an open file from its current offset, at most one byte more than `at_most`."""
    # One byte more than the limit shows "too large" without reading an endless pipe. A buffer of
    # the full limit would take longer to allocate than most files take to read.
    pieces, left = [], at_most + 1
    while left and (piece := os.read(descriptor, min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def decoded(name: str, data: bytes) -> SourceFile:
    """Decode UTF-8 of limited length; LoadError if the data is too long or not UTF-8."""
    if len(data) > MAX_INPUT_BYTES:
        headline = f"`{name}` is larger than {MAX_INPUT_BYTES:,} bytes"
        raise LoadError([too_large(name, headline, data[:MAX_INPUT_BYTES])])
    try:
        return SourceFile.decode(name, data)
    except EncodingError as wrong:
        raise LoadError([_not_utf8(wrong, data)]) from None


def unreadable(name: str, wrong: OSError | ValueError, what: str = "") -> Diagnostic:
    """Build the diagnostic for a file that cannot be read."""
    headline = f"cannot read {what or f'`{name}`'}: {in_plain_words(wrong)}"
    return error(UNREADABLE_FILE, headline, SourceFile(name, ""), Span(0, 0))


def in_plain_words(wrong: OSError | ValueError) -> str:
    """Return the reason of the system or of a decoder in plain English."""
    return _PLAIN_WORDS.get(type(wrong)) or getattr(wrong, "strerror", None) or str(wrong)


def too_large(name: str, headline: str, data: bytes = b"") -> Diagnostic:
    """Build the diagnostic for a text that is too large.

    `data` is the part that was read: it shows whether the file is a core file.
    """
    help_ = "split it, or leave out what no rule needs"
    read = SourceFile(name, data.decode("utf-8", "replace"))
    return error(TOO_LARGE, headline, read, Span(0, 0), help=help_)


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
