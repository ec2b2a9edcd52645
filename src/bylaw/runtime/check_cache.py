"""Cache of what a language noted about rule texts without errors, so that the next start is faster.

One file per language and root, in the user's cache folder. A file that is damaged, too large,
writable by other users or of another version is ignored. The version covers size and time of every
module that a language can use, so no edit of a checker leaves an old result behind.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from bylaw.store.paths import as_bytes, folder_of, is_inside
from bylaw.store.user_state import read_user_file, user_cache, write_cache_file
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bylaw.languages.base import Language

_BYLAW = folder_of(folder_of(__file__))
_LAYERS = ("languages", "expr", "paths", "model")  # the folders that a language can import
# The time of this folder changes when a library is installed in another version, e.g. Jinja2.
_LIBRARIES = folder_of(folder_of(msgspec.__file__))


def check_version(dialect: Language) -> str:
    """Return a digest that changes whenever the same text may be checked differently."""
    module = sys.modules[getattr(dialect, "__name__", type(dialect).__module__)]
    return _module_version(module.__file__ or "")


@cache
def _module_version(module: str) -> str:
    facts = [
        __version__,
        sys.version,
        _modified_at(_LIBRARIES),
        _BYLAW,
        module,
        _modified_at(module),
    ]
    folders = [f"{_BYLAW}/{layer}" for layer in _LAYERS]
    if module.endswith("/__init__.py") and not is_inside(module, _BYLAW):
        folders.append(folder_of(module))
    for folder in folders:
        facts += sorted(_modules(folder))
    return sha256(as_bytes("\n".join(facts))).hexdigest()


def _modules(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found = entry.stat()
                yield f"{entry.path} {found.st_size} {found.st_mtime_ns}"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _modules(entry.path)


def _modified_at(path: str) -> str:
    try:
        return str(os.stat(path).st_mtime_ns)  # noqa: PTH116 - faster than a Path
    except OSError:
        return ""


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

    def __init__(self, dialect: Language, root: str) -> None:
        self._dialect = dialect
        self._folder = user_cache(root)
        self._name = PREFIX + sha256(as_bytes(f"{dialect.name}\n{root}")).hexdigest()
        self._stored = self._read()
        self._used: dict[str, bytes] = {}
        self._new = False

    def find_note(self, digest: str) -> bytes:
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
            write_cache_file(self._folder, self._name, data, (PREFIX, MAX_FILES))

    def _read(self) -> dict[str, bytes]:
        data = read_user_file(self._folder, self._name, MAX_CACHE_BYTES) if self._folder else b""
        payload = memoryview(data)[_DIGEST_BYTES:]
        if sha256(payload).digest() != data[:_DIGEST_BYTES]:
            return {}
        try:
            found = _DECODER.decode(payload)
        except msgspec.MsgspecError:
            return {}
        return found.notes if found.version == check_version(self._dialect) else {}
