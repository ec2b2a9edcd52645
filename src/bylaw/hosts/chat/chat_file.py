"""A ChatMD file that is being written: blocks are appended, never lost, and never half there.

Before bytes are appended they are noted beside the journal, with the length that the file has. If
the process dies in between, the next one finds a tail that is a beginning of what was noted and
cuts it. The digest of all that was written tells whether somebody edited the file in between.
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
MAX_BLOCK_BYTES = MAX_NOTE_BYTES // 2  # as text of a note it takes a third more
_APPENDING = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class ChatFile:
    """An open ChatMD file, which no other chat can have open at the same time.

    `source` is what it held when it was opened or written anew; `known` up to which byte of that
    nothing is new to the rules, or -1 if nothing is known of it; `edited` whether what was there
    when it was last left is not the same any more; `cut` how many bytes of a torn block were taken
    off. `begun` is the number of the event behind which what is new may have been told, -1 if it
    was not.
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
        """Let others have it."""
        os.close(self._descriptor)

    @property
    def replies(self) -> int:
        """How often the model had answered when the last turn began."""
        return self._note.replies

    def turn_begins(self, replies: int) -> None:
        """Note how often the model has answered before a turn."""
        self._keep(replace(self._now(), replies=replies))

    def append(self, text: str) -> None:
        """Add blocks at the end; a kill leaves all of it or, at the next opening, nothing."""
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
        """Put another text in the place of this one, in one step.

        `replies` is how often the model had answered when the turn began, as it is counted there.
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
        """Note that what begins at this byte is about to be told, in events behind a number."""
        self._untold, self._told_after = at, after
        self._keep(self._now())

    def settle(self) -> None:
        """Note that the file is as it should be, and that all of it was told."""
        self._untold = -1
        self._keep(self._now())

    def forget(self) -> None:
        """Nobody will go on with this file: what was noted of it is not needed."""
        self._keeper.forget()

    def read_again(self) -> SourceFile:
        """The file as it lies there now."""
        return _decoded(self.name, _read(self._descriptor, self.name))

    def _refuse_other_hands(self) -> None:
        """Whoever edits the file meanwhile must lose nothing, nor must the chat."""
        with failing_plainly("find", self.name):
            ours = os.fstat(self._descriptor)
            there = os.lstat(as_bytes(self._path))
        if (there.st_dev, there.st_ino, there.st_size) != (ours.st_dev, ours.st_ino, self._length):
            message = f"`{self.name}` was changed by somebody else while the chat ran; start again"
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
        """The file without a torn tail; what is known of it is told."""
        note = self._keeper.last()
        self.known, self.edited, self.cut = -1, False, 0
        self._note = note or Note(0, "")
        self._untold, self._told_after = -1, 0
        self.begun = self._note.told_after if self._note.untold >= 0 else -1
        if note is None:
            return data
        if note.rewrite:
            with suppress(OSError):
                os.unlink(as_bytes(self._spare(note.rewrite)))  # noqa: PTH108 - takes no bytes
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
        """The file without a block that was torn some other way; the piece is kept aside.

        Behind what is known, and in what was edited, a person wrote: then nothing is taken away.
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
        """Where a new text is written before it takes the place of the old one."""
        return f"{self._path}.{digest[:16]}"


def _opened(path: str, name: str) -> int:
    try:
        descriptor = os.open(as_bytes(path), _APPENDING)
    except PermissionError:
        raise  # it may be read, but not written to
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable(name, wrong)]) from None
    problem = _problem_with(descriptor, name)
    if problem is not None:
        os.close(descriptor)
        raise problem
    return descriptor


def _problem_with(descriptor: int, name: str) -> BylawError | None:
    if not S_ISREG(os.fstat(descriptor).st_mode):
        return LoadError([unreadable(name, ValueError("it is no regular file"))])
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return BylawError(f"another chat has `{name}` open; end it first")
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
        raise BylawError(f"`{name}` is no UTF-8 text: {wrong}") from None


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _replaced(path: str, old: int, data: bytes, temporary: str) -> int:
    """A new file in the place of an open one, with its mode, open and locked."""
    mode = S_IMODE(os.fstat(old).st_mode)
    new = os.open(as_bytes(temporary), _APPENDING | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.fchmod(new, mode)
        flock(new, LOCK_EX | LOCK_NB)
        _write_all(new, data)
        os.fsync(new)
        os.rename(as_bytes(temporary), as_bytes(path))  # noqa: PTH104 - a Path takes no bytes
    except OSError:
        os.close(new)
        with suppress(OSError):
            os.unlink(as_bytes(temporary))  # noqa: PTH108 - a Path takes no bytes
        raise
    return new
