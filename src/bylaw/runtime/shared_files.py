"""Read `SHARED_CONTEXT.md` and the token folder: the phase, and approvals of messages.

A file that really is in the bus is ignored, even if links lead to it (LD-004, LD-070). A file that
cannot be read may contain a revocation, so the phase is unknown then and nothing is approved.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.dialects.law.shared_context import (
    MAX_CHARS,
    FoundApproval,
    FoundPhase,
    Token,
    read_approvals,
    read_phase,
    read_token,
)
from bylaw.model.vocabulary import ApprovalState, Authority
from bylaw.runtime.approval_watch import UNKNOWN, Mark, approval_watch, confirm
from bylaw.runtime.beneath import beneath
from bylaw.runtime.paths import as_bytes, as_text, lies_in, real_path
from bylaw.runtime.reading import in_plain_words, open_regular, read_at_most
from bylaw.runtime.while_unchanged import WhileUnchanged, file_stamp
from bylaw.runtime.writing import remove, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.runtime.approval_watch import ApprovalWatch
    from bylaw.runtime.beneath import Place

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

    phase: FoundPhase
    lines: Mapping[str, tuple[FoundApproval, ...]] = field(default_factory=dict)
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
    mark: Mark = UNKNOWN


class SharedFiles:
    """The files of one root in which people approve and revoke messages."""

    def __init__(self, root: str, bus_path: str) -> None:
        self._root = root
        self._bus = f"{root}/{bus_path}"
        self._context = WhileUnchanged[SharedContext]()
        self._names = WhileUnchanged[dict[str, list[str]]]()

    def context(self) -> SharedContext:
        """Return the current shared context; the file is read again only if it changed."""
        try:
            with (
                self._outside_of_bus(SHARED_CONTEXT) as place,
                open_regular(place.name, links=False, folder=place.folder) as file,
            ):
                stamp = file_stamp(os.fstat(file))
                return self._context.get(stamp) or self._context.put(stamp, _context(file))
        except (OSError, ValueError) as wrong:
            why = f"`{SHARED_CONTEXT}` cannot be read: {in_plain_words(wrong)}"
            unclear = not self._is_absent(SHARED_CONTEXT, wrong)
            return SharedContext(FoundPhase(None, why), unclear=unclear)

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
                return _of(authority, self._token_names(folder).get(msg_id, ()))
        except FileNotFoundError:
            return ()

    def write_token(self, msg_id: str, authority: str, text: str) -> str:
        """Write a token, remove other tokens of this authority, and return the path.

        Raises OSError or ValueError. The file is readable as far as the umask allows, because
        another user may run the bus.
        """
        name = f"{msg_id}.{authority}"
        with self._token_folder(new=True) as folder:
            write_whole(folder, name, text.encode(), mode=0o666)
            # The caller has already checked that a person asks for this.
            confirm(self._root, _token_mark(name, os.stat(name, dir_fd=folder)).key)
            for old in _of(authority, _names(folder).get(msg_id, ())):
                if old != name:
                    remove(folder, old)
        return f"{TOKENS}/{name}"

    def grants(self) -> Iterator[Mark]:
        """Yield the keys of all approvals that exist, for any message."""
        for found in self.context().lines.values():
            yield from (line_mark(one) for one in found if one.state is ApprovalState.GRANTED)
        with suppress(OSError, ValueError), self._token_folder() as folder:
            for name in (name for names in _names(folder).values() for name in names):
                with suppress(OSError):
                    found_file = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    yield _token_mark(name, found_file)

    def watch(self) -> ApprovalWatch:
        """Return which of the approvals apply."""
        return approval_watch(self._root)

    def _is_absent(self, path: str, wrong: OSError | ValueError) -> bool:
        """Check whether the error means that nothing exists, not even a broken link."""
        return isinstance(wrong, FileNotFoundError) and not _is_begun(self._root, path)

    @contextmanager
    def _outside_of_bus(self, path: str, *, new: bool = False) -> Iterator[Place]:
        with beneath(self._root, path, new=new) as place:
            if lies_in(f"{real_path(self._root)}/{place.path}", real_path(self._bus)):
                raise ValueError("it is in the bus")
            yield place

    @contextmanager
    def _token_folder(self, *, new: bool = False) -> Iterator[int]:
        with self._outside_of_bus(TOKENS, new=new) as place, ExitStack() as opened:
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


def _by_message(lines: Iterable[FoundApproval]) -> dict[str, tuple[FoundApproval, ...]]:
    found: dict[str, list[FoundApproval]] = {}
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


def _of(authority: str, names: Iterable[str]) -> tuple[str, ...]:
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
    return TokenFile(where, authority, read_token(text), text, known_by, _token_mark(name, found))


def _unclear(where: str, authority: str) -> TokenFile:
    return TokenFile(where, authority, Token(ApprovalState.UNCLEAR))


def _is_begun(root: str, path: str) -> bool:
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
    return _token_mark(name, found).key in approval_watch(root).confirmed


def line_mark(line: FoundApproval) -> Mark:
    """Return the key of a line."""
    key = sha256(line.text.encode("utf-8", "surrogatepass")).hexdigest()
    return Mark(key, None, line.msg_id, f"{SHARED_CONTEXT}:{line.line}")


def _token_mark(name: str, found: os.stat_result) -> Mark:
    shown = as_text(os.fsencode(name)).encode("utf-8", "backslashreplace").decode()
    key = f"{shown} {found.st_ino} {found.st_ctime_ns}"
    return Mark(key, found.st_ctime_ns, shown.partition(".")[0], f"{TOKENS}/{shown}")


def _text(file: int, at_most: int) -> str:
    data = read_at_most(file, at_most)
    if len(data) > at_most:
        raise ValueError(f"it is larger than {at_most:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as wrong:
        raise ValueError(f"it is not UTF-8 text: byte 0x{data[wrong.start]:02x}") from None
