"""The open ChatMD file of a chat: it appends blocks, and no block is lost or left half written.

Before bytes are appended, a note in the state folder records them and the length of the file. If
the process dies while it writes, the next process finds the beginning of these bytes at the end of
the file and cuts it off. A digest of everything written shows whether the file was edited since.
Without a usable note, a torn block is recognised by its text. Other errors were made by a person,
who must fix them: nothing of them is removed.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import sha256
from itertools import islice
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages.chatmd.parser import parse, parse_cached
from bylaw.languages.chatmd.scanner import RAW, RAW_END
from bylaw.model.diagnostic import Severity, has_errors
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.source import EncodingError, SourceFile
from bylaw.store.files import os_error_text, unreadable_error
from bylaw.store.paths import as_bytes
from bylaw.store.state_folder import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from bylaw.store.state_folder import StateFolder

# How many block starts before the first error are tried. The error is inside the torn block.
MAX_TRIES = 3
# Blocks that no person writes. Others can only be torn if bytes of the file are known to be gone.
_CHAT_BLOCK = re.compile(r"^<(?:assistant|tool_call|tool_response)\b", re.MULTILINE)
_ANY_BLOCK = re.compile(
    r"^<(?:assistant|tool_call|tool_response|user|system|developer)\b", re.MULTILINE
)
_TAG = re.compile(r'<([a-z_]+)(?: [a-z_]+=(?:"[^"]*"|[^\s<>"]+))*>')
_PARTIAL_TAG = re.compile(r'^<[a-z_]+(?: [a-z_]+(?:=(?:"[^"]*"?|[^\s<>"]*))?)* ?\Z', re.MULTILINE)
_BEGIN_OF_RAW = f"\n{RAW}\n"
# An end mark inside the content is written as end mark, end mark, start mark.
_ESCAPED_END = RAW_END + RAW
_MARK = re.compile(rf"{re.escape(RAW_END)}({re.escape(_ESCAPED_END)})?")


def find_torn_block(source: SourceFile, *, shortened: bool) -> int | None:
    """Return where the torn block begins, None if there is none.

    `shortened`: bytes of the file are known to be gone.
    """
    text = source.text
    errors = [one for one in parse_cached(source)[1] if one.severity is Severity.ERROR]
    if not errors:
        found = _PARTIAL_TAG.search(text)
        return found.start() if shortened and found else None
    begins = _block_starts(text, _ANY_BLOCK if shortened else _CHAT_BLOCK, errors[0].span.start)
    for at in islice(begins, MAX_TRIES):
        if _is_partial_block(text[at:]) and _is_valid(text[:at]):
            return at
    return None


def _block_starts(text: str, block: re.Pattern[str], until: int) -> Iterator[int]:
    """Return where blocks begin, up to `until`, last first."""
    return reversed([found.start() for found in block.finditer(text) if found.start() <= until])


def _is_valid(text: str) -> bool:
    return not has_errors(parse(SourceFile("", text))[1])


def _is_partial_block(text: str) -> bool:
    """Whether a text is the incomplete beginning of one block."""
    tag = _TAG.match(text)
    if tag is None:
        return _PARTIAL_TAG.fullmatch(text) is not None
    content, end = text[tag.end() :], f"</{tag[1]}>"
    if not content.startswith(_BEGIN_OF_RAW):
        content, less_than, rest = content.partition("<")
        return _is_proper_prefix(end, less_than + rest)
    marks = _MARK.finditer(content, len(_BEGIN_OF_RAW))
    rest = next((content[mark.end() :] for mark in marks if not mark[1]), "")
    return _is_proper_prefix(f"\n{end}", rest) or _is_proper_prefix(_ESCAPED_END, rest)


def _is_proper_prefix(whole: str, text: str) -> bool:
    return whole.startswith(text) and text != whole


# A note contains one append in base64. The longest append is a turn of the model.
MAX_NOTE_BYTES = 64 << 20


class CrashNote(Struct, frozen=True, omit_defaults=True):
    """The length and digest of a file, and what was about to be written to it.

    `pending` are blocks that may have been appended. `rewrite` is the digest of a text that may
    have replaced the file. `replies` is the number of model replies when the turn began;
    `rewrite_replies` is the same number, counted in the text of `rewrite`. `untold` is the byte at
    which text of a person begins that events may not cover yet, -1 if there is none; its events
    come after event number `told_after`.
    """

    length: int
    digest: str
    pending: bytes = b""
    rewrite: str = ""
    rewrite_replies: int = 0
    replies: int = 0
    untold: int = -1
    told_after: int = 0


class CrashNoteStore:
    """The note of one file, in the state folder of its root.

    All methods raise BylawError if the state folder cannot be used.
    """

    def __init__(self, path: str, root: str, name: str) -> None:
        self._name = name
        self._root = root
        self._key = f"chat-{sha256(as_bytes(path)).hexdigest()[:32]}.json"

    def last(self) -> CrashNote | None:
        """Return the last note, None if there is none or it is invalid."""
        with self._folder("read the note of") as folder:
            data = folder.read(self._key, MAX_NOTE_BYTES)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=CrashNote)
        except msgspec.MsgspecError:
            return None

    def keep(self, note: CrashNote) -> None:
        """Replace the last note."""
        with self._folder("write the note of") as folder:
            folder.write(self._key, msgspec.json.encode(note), lasting=False)

    def forget(self) -> None:
        """Delete the note."""
        with self._folder("delete the note of") as folder:
            folder.remove(self._key)

    def save_torn_piece(self, torn: bytes) -> None:
        """Save the piece of a torn block that will be cut off."""
        with self._folder("save a torn piece of") as folder:
            folder.write(f"{self._key}.torn", torn)

    @contextmanager
    def _folder(self, do: str) -> Iterator[StateFolder]:
        with translate_os_errors(do, self._name), state_folder(self._root) as folder:
            yield folder


@contextmanager
def translate_os_errors(do: str, name: str) -> Iterator[None]:
    """Turn an OSError into a one-line BylawError: `cannot DO NAME: why`."""
    try:
        yield
    except OSError as wrong:
        raise BylawError(f"cannot {do} `{name}`: {os_error_text(wrong)}") from None


MAX_CHAT_BYTES = 256 << 20
MAX_BLOCK_BYTES = MAX_NOTE_BYTES // 2  # base64 in the note adds a third
_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


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
        self._keeper = CrashNoteStore(path, root, name)
        with translate_os_errors("write", name):
            self._descriptor = _open_locked(path, name)
        try:
            data = self._cut_torn_block(self._recover(_read_bytes(self._descriptor, name)))
            self.source = _decode(name, data)
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

    def note_turn(self, replies: int) -> None:
        """Note the number of model replies before a turn."""
        self._save_note(replace(self._current_note(), replies=replies))

    def append(self, text: str) -> None:
        """Append blocks. After a kill, the file has all of them or the next chat removes them."""
        self._require_unchanged()
        data = text.encode()
        if len(data) > MAX_BLOCK_BYTES or self._length + len(data) > MAX_CHAT_BYTES:
            raise self._too_large()
        self._save_note(replace(self._current_note(), pending=data))
        with translate_os_errors("write", self.name):
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
        self._require_unchanged()
        data = text.encode()
        if len(data) > MAX_CHAT_BYTES:
            raise self._too_large()
        digest = sha256(data)
        self._save_note(
            replace(self._current_note(), rewrite=digest.hexdigest(), rewrite_replies=replies)
        )
        spare = self._temporary_path(digest.hexdigest())
        with translate_os_errors("write", self.name):
            descriptor = _replace_file(self._path, self._descriptor, data, spare)
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._hash, self._length = digest, len(data)
        self.source = SourceFile(self.name, text)
        self._untold = -1
        self.note_turn(replies)

    def note_submission(self, at: int, after: int) -> None:
        """Note that the text from byte `at` on will be submitted now, after event `after`."""
        self._untold, self._told_after = at, after
        self._save_note(self._current_note())

    def settle(self) -> None:
        """Note that the file is complete and that events cover all of it."""
        self._untold = -1
        self._save_note(self._current_note())

    def forget(self) -> None:
        """Delete the note: no process will resume this file."""
        self._keeper.forget()

    def read_again(self) -> SourceFile:
        """Read the file from disk again."""
        return _decode(self.name, _read_bytes(self._descriptor, self.name))

    def _require_unchanged(self) -> None:
        """Raise BylawError if the file was edited or replaced, so that no text gets lost."""
        with translate_os_errors("find", self.name):
            ours = os.fstat(self._descriptor)
            there = os.lstat(as_bytes(self._path))
        if (there.st_dev, there.st_ino, there.st_size) != (ours.st_dev, ours.st_ino, self._length):
            message = f"`{self.name}` changed while the chat was running; start the chat again"
            raise BylawError(message)

    def _too_large(self) -> BylawError:
        return BylawError(f"`{self.name}` would become too large; nothing was written")

    def _current_note(self) -> CrashNote:
        return CrashNote(
            self._length,
            self._hash.hexdigest(),
            replies=self._note.replies,
            untold=self._untold,
            told_after=self._told_after,
        )

    def _save_note(self, note: CrashNote) -> None:
        self._keeper.keep(note)
        self._note = note

    def _recover(self, data: bytes) -> bytes:
        """Return the file without a torn tail, and set the attributes that the note decides."""
        note = self._keeper.last()
        self.known, self.edited, self.cut = -1, False, 0
        self._note = note or CrashNote(0, "")
        self._untold, self._told_after = -1, 0
        self.begun = self._note.told_after if self._note.untold >= 0 else -1
        if note is None:
            return data
        if note.rewrite:
            with suppress(OSError):
                os.unlink(as_bytes(self._temporary_path(note.rewrite)))  # noqa: PTH108 - Path rejects bytes
        if note.rewrite and sha256(data).hexdigest() == note.rewrite:
            self.known = len(data)
            self._note = replace(note, replies=note.rewrite_replies)
            return data
        return self._cut_torn_tail(data, note)

    def _cut_torn_tail(self, data: bytes, note: CrashNote) -> bytes:
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

    def _cut_torn_block(self, data: bytes) -> bytes:
        """Return the file without a block that was torn in another way; save the removed piece.

        Remove nothing that a person may have written: text after the known part, or text of an
        edited file that did not get shorter.
        """
        shortened = self.edited and len(data) < self._note.length
        if self.known >= 0 or (self.edited and not shortened):
            return data
        source = SourceFile(self.name, data.decode(errors="ignore"))
        at = find_torn_block(source, shortened=shortened)
        if at is None:
            return data
        kept = source.text[:at].encode()
        self._keeper.save_torn_piece(data[len(kept) :])
        self._cut_to(len(kept))
        self.cut += len(data) - len(kept)
        return kept

    def _cut_to(self, length: int) -> None:
        with translate_os_errors("write", self.name):
            os.ftruncate(self._descriptor, length)

    def _temporary_path(self, digest: str) -> str:
        """Path of the temporary file to which `rewrite` writes the new text."""
        return f"{self._path}.{digest[:16]}"


def _open_locked(path: str, name: str) -> int:
    try:
        descriptor = os.open(as_bytes(path), _APPEND_FLAGS)
    except PermissionError:
        raise  # reported as `cannot write`: the file may be readable
    except (OSError, ValueError) as wrong:
        raise LoadError([unreadable_error(name, wrong)]) from None
    problem = _problem_with(descriptor, name)
    if problem is not None:
        os.close(descriptor)
        raise problem
    return descriptor


def _problem_with(descriptor: int, name: str) -> BylawError | None:
    if not S_ISREG(os.fstat(descriptor).st_mode):
        return LoadError([unreadable_error(name, ValueError("it is not a regular file"))])
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return BylawError(f"another chat has `{name}` open; exit it first")
    return None


def _read_bytes(descriptor: int, name: str) -> bytes:
    pieces, at = [], 0
    with translate_os_errors("read", name):
        size = os.fstat(descriptor).st_size
        if size > MAX_CHAT_BYTES:
            raise BylawError(f"`{name}` is larger than {MAX_CHAT_BYTES:,} bytes")
        while at < size and (piece := os.pread(descriptor, size - at, at)):
            pieces.append(piece)
            at += len(piece)
    return b"".join(pieces)


def _decode(name: str, data: bytes) -> SourceFile:
    try:
        return SourceFile.decode(name, data)
    except EncodingError as wrong:
        raise BylawError(f"`{name}` is not UTF-8 text: {wrong}") from None


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _replace_file(path: str, old: int, data: bytes, temporary: str) -> int:
    """Replace an open file by a new one with the same mode. Return it open and locked."""
    mode = S_IMODE(os.fstat(old).st_mode)
    new = os.open(as_bytes(temporary), _APPEND_FLAGS | os.O_CREAT | os.O_EXCL, mode)
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
