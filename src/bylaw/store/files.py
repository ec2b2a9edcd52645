"""Read files with a size limit, and write files atomically.

Reading checks the opened file, not its name, and turns failures into diagnostics. New content is
written next to the file and renamed over it: readers see either the old or the new content.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from errno import EINVAL, ENOSYS
from functools import cache
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from bylaw.model.codes.files import NOT_UTF8, TOO_LARGE, UNREADABLE_FILE
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError
from bylaw.model.source import EncodingError, SourceFile, Span
from bylaw.store.paths import as_bytes, as_text, folder_of, real_path
from bylaw.store.safe_paths import open_safe_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_INPUT_BYTES = 5 * 1024 * 1024
_PIECE = 64 * 1024

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ERROR_TEXTS: dict[type[Exception], str] = {
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
        raise LoadError([unreadable_error(name, wrong)]) from None
    return decode_source(name, data)


def read_regular_file(path: str, name: str) -> SourceFile:
    """Read a file that a search found; LoadError if it cannot be read."""
    try:
        data = read_regular_bytes(path, MAX_INPUT_BYTES)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable_error(name, wrong)]) from None
    return decode_source(name, data)


def read_inside(root: str, path: str) -> SourceFile:
    """Read a file of a root; LoadError if it cannot be read or a link leads out of the root."""
    try:
        with open_safe_path(root, path) as place:
            data = read_regular_bytes(place.name, MAX_INPUT_BYTES, folder=place.folder, links=False)
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable_error(path, wrong)]) from None
    return decode_source(path, data)


def read_regular_bytes(
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
    """Open a regular file; the arguments are those of `read_regular_bytes`."""
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


def decode_source(name: str, data: bytes) -> SourceFile:
    """Decode UTF-8 of limited length; LoadError if the data is too long or not UTF-8."""
    if len(data) > MAX_INPUT_BYTES:
        headline = f"`{name}` is larger than {MAX_INPUT_BYTES:,} bytes"
        raise LoadError([too_large_error(name, headline, data[:MAX_INPUT_BYTES])])
    try:
        return SourceFile.decode(name, data)
    except EncodingError as wrong:
        raise LoadError([_not_utf8_error(wrong, data)]) from None


def unreadable_error(name: str, wrong: OSError | ValueError, what: str = "") -> Diagnostic:
    """Build the diagnostic for a file that cannot be read."""
    headline = f"cannot read {what or f'`{name}`'}: {os_error_text(wrong)}"
    return error(UNREADABLE_FILE, headline, SourceFile(name, ""), Span(0, 0))


def os_error_text(wrong: OSError | ValueError) -> str:
    """Return the reason of the system or of a decoder in plain English."""
    return _ERROR_TEXTS.get(type(wrong)) or getattr(wrong, "strerror", None) or str(wrong)


def too_large_error(name: str, headline: str, data: bytes = b"") -> Diagnostic:
    """Build the diagnostic for a text that is too large.

    `data` is the part that was read: it shows whether the file is a core file.
    """
    help_ = "split it, or leave out what no rule needs"
    read = SourceFile(name, data.decode("utf-8", "replace"))
    return error(TOO_LARGE, headline, read, Span(0, 0), help=help_)


def _not_utf8_error(wrong: EncodingError, data: bytes) -> Diagnostic:
    how = "it looks like UTF-16: " if data.startswith(_UTF16_MARKS) else ""
    return error(
        NOT_UTF8,
        f"this is not UTF-8 text: byte 0x{wrong.byte:02x}",
        wrong.source,
        wrong.span,
        note="not UTF-8 from here on",
        help=f"{how}save the file as UTF-8",
    )


_NO_REPLACE = 1  # RENAME_NOREPLACE
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def replace_file(path: str, data: bytes) -> None:
    """Replace the content of a file that a person named.

    OSError or ValueError leave the file unchanged. A link stays a link. Owner, group and mode are
    kept where possible.
    """
    path = real_path(path)
    name = path.rpartition("/")[2]
    folder = os.open(as_bytes(folder_of(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        old = os.stat(as_bytes(name), dir_fd=folder, follow_symlinks=False)
        if not S_ISREG(old.st_mode):
            raise ValueError("it is not a regular file")
        if not os.access(as_bytes(name), os.W_OK, dir_fd=folder, effective_ids=True):
            raise PermissionError  # a rename would bypass the mode of the file
        write_atomic(folder, name, data, like=old)
    finally:
        os.close(folder)


def write_atomic(
    folder: int,
    name: str,
    data: bytes,
    *,
    lasting: bool = True,
    mode: int = 0o600,
    like: os.stat_result | None = None,
) -> None:
    """Replace a file atomically; OSError leaves the old file unchanged.

    With `lasting`, the content survives a power failure. For `mode` and `like` see
    `write_temporary`.
    """
    temporary = write_temporary(folder, name, data, lasting=lasting, mode=mode, like=like)
    try:
        rename(folder, temporary, name)
        if lasting:
            os.fsync(folder)
    except OSError:
        try_remove(folder, temporary)
        raise


def write_new(folder: int, name: str, data: bytes, *, mode: int = 0o600) -> None:
    """Create a new file atomically; FileExistsError if the name exists.

    Any OSError leaves the folder unchanged. The content survives a power failure.
    """
    temporary = write_temporary(folder, name, data, mode=mode)
    try:
        move_new(folder, temporary, folder, name)
    except OSError:
        try_remove(folder, temporary)
        raise
    os.fsync(folder)


def write_temporary(
    folder: int,
    name: str,
    data: bytes,
    *,
    lasting: bool = True,
    mode: int = 0o600,
    like: os.stat_result | None = None,
) -> str:
    """Write a temporary file next to the file that it will replace and return its name.

    OSError leaves no file behind. Mode, owner and group are those of `like`, else `mode` with the
    umask of the user.
    """
    temporary = temporary_name(name)
    try:
        descriptor = os.open(as_bytes(temporary), _NEW_FILE_FLAGS, mode, dir_fd=folder)
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor
            if like is not None:
                _copy_attributes(stream.fileno(), like)
            stream.write(data)
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
    except OSError:
        try_remove(folder, temporary)
        raise
    return temporary


def temporary_name(name: str) -> str:
    """Return an unused name that starts with another name."""
    return f"{name}.{os.urandom(8).hex()}"


def rename(folder: int, old: str, new: str) -> None:
    """Rename a file; a file with the new name is replaced."""
    os.rename(as_bytes(old), as_bytes(new), src_dir_fd=folder, dst_dir_fd=folder)


def move_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Move a file in one step; FileExistsError, and no change, if the new name exists."""
    old, new = as_bytes(name), as_bytes(to_name)
    wrong = _rename_noreplace()(folder, old, to_folder, new)
    if wrong == 0:
        return
    if wrong not in {EINVAL, ENOSYS}:
        raise OSError(wrong, os.strerror(wrong))
    # This file system has no such call. Until the unlink, the file has both names.
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=folder)


