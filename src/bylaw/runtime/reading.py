"""A path → the text behind it with its name, or a diagnostic that says why not."""

from __future__ import annotations

import os
from stat import S_ISREG

from bylaw.model.codes.input import NOT_UTF8, TOO_LARGE, UNREADABLE_FILE
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError
from bylaw.model.source import EncodingError, SourceFile, Span

MAX_INPUT_BYTES = 5 * 1024 * 1024

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PLAIN_WORDS: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file",
    NotADirectoryError: "there is no such file",
    IsADirectoryError: "it is a folder",
    PermissionError: "permission denied",
}


def read_file(path: str, name: str = "") -> SourceFile:
    """Read a file or a pipe that a person named; LoadError if that cannot be done."""
    name = name or path
    try:
        with open(as_bytes(path), "rb") as stream:  # noqa: PTH123 - a Path takes no bytes
            # One byte more than allowed tells "too large" without reading an endless pipe.
            data = stream.read(MAX_INPUT_BYTES + 1)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(name, wrong)]) from None
    return decoded(name, data)


def read_regular_file(path: str, name: str) -> SourceFile:
    """Read a file that a search found: opening a pipe or a device there must not hang."""
    try:
        # The folder may change under us, so the opened file is looked at, not the name.
        with open(os.open(as_bytes(path), os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:  # noqa: PTH123 - a descriptor
            if not S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise ValueError("it is no regular file")  # noqa: TRY301 - told like the others
            data = stream.read(MAX_INPUT_BYTES + 1)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(name, wrong)]) from None
    return decoded(name, data)


def decoded(name: str, data: bytes) -> SourceFile:
    """UTF-8 of bounded length; anything else is a LoadError."""
    if len(data) > MAX_INPUT_BYTES:
        headline = f"`{name}` is larger than {MAX_INPUT_BYTES:,} bytes"
        raise LoadError([too_large(name, headline, data[:MAX_INPUT_BYTES])])
    try:
        return SourceFile.decode(name, data)
    except EncodingError as wrong:
        raise LoadError([_not_utf8(wrong, data)]) from None


def as_bytes(path: str) -> bytes:
    """A path for the system: UTF-8 in every locale, other bytes unchanged."""
    return path.encode("utf-8", "surrogateescape")


def as_text(path: bytes) -> str:
    """A path from the system, the reverse of `as_bytes`."""
    return path.decode("utf-8", "surrogateescape")


def is_folder(path: str) -> bool:
    """Whether there is a folder, also behind a link."""
    return os.path.isdir(as_bytes(path))  # noqa: PTH112 - a Path takes no bytes


def unreadable(name: str, wrong: OSError | ValueError, what: str = "") -> Diagnostic:
    """Why a file cannot be read, in plain words."""
    why = _PLAIN_WORDS.get(type(wrong)) or getattr(wrong, "strerror", None) or str(wrong)
    headline = f"cannot read {what or f'`{name}`'}: {why}"
    return error(UNREADABLE_FILE, headline, SourceFile(name, ""), Span(0, 0))


def too_large(name: str, headline: str, data: bytes = b"") -> Diagnostic:
    """A text that is refused because of its size; what was read says whether it was a core file."""
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
