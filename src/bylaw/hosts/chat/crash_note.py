"""What is noted of a ChatMD file beside the journal, for whoever opens it after a crash."""

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

# A note holds what is appended at once, in base64; the longest of it is a turn of the model.
MAX_NOTE_BYTES = 64 << 20


class Note(Struct, frozen=True, omit_defaults=True):
    """What is known of a file: its length and digest, and what was about to be written.

    `pending` are blocks that may have been appended, `rewrite` the digest of a text that may have
    taken the file's place. `replies` is how often the model had answered when the turn began, and
    `rewrite_replies` how often by the count of that text. `untold` is where what a person wrote
    begins of which not all is told by events, -1 if nowhere; its events come behind `told_after`.
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
    """The note of one file, in the state folder of its root; BylawError if that cannot be used."""

    def __init__(self, path: str, root: str, name: str) -> None:
        self._name = name
        self._root = root
        self._key = f"chat-{sha256(as_bytes(path)).hexdigest()[:32]}.json"

    def last(self) -> Note | None:
        """What was noted last, None if nothing is known."""
        with self._folder("read the note of") as folder:
            data = folder.read(self._key, MAX_NOTE_BYTES)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=Note)
        except msgspec.MsgspecError:
            return None

    def keep(self, note: Note) -> None:
        """Put a note in the place of the last one."""
        with self._folder("keep a note of") as folder:
            folder.write(self._key, msgspec.json.encode(note), lasting=False)

    def forget(self) -> None:
        """Take the note away."""
        with self._folder("forget") as folder:
            folder.remove(self._key)

    def set_aside(self, torn: bytes) -> None:
        """Keep the piece of a torn block that is about to be cut off."""
        with self._folder("keep a torn piece of") as folder:
            folder.write(f"{self._key}.torn", torn)

    @contextmanager
    def _folder(self, do: str) -> Iterator[StateFolder]:
        with failing_plainly(do, self._name), state_folder(self._root) as folder:
            yield folder


@contextmanager
def failing_plainly(do: str, name: str) -> Iterator[None]:
    """What the operating system refuses while something is done to a file is told in a line."""
    try:
        yield
    except OSError as wrong:
        raise BylawError(f"cannot {do} `{name}`: {in_plain_words(wrong)}") from None