def remove(folder: int, name: str) -> None:
    """Remove a file if it exists; OSError if that fails."""
    with suppress(FileNotFoundError):
        os.unlink(as_bytes(name), dir_fd=folder)


def try_remove(folder: int, name: str) -> None:
    """Remove a file that is no longer needed; ignore errors."""
    with suppress(OSError):
        remove(folder, name)


def _copy_attributes(file: int, like: os.stat_result) -> None:
    rights = 0o777
    try:
        os.fchown(file, like.st_uid, like.st_gid)
    except PermissionError:
        rights = 0o707  # the group could not be kept
    os.fchmod(file, like.st_mode & rights)


@cache
def _rename_noreplace() -> Callable[[int, bytes, int, bytes], int]:
    """Return a wrapper of `renameat2` that returns an errno; the standard library has none."""
    import ctypes  # noqa: PLC0415 - slow to import, and seldom used

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return lambda *_: ENOSYS
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def renamed(folder: int, old: bytes, to_folder: int, new: bytes) -> int:
        done = rename(folder, old, to_folder, new, _NO_REPLACE) == 0
        return 0 if done else ctypes.get_errno()

    return renamed


# The disk is full, the user has used up a quota, or the process may write no larger files.
DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_EXTRA_BYTES = 64 * 1024


def has_disk_space(path: str) -> bool:
    """Check whether there is space for more data next to a file: reserve it, then remove it.

    The test file is as long as the file or its write-ahead log, and a bit more.
    """
    folder = os.path.dirname(as_bytes(path)) or b"."  # noqa: PTH120 - a Path takes no bytes
    size = max(_size(as_bytes(path) + companion) for companion in (b"", b"-wal"))
    name = folder + b"/." + os.urandom(8).hex().encode()
    try:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(file, size, _EXTRA_BYTES)
        finally:
            os.close(file)
            os.unlink(name)  # noqa: PTH108 - same
    except OSError as problem:
        return problem.errno not in DISK_FULL_ERRNOS
    return True


def _size(path: bytes) -> int:
    with suppress(OSError):
        return os.stat(path).st_size  # noqa: PTH116 - same
    return 0


def absolute(path: str, folder: str = "") -> str:
    """Return an absolute path without `.` and `..`; LoadError if that is not possible."""
    try:
        if not path:
            raise FileNotFoundError
        # An absolute path needs no working directory, which may have been removed.
        base = as_bytes(folder) or (b"/" if path[0] == "/" else os.getcwdb())  # noqa: PTH109 - bytes
        return as_text(os.path.normpath(os.path.join(base, as_bytes(path))))  # noqa: PTH118 - same
    except (OSError, ValueError) as wrong:  # or the working directory was removed
        raise LoadError([unreadable_error(path, wrong)]) from None
