"""Read files next to a rule file that its rules name, such as scripts.

Every text that was read is recorded: it is part of the digest of the book, as rules depend on it.
"""

from __future__ import annotations

import re
from functools import cache
from posixpath import normpath

from bylaw.dialects.base import BesideError
from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.model.source import EncodingError, SourceFile
from bylaw.model.visible import clipped
from bylaw.runtime.paths import folder_of, lies_in, real_path
from bylaw.runtime.reading import in_plain_words, regular_bytes

MAX_ALL_BESIDE_BYTES = 16 * 1024 * 1024  # for all rule files of one load
MAX_SHOWN = 200  # characters of a path in a reason

_REFUSED = (
    (re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]"), "contains a control character"),
    (re.compile(r"\\"), "contains a backslash; separate folders with `/`"),
    (re.compile(r"\A/"), "is absolute; write it relative to the folder of the rule file"),
    (re.compile(r"\A\Z|//|/\Z"), "is not the path of a file: a part of it is empty"),
)


class Surroundings:
    """The files next to all rule files of one load, up to a total size."""

    def __init__(self) -> None:
        self._left = MAX_ALL_BESIDE_BYTES
        self._real = cache(real_path)  # of folders: most files share one
        self._text = cache(self._read)  # a script may serve many rules

    def of(self, location: str) -> FilesBeside:
        """Return the files next to the rule file at a location."""
        return FilesBeside(folder_of(location), self)

    def read(self, folder: str, path: str) -> str:
        """Read a file below a folder; BesideError says why it cannot be read."""
        for refused, why in _REFUSED:
            if refused.search(path):
                raise _error(path, why)
        if normpath(path).partition("/")[0] == "..":
            raise _error(path, "leads out of the folder of the rule file")
        return self._text(folder, path)

    def _read(self, folder: str, path: str) -> str:
        data = self._bytes(folder, path)
        if len(data) > MAX_SCRIPT_BYTES:
            raise _error(path, f"is larger than {MAX_SCRIPT_BYTES:,} bytes")
        self._left -= len(data)
        if self._left < 0:
            limit = f"{MAX_ALL_BESIDE_BYTES:,} bytes"
            raise _error(path, f"is too much: files that rule files name exceed {limit} together")
        try:
            return SourceFile.decode(path, data).text
        except EncodingError as wrong:
            raise _error(path, f"is not UTF-8 text: byte 0x{wrong.byte:02x}") from None

    def _bytes(self, folder: str, path: str) -> bytes:
        try:
            real = real_path(f"{folder}/{path}")
            if not lies_in(real, self._real(folder)):
                raise _error(path, "is a link that leads out of the folder of the rule file")
            return regular_bytes(real, MAX_SCRIPT_BYTES, links=False)
        except (FileNotFoundError, NotADirectoryError):
            raise _error(path, "does not exist") from None
        except (OSError, ValueError) as wrong:
            raise _error(path, f"cannot be read: {in_plain_words(wrong)}") from None


class FilesBeside:
    """The files below the folder of one rule file; `texts` are those that were read, by path."""

    def __init__(self, folder: str, surroundings: Surroundings) -> None:
        self.texts: dict[str, str] = {}
        self._folder = folder
        self._surroundings = surroundings

    def read(self, path: str) -> str:
        """Read a file by its path from the folder; BesideError says why it cannot be read."""
        text = self._surroundings.read(self._folder, path)
        self.texts[path] = text
        return text


def _error(path: str, why: str) -> BesideError:
    return BesideError(f"`{clipped(path, MAX_SHOWN)}` {why}")
