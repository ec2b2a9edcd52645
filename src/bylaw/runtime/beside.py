"""A path that a rule names → the text of that file below the folder of the rule file.

What was read is remembered, since rules depend on it: it belongs to the digest of their book.
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

MAX_ALL_BESIDE_BYTES = 16 * 1024 * 1024  # of all rule files that are loaded together
MAX_SHOWN = 200  # characters of a path in a reason

_REFUSED = (
    (re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]"), "has a control character in its path"),
    (re.compile(r"\\"), "has a backslash: folders are separated by `/`"),
    (re.compile(r"\A/"), "is absolute: a path begins at the folder of the rule file"),
    (re.compile(r"\A\Z|//|/\Z"), "is no path of a file: a part of it is empty"),
)


class Surroundings:
    """The files beside all rule files of one load, as long as they are not too large together."""

    def __init__(self) -> None:
        self._left = MAX_ALL_BESIDE_BYTES
        self._real = cache(real_path)  # of folders: most files share one
        self._text = cache(self._read)  # a script may serve many rules

    def of(self, location: str) -> FilesBeside:
        """What lies beside a rule file, by where that was found."""
        return FilesBeside(folder_of(location), self)

    def read(self, folder: str, path: str) -> str:
        """The text of a file below a folder; BesideError says why not."""
        for refused, why in _REFUSED:
            if refused.search(path):
                raise _error(path, why)
        if normpath(path).partition("/")[0] == "..":
            raise _error(path, "leaves the folder of the rule file")
        return self._text(folder, path)

    def _read(self, folder: str, path: str) -> str:
        data = self._bytes(folder, path)
        if len(data) > MAX_SCRIPT_BYTES:
            raise _error(path, f"is larger than {MAX_SCRIPT_BYTES:,} bytes")
        self._left -= len(data)
        if self._left < 0:
            limit = f"{MAX_ALL_BESIDE_BYTES:,} bytes"
            raise _error(path, f"is too much: the files beside all rules are larger than {limit}")
        try:
            return SourceFile.decode(path, data).text
        except EncodingError as wrong:
            raise _error(path, f"is not UTF-8 text: byte 0x{wrong.byte:02x}") from None

    def _bytes(self, folder: str, path: str) -> bytes:
        try:
            real = real_path(f"{folder}/{path}")
            if not lies_in(real, self._real(folder)):
                raise _error(path, "is a link that leaves the folder of the rule file")
            return regular_bytes(real, MAX_SCRIPT_BYTES, links=False)
        except (FileNotFoundError, NotADirectoryError):
            raise _error(path, "is not there") from None
        except (OSError, ValueError) as wrong:
            raise _error(path, f"cannot be read: {in_plain_words(wrong)}") from None


class FilesBeside:
    """The files below the folder of one rule file; `texts` are those that were read, by path."""

    def __init__(self, folder: str, surroundings: Surroundings) -> None:
        self.texts: dict[str, str] = {}
        self._folder = folder
        self._surroundings = surroundings

    def read(self, path: str) -> str:
        """The text of a file, by its path from the folder; BesideError says why not."""
        text = self._surroundings.read(self._folder, path)
        self.texts[path] = text
        return text


def _error(path: str, why: str) -> BesideError:
    return BesideError(f"`{clipped(path, MAX_SHOWN)}` {why}")
