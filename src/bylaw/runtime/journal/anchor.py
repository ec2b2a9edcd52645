"""The last digest of a journal, kept where a repository cannot write it; it shows a cut tail.

One small file per journal in the user's state folder. It is written after the commit and without
a lock, so at worst it is a few records behind.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from bylaw.runtime.own_folder import open_for_writing, read_own
from bylaw.runtime.paths import as_bytes, real_path

if TYPE_CHECKING:
    from typing import Self

# Keep the anchors of the journals written last; a machine has fewer journals than this.
MAX_ANCHORS = 10_000
# Sequence number and digest. So few bytes are written in one piece.
_NUMBER, _DIGEST = 8, 32
_SIZE = _NUMBER + _DIGEST


class Anchor:
    """The anchor of one journal: the number and digest of its last record."""

    def __init__(self, folder: str, journal: str) -> None:
        self._folder = f"{folder}/anchors"
        self._name = sha256(as_bytes(real_path(journal))).hexdigest()
        self._file: int | None = None

    @property
    def path(self) -> str:
        """The path of the anchor file."""
        return f"{self._folder}/{self._name}"

    def move(self, seq: int, chain: bytes) -> None:
        """Store the number and digest of a newer record. If that fails, the old ones stay."""
        try:
            if self._file is None:
                self._file = open_for_writing(self._folder, self._name, MAX_ANCHORS)
            os.pwrite(self._file, seq.to_bytes(_NUMBER, "big") + chain, 0)
        except OSError:
            return

    def read(self) -> tuple[int, bytes] | None:
        """Return the number and digest stored last; None if there are none."""
        data = read_own(self._folder, self._name, _SIZE)
        if len(data) != _SIZE:
            return None
        return int.from_bytes(data[:_NUMBER], "big"), data[_NUMBER:]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
