"""Cache of what a language noted about rule texts without errors, so that the next start is faster.

One file per language and root, in the user's cache folder. A file that is unreadable, damaged, too
large, writable by other users or of another version is ignored; texts are then checked again. A
note is data that its language decodes strictly.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from bylaw.runtime.check_version import check_version
from bylaw.runtime.own_folder import read_own, user_cache, write_cached
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.dialects.base import Dialect

MAX_CACHE_BYTES = 64 * 1024 * 1024
MAX_UNUSED = 1000  # notes kept although their texts were not loaded this time
MAX_FILES = 500  # of all roots; the oldest are removed
PREFIX = "rules-"


class _Notes(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The payload of a file; its digest comes before it."""

    version: str
    notes: dict[str, bytes]


_DECODER = msgspec.msgpack.Decoder(_Notes)
_DIGEST_BYTES = sha256().digest_size


class CheckCache:
    """The notes of one language about the texts of one root, by the digests of the texts."""

    def __init__(self, dialect: Dialect, root: str) -> None:
        self._dialect = dialect
        self._folder = user_cache(root)
        self._name = PREFIX + sha256(as_bytes(f"{dialect.name}\n{root}")).hexdigest()
        self._stored = self._read()
        self._used: dict[str, bytes] = {}
        self._new = False

    def recall(self, digest: str) -> bytes:
        """Return the note about a text; empty if there is none."""
        note = self._stored.get(digest, b"")
        if note:
            self._used[digest] = note
        return note

    def note(self, notes: Mapping[str, bytes]) -> None:
        """Add notes for the next start."""
        self._new = self._new or any(self._stored.get(key) != notes[key] for key in notes)
        self._used.update(notes)

    def keep(self) -> None:
        """Write the notes in use if some are new. If that fails, the next start checks again."""
        if not self._new or not self._folder:
            return
        unused = ((key, note) for key, note in self._stored.items() if key not in self._used)
        notes = self._used | dict(islice(unused, MAX_UNUSED))
        payload = msgspec.msgpack.encode(_Notes(check_version(self._dialect), notes))
        data = sha256(payload).digest() + payload
        if len(data) <= MAX_CACHE_BYTES:
            write_cached(self._folder, self._name, data, (PREFIX, MAX_FILES))

    def _read(self) -> dict[str, bytes]:
        data = read_own(self._folder, self._name, MAX_CACHE_BYTES) if self._folder else b""
        payload = memoryview(data)[_DIGEST_BYTES:]
        if sha256(payload).digest() != data[:_DIGEST_BYTES]:
            return {}
        try:
            found = _DECODER.decode(payload)
        except msgspec.MsgspecError:
            return {}
        return found.notes if found.version == check_version(self._dialect) else {}
