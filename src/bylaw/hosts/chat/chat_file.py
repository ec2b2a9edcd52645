"""The open ChatMD file of a chat: it appends blocks, and no block is lost or left half written.

Before bytes are appended, a note in the state folder records them and the length of the file. If
the process dies while it writes, the next process finds the beginning of these bytes at the end of
the file and cuts it off. A digest of everything written shows whether the file was edited since.
"""

from __future__ import annotations

import os
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import sha256
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from bylaw.hosts.chat.crash_note import MAX_NOTE_BYTES, Note, NoteKeeper, failing_plainly
from bylaw.hosts.chat.torn import torn_at
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.source import EncodingError, SourceFile
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import unreadable

if TYPE_CHECKING:
    from types import TracebackType

MAX_CHAT_BYTES = 256 << 20
MAX_BLOCK_BYTES = MAX_NOTE_BYTES // 2  # base64 in the note adds a third
_APPENDING = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class ChatFile:
    """An open ChatMD file. No other chat can have it open at the same time.

    `source` is the text when the file was opened or last rewritten. `known` is the byte up to which
    events cover the text, -1 if that is unknown. `edited`: the text that was in the file when it
    was last closed has changed. `cut` is the number of bytes of a torn block that were removed. If
    the last process began to submit new text, `begun` is the number of the event before that,
    else -1.
    """

    def __init__(self, path: str, root: str, name: str) -> None:
        self.name = name
        self._path = path
        self._keeper = NoteKeeper(path, root, name)
        with failing_plainly("write", name):
            self._descriptor = _opened(path, name)
        try:
            data = self._mended(self._recovered(_read(self._descriptor, name)))
            self.source = _decoded(name, data)
        except BaseException:
            os.close(self._descriptor)
            raise
        self._hash = sha256(data)
        self._length = len(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self._descriptor)

    @property
    def replies(self) -> int:
        """The number of model replies in the file when the last turn began."""
        return self._note.replies

    def turn_begins(self, replies: int) -> None:
        """Note the number of model replies before a turn."""
        self._keep(replace(self._now(), replies=replies))

    def append(self, text: str) -> None:
        """Append blocks. After a kill, the file has all of them or the next chat removes them."""
        self._refuse_other_hands()
        data = text.encode()
        if len(data) > MAX_BLOCK_BYTES or self._length + len(data) > MAX_CHAT_BYTES:
            raise self._too_large()
        self._keep(replace(self._now(), pending=data))
        with failing_plainly("write", self.name):
            self._write_all_or_nothing(data)
        self._hash.update(data)
        self._length += len(data)

    def _write_all_or_nothing(self, data: bytes) -> None:
        try:
            _write_all(self._descriptor, data)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._length)
            raise

    def rewrite(self, text: str, replies: int) -> None:
        """Replace the whole text in one step.

        `replies` is the number of model replies when the turn began, counted in the new text.
        """
        self._refuse_other_hands()
        data = text.encode()
        if len(data) > MAX_CHAT_BYTES:
            raise self._too_large()
        digest = sha256(data)
        self._keep(replace(self._now(), rewrite=digest.hexdigest(), rewrite_replies=replies))
        spare = self._spare(digest.hexdigest())
        with failing_plainly("write", self.name):
            descriptor = _replaced(self._path, self._descriptor, data, spare)
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._hash, self._length = digest, len(data)
        self.source = SourceFile(self.name, text)
        self._untold = -1
        self.turn_begins(replies)

    def telling(self, at: int, after: int) -> None:
        """Note that the text from byte `at` on will be submitted now, after event `after`."""
        self._untold, self._told_after = at, after
        self._keep(self._now())

    def settle(self) -> None:
        """Note that the file is complete and that events cover all of it."""
        self._untold = -1
        self._keep(self._now())

    def forget(self) -> None:
        """Delete the note: no process will resume this file."""
        self._keeper.forget()

    def read_again(self) -> SourceFile:
        """Read the file from disk again."""
        return _decoded(self.name, _read(self._descriptor, self.name))

    def _refuse_other_hands(self) -> None:
        """Raise BylawError if the file was edited or replaced, so that no text gets lost."""
        with failing_plainly("find", self.name):
            ours = os.fstat(self._descriptor)
            there = os.lstat(as_bytes(self._path))
        if (there.st_dev, there.st_ino, there.st_size) != (ours.st_dev, ours.st_ino, self._length):
            message = f"`{self.name}` changed while the chat was running; start the chat again"
            raise BylawError(message)

    def _too_large(self) -> BylawError:
        return BylawError(f"`{self.name}` would become too large; nothing was written")

    def _now(self) -> Note:
        return Note(
            self._length,
            self._hash.hexdigest(),
            replies=self._note.replies,
            untold=self._untold,
            told_after=self._told_after,
        )

    def _keep(self, note: Note) -> None:
        self._keeper.keep(note)
        self._note = note

    def _recovered(self, data: bytes) -> bytes:
        """Return the file without a torn tail, and set the attributes that the note decides."""
        note = self._keeper.last()
        self.known, self.edited, self.cut = -1, False, 0
        self._note = note or Note(0, "")
        self._untold, self._told_after = -1, 0
        self.begun = self._note.told_after if self._note.untold >= 0 else -1
        if note is None:
            return data
        if note.rewrite:
            with suppress(OSError):
                os.unlink(as_bytes(self._spare(note.rewrite)))  # noqa: PTH108 - Path rejects bytes
        if note.rewrite and sha256(data).hexdigest() == note.rewrite:
            self.known = len(data)
            self._note = replace(note, replies=note.rewrite_replies)
            return data
        return self._without_torn_tail(data, note)

    def _without_torn_tail(self, data: bytes, note: Note) -> bytes:
        before, tail = data[: note.length], data[note.length :]
        self.edited = sha256(before).hexdigest() != note.digest
        if self.edited:
            return data
        self.known = note.length
        if note.untold >= 0:
            self.known = note.untold
        elif note.pending and tail.startswith(note.pending):
            self.known += len(note.pending)
        if note.pending and len(tail) < len(note.pending) and note.pending.startswith(tail):
            self.cut = len(tail)
            self._cut_to(note.length)
            return before
        return data

    def _mended(self, data: bytes) -> bytes:
        """Return the file without a block that was torn in another way; save the removed piece.

        Remove nothing that a person may have written: text after the known part, or text of an
        edited file that did not get shorter.
        """
        shortened = self.edited and len(data) < self._note.length
        if self.known >= 0 or (self.edited and not shortened):
            return data
        source = SourceFile(self.name, data.decode(errors="ignore"))
        at = torn_at(source, shortened=shortened)
        if at is None:
            return data
        kept = source.text[:at].encode()
        self._keeper.set_aside(data[len(kept) :])
        self._cut_to(len(kept))
        self.cut += len(data) - len(kept)
        return kept

    def _cut_to(self, length: int) -> None:
        with failing_plainly("write", self.name):
            os.ftruncate(self._descriptor, length)

    def _spare(self, digest: str) -> str:
        """Path of the temporary file to which `rewrite` writes the new text."""
        return f"{self._path}.{digest[:16]}"


