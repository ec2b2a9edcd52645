"""Note kept for each open chat file, so that a chat can resume after a crash."""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.model.errors import BylawError
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.state_folder import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.runtime.state_folder import StateFolder

# A note contains one append in base64. The longest append is a turn of the model.
MAX_NOTE_BYTES = 64 << 20


class Note(Struct, frozen=True, omit_defaults=True):
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


class NoteKeeper:
    """The note of one file, in the state folder of its root.

    All methods raise BylawError if the state folder cannot be used.
    """

    def __init__(self, path: str, root: str, name: str) -> None:
        self._name = name
        self._root = root
        self._key = f"chat-{sha256(as_bytes(path)).hexdigest()[:32]}.json"

    def last(self) -> Note | None:
        """Return the last note, None if there is none or it is invalid."""
        with self._folder("read the note of") as folder:
            data = folder.read(self._key, MAX_NOTE_BYTES)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=Note)
        except msgspec.MsgspecError:
            return None

    def keep(self, note: Note) -> None:
        """Replace the last note."""
        with self._folder("write the note of") as folder:
            folder.write(self._key, msgspec.json.encode(note), lasting=False)

    def forget(self) -> None:
        """Delete the note."""
        with self._folder("delete the note of") as folder:
            folder.remove(self._key)

    def set_aside(self, torn: bytes) -> None:
        """Save the piece of a torn block that will be cut off."""
        with self._folder("save a torn piece of") as folder:
            folder.write(f"{self._key}.torn", torn)

    @contextmanager
    def _folder(self, do: str) -> Iterator[StateFolder]:
        with failing_plainly(do, self._name), state_folder(self._root) as folder:
            yield folder


@contextmanager
def failing_plainly(do: str, name: str) -> Iterator[None]:
    """Turn an OSError into a one-line BylawError: `cannot DO NAME: why`."""
    try:
        yield
    except OSError as wrong:
        raise BylawError(f"cannot {do} `{name}`: {in_plain_words(wrong)}") from None
