"""The index of a repository → how large files were when git last saw that they are as staged.

Git may keep a file in another form than it lies there, such as with other line ends. Then the name
of its content does not tell whether it is what it was, but its size does; git goes by it as well.
"""

from __future__ import annotations

from functools import cached_property

from bylaw.runtime.reading import regular_bytes

MAX_INDEX_BYTES = 1 << 30

_HEADER = 12  # bytes: a mark, the version of the format, the number of entries
_PLAIN = b"DIRC\0\0\0\2"
_SIZE_AT = 36  # in an entry; behind it the name of the content, two bytes, the path
_NAME_LENGTHS = {"sha1": 20, "sha256": 32}


class IndexFile:
    """The index in a folder of git, read when somebody first asks; `hash` names what is staged."""

    def __init__(self, folder: str, hash_name: str) -> None:
        self._path = f"{folder}/index"
        self._to_path = _SIZE_AT + 4 + _NAME_LENGTHS[hash_name] + 2

    @property
    def is_plain(self) -> bool:
        """Whether it is in the form that git writes if it was not told to leave out files."""
        return self._data.startswith(_PLAIN)

    def size(self, path: bytes) -> int:
        """How large a file was; zero if that is not known."""
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
                break  # it says that there are more than it holds
            size = data[at + _SIZE_AT : at + _SIZE_AT + 4]
            sizes[data[at + self._to_path : end]] = int.from_bytes(size, "big")
            at += (end - at + 8) & ~7  # filled up with one to eight NULs
        return sizes