def _opened(path: str, name: str) -> int:
    try:
        descriptor = os.open(as_bytes(path), _APPENDING)
    except PermissionError:
        raise  # reported as `cannot write`: the file may be readable
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(name, wrong)]) from None
    problem = _problem_with(descriptor, name)
    if problem is not None:
        os.close(descriptor)
        raise problem
    return descriptor


def _problem_with(descriptor: int, name: str) -> BylawError | None:
    if not S_ISREG(os.fstat(descriptor).st_mode):
        return LoadError([unreadable(name, ValueError("it is not a regular file"))])
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return BylawError(f"another chat has `{name}` open; exit it first")
    return None


def _read(descriptor: int, name: str) -> bytes:
    pieces, at = [], 0
    with failing_plainly("read", name):
        size = os.fstat(descriptor).st_size
        if size > MAX_CHAT_BYTES:
            raise BylawError(f"`{name}` is larger than {MAX_CHAT_BYTES:,} bytes")
        while at < size and (piece := os.pread(descriptor, size - at, at)):
            pieces.append(piece)
            at += len(piece)
    return b"".join(pieces)


def _decoded(name: str, data: bytes) -> SourceFile:
    try:
        return SourceFile.decode(name, data)
    except EncodingError as wrong:
        raise BylawError(f"`{name}` is not UTF-8 text: {wrong}") from None


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _replaced(path: str, old: int, data: bytes, temporary: str) -> int:
    """Replace an open file by a new one with the same mode. Return it open and locked."""
    mode = S_IMODE(os.fstat(old).st_mode)
    new = os.open(as_bytes(temporary), _APPENDING | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(new, mode)
        flock(new, LOCK_EX | LOCK_NB)
        _write_all(new, data)
        os.fsync(new)
        os.rename(as_bytes(temporary), as_bytes(path))  # noqa: PTH104 - Path rejects bytes
    except OSError:
        os.close(new)
        with suppress(OSError):
            os.unlink(as_bytes(temporary))  # noqa: PTH108 - Path rejects bytes
        raise
    return new
