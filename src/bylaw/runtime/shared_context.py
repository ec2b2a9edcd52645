"""Read `SHARED_CONTEXT.md` and the token folder: the phase, and approvals of messages.

A file that really is in the bus is ignored, even if links lead to it (LD-004, LD-070). A file that
cannot be read may contain a revocation, so the phase is unknown then and nothing is approved.
Values are cached until the file changes.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct, field

from bylaw.languages.law.shared_context import (
    MAX_CHARS,
    ApprovalLine,
    PhaseResult,
    Token,
    read_approvals,
    read_phase,
    read_token,
)
from bylaw.model.vocabulary import ApprovalState, Authority
from bylaw.runtime.approvals import UNKNOWN_KEY, ApprovalKey, confirm_approval, read_approval_watch
from bylaw.store.files import open_regular, os_error_text, read_at_most, remove, write_atomic
from bylaw.store.paths import as_bytes, as_text, is_inside, real_path
from bylaw.store.safe_paths import open_safe_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.runtime.approvals import ApprovalWatch
    from bylaw.store.safe_paths import SafePath

# The clock of the file system advances in steps of at most this length. A file that was written
# more recently could change again and have the same stamp.
_MIN_AGE_NS = 100_000_000

T = TypeVar("T")

# Device, inode, size, and the times of the last write and the last change.
FileStamp = tuple[int, int, int, int, int]


def file_stamp(found: os.stat_result) -> FileStamp:
    """Return a stamp that differs if the file changed."""
    return (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        max(found.st_ctime_ns, found.st_mtime_ns),
    )


class FileCache(Generic[T]):
    """The value computed from one file or folder, while it does not change."""

    def __init__(self) -> None:
        # One tuple, so that threads see either both parts or none.
        self._last: tuple[FileStamp, T] | None = None

    def get(self, stamp: FileStamp) -> T | None:
        """Return the value for this stamp; None if there is none."""
        last = self._last
        return last[1] if last is not None and last[0] == stamp else None

    def put(self, stamp: FileStamp, value: T) -> T:
        """Store the value for this stamp and return it."""
        settled = time.time_ns() - stamp[-1] > _MIN_AGE_NS
        self._last = (stamp, value) if settled else None
        return value


SHARED_CONTEXT = "SHARED_CONTEXT.md"
TOKENS = "runtime/approvals"

MAX_CONTEXT_BYTES = MAX_CHARS
MAX_TOKEN_BYTES = 16 * 1024
MAX_TOKENS = 100_000  # files in the token folder; a larger folder is not read

_AUTHORITIES = frozenset(Authority)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class SharedContext(Struct, frozen=True):
    """The content of `SHARED_CONTEXT.md`: the phase, or why it is unknown, and lines by message.

    `unclear` is true if the file exists and cannot be read.
    """

    phase: PhaseResult
    lines: Mapping[str, tuple[ApprovalLine, ...]] = field(default_factory=dict)
    unclear: bool = False


class TokenFile(Struct, frozen=True):
    """A token of an authority, and the inode and time that identify its file.

    A token that cannot be read is unclear and has no identity.
    """

    where: str  # relative to the root
    authority: str
    token: Token
    text: str = ""
    file: tuple[int, int] = (0, 0)
    mark: ApprovalKey = UNKNOWN_KEY


class SharedFiles:
    """The files of one root in which people approve and revoke messages."""

    def __init__(self, root: str, bus_path: str) -> None:
        self._root = root
        self._bus = f"{root}/{bus_path}"
        self._context = FileCache[SharedContext]()
        self._names = FileCache[dict[str, list[str]]]()

    def context(self) -> SharedContext:
        """Return the current shared context; the file is read again only if it changed."""
        try:
            with (
                self._open_outside_bus(SHARED_CONTEXT) as place,
                open_regular(place.name, links=False, folder=place.folder) as file,
            ):
                stamp = file_stamp(os.fstat(file))
                return self._context.get(stamp) or self._context.put(stamp, _context(file))
        except (OSError, ValueError) as wrong:
            why = f"`{SHARED_CONTEXT}` cannot be read: {os_error_text(wrong)}"
            unclear = not self._is_absent(SHARED_CONTEXT, wrong)
            return SharedContext(PhaseResult(None, why), unclear=unclear)

    def tokens(self, msg_id: str) -> tuple[TokenFile, ...]:
        """Return the tokens for a message, in the order of their names.

        If the folder cannot be read, it may contain a token of every authority.
        """
        try:
            with self._token_folder() as folder:
                names = self._token_names(folder).get(msg_id, ())
                found = [_token(folder, name) for name in names]
        except (OSError, ValueError) as wrong:
            absent = self._is_absent(TOKENS, wrong)
            return () if absent else tuple(_unclear(TOKENS, one.value) for one in Authority)
        return tuple(one for one in found if one is not None)

    def token_names(self, msg_id: str, authority: str) -> tuple[str, ...]:
        """Return the files named like a token of this authority; their content is not read."""
        try:
            with self._token_folder() as folder:
                return _of_authority(authority, self._token_names(folder).get(msg_id, ()))
        except FileNotFoundError:
            return ()

    def write_token(self, msg_id: str, authority: str, text: str) -> str:
        """Write a token, remove other tokens of this authority, and return the path.

        Raises OSError or ValueError. The file is readable as far as the umask allows, because
        another user may run the bus.
        """
        name = f"{msg_id}.{authority}"
        with self._token_folder(new=True) as folder:
            write_atomic(folder, name, text.encode(), mode=0o666)
            # The caller has already checked that a person asks for this.
            confirm_approval(self._root, _token_key(name, os.stat(name, dir_fd=folder)).key)
            for old in _of_authority(authority, _names(folder).get(msg_id, ())):
                if old != name:
                    remove(folder, old)
        return f"{TOKENS}/{name}"

    def grants(self) -> Iterator[ApprovalKey]:
        """Yield the keys of all approvals that exist, for any message."""
        for found in self.context().lines.values():
            yield from (line_key(one) for one in found if one.state is ApprovalState.GRANTED)
        with suppress(OSError, ValueError), self._token_folder() as folder:
            for name in (name for names in _names(folder).values() for name in names):
                with suppress(OSError):
                    found_file = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    yield _token_key(name, found_file)

    def watch(self) -> ApprovalWatch:
        """Return which of the approvals apply."""
        return read_approval_watch(self._root)

    def _is_absent(self, path: str, wrong: OSError | ValueError) -> bool:
        """Check whether the error means that nothing exists, not even a broken link."""
        return isinstance(wrong, FileNotFoundError) and not _may_exist(self._root, path)

    @contextmanager
    def _open_outside_bus(self, path: str, *, new: bool = False) -> Iterator[SafePath]:
        with open_safe_path(self._root, path, new=new) as place:
            if is_inside(f"{real_path(self._root)}/{place.path}", real_path(self._bus)):
                raise ValueError("it is in the bus")
            yield place

    @contextmanager
    def _token_folder(self, *, new: bool = False) -> Iterator[int]:
        with self._open_outside_bus(TOKENS, new=new) as place, ExitStack() as opened:
            folder = place.folder
            for part in (*place.missing, place.name):
                if new:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                folder = os.open(part, _FOLDER, dir_fd=folder)
                opened.callback(os.close, folder)
            yield folder

    def _token_names(self, folder: int) -> Mapping[str, list[str]]:
        stamp = file_stamp(os.fstat(folder))
        kept = self._names.get(stamp)
        return self._names.put(stamp, _names(folder)) if kept is None else kept


def _context(file: int) -> SharedContext:
    text = _text(file, MAX_CONTEXT_BYTES)
    return SharedContext(read_phase(text), _by_message(read_approvals(text)))


def _by_message(lines: Iterable[ApprovalLine]) -> dict[str, tuple[ApprovalLine, ...]]:
    found: dict[str, list[ApprovalLine]] = {}
    for line in lines:
        found.setdefault(line.msg_id, []).append(line)
    return {msg_id: tuple(of_one) for msg_id, of_one in found.items()}


def _names(folder: int) -> dict[str, list[str]]:
    """Map messages to token names `<msg_id>.<authority>`; ValueError if there are too many."""
    found: dict[str, list[str]] = {}
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MAX_TOKENS + 1)]
    if len(names) > MAX_TOKENS:
        raise ValueError(f"it contains more than {MAX_TOKENS:,} files")
    for raw in sorted(names):
        name = as_text(os.fsencode(raw))
        msg_id, _, authority = name.partition(".")
        if authority.lower() in _AUTHORITIES:
            found.setdefault(msg_id, []).append(name)
    return found


def _of_authority(authority: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.partition(".")[2].lower() == authority)


def _token(folder: int, name: str) -> TokenFile | None:
    """Read the token in a file of this name; None if the file was removed."""
    where, authority = f"{TOKENS}/{name}", name.partition(".")[2].lower()
    try:
        with open_regular(name, links=False, folder=folder) as file:
            found = os.fstat(file)
            text = _text(file, MAX_TOKEN_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return _unclear(where, authority)
    known_by = (found.st_ino, found.st_mtime_ns)
    return TokenFile(where, authority, read_token(text), text, known_by, _token_key(name, found))


def _unclear(where: str, authority: str) -> TokenFile:
    return TokenFile(where, authority, Token(ApprovalState.UNCLEAR))


def _may_exist(root: str, path: str) -> bool:
    """Check whether a part of the path is a broken link, or whether the path exists now."""
    for part in accumulate(path.split("/"), "{}/{}".format, initial=root):
        if not os.path.lexists(as_bytes(part)):
            return False
        if not os.path.exists(as_bytes(part)):  # noqa: PTH110 - a Path takes no bytes
            return True
    return True


def is_confirmed(root: str, location: str) -> bool:
    """Check whether a file is a token that a person confirmed."""
    folder, _, name = location.rpartition("/")
    if folder != f"{real_path(root)}/{TOKENS}":
        return False
    try:
        found = os.stat(as_bytes(location), follow_symlinks=False)  # noqa: PTH116 - a Path takes no bytes
    except (OSError, ValueError):
        return False
    return _token_key(name, found).key in read_approval_watch(root).confirmed


def line_key(line: ApprovalLine) -> ApprovalKey:
    """Return the key of a line."""
    key = sha256(line.text.encode("utf-8", "surrogatepass")).hexdigest()
    return ApprovalKey(key, None, line.msg_id, f"{SHARED_CONTEXT}:{line.line}")


def _token_key(name: str, found: os.stat_result) -> ApprovalKey:
    shown = as_text(os.fsencode(name)).encode("utf-8", "backslashreplace").decode()
    key = f"{shown} {found.st_ino} {found.st_ctime_ns}"
    return ApprovalKey(key, found.st_ctime_ns, shown.partition(".")[0], f"{TOKENS}/{shown}")


def _text(file: int, at_most: int) -> str:
    data = read_at_most(file, at_most)
    if len(data) > at_most:
        raise ValueError(f"it is larger than {at_most:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as wrong:
        raise ValueError(f"it is not UTF-8 text: byte 0x{data[wrong.start]:02x}") from None
