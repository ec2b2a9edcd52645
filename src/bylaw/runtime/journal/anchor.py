"""The head of a journal, written where a repository cannot reach: a cut tail shows against it.

One small file of the user's state folder for each journal. It is written after the commit and
without a lock: at worst it is a few records behind.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from bylaw.runtime.own_folder import open_for_writing, read_own
from bylaw.runtime.paths import as_bytes, real_path

if TYPE_CHECKING:
    from typing import Self

# Those of the journals that were written to last; a machine has fewer.
MAX_ANCHORS = 10_000
# Number and digest; so few bytes are written as a whole.
_NUMBER, _DIGEST = 8, 32
_SIZE = _NUMBER + _DIGEST


class Anchor:
    """Where the head of one journal is noted."""

    def __init__(self, folder: str, journal: str) -> None:
        self._folder = f"{folder}/anchors"
        self._name = sha256(as_bytes(real_path(journal))).hexdigest()
        self._file: int | None = None

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{self._folder}/{self._name}"

    def move(self, seq: int, chain: bytes) -> None:
        """Note a newer head. That it cannot be noted is not worth a failure: `read` tells."""
        try:
            if self._file is None:
                self._file = open_for_writing(self._folder, self._name, MAX_ANCHORS)
            os.pwrite(self._file, seq.to_bytes(_NUMBER, "big") + chain, 0)
        except OSError:
            return

    def read(self) -> tuple[int, bytes] | None:
        """The head as it was noted last; None if there is none."""
        data = read_own(self._folder, self._name, _SIZE)
        if len(data) != _SIZE:
            return None
        return int.from_bytes(data[:_NUMBER], "big"), data[_NUMBER:]

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
