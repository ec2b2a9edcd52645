"""Read file sizes from the git index: the size that a file had when git last saw it as staged.

Git may store a file in another form than the work tree has, such as with other line ends. Then the
hash of its content does not show whether it changed, but its size does. Git does the same.
"""

from __future__ import annotations

from functools import cached_property

from bylaw.runtime.reading import regular_bytes

MAX_INDEX_BYTES = 1 << 30

_HEADER = 12  # bytes: a mark, the version of the format, the number of entries
_PLAIN = b"DIRC\0\0\0\2"
_SIZE_AT = 36  # in an entry; after the size: the hash of the content, two bytes, the path
_NAME_LENGTHS = {"sha1": 20, "sha256": 32}


class IndexFile:
    """The index in a git folder, read when first needed. `hash_name` is its hash algorithm."""

    def __init__(self, folder: str, hash_name: str) -> None:
        self._path = f"{folder}/index"
        self._to_path = _SIZE_AT + 4 + _NAME_LENGTHS[hash_name] + 2

    @property
    def is_plain(self) -> bool:
        """Whether the index has version 2, the form that git writes by default."""
        return self._data.startswith(_PLAIN)

    def size(self, path: bytes) -> int:
        """Return the size of a file, zero if it is not known."""
        return self._sizes.get(path, 0)

    @cached_property
    def _data(self) -> bytes:
        try:
            return regular_bytes(self._path, MAX_INDEX_BYTES)
        except (OSError, ValueError):
            return b""

    @cached_property
    def _sizes(self) -> dict[bytes, int]:
        sizes: dict[bytes, int] = {}
        data, at = self._data, _HEADER
        count = int.from_bytes(data[8:_HEADER], "big") if self.is_plain else 0
        for _ in range(count):
            end = data.find(b"\0", at + self._to_path)
            if end < 0:
                break  # the header claims more entries than the file has
            size = data[at + _SIZE_AT : at + _SIZE_AT + 4]
            sizes[data[at + self._to_path : end]] = int.from_bytes(size, "big")
            at += (end - at + 8) & ~7  # padded with one to eight NULs
        return sizes
