"""The head of a journal, written where a repository cannot reach: a cut tail shows against it.

One small file of the user's state folder for each journal. It only ever moves forward, and it is
written after the commit: at worst it is a record behind.
"""

from __future__ import annotations

import os
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_UN, flock
from hashlib import sha256
from typing import TYPE_CHECKING

from bylaw.runtime.reading import as_bytes, real_path

if TYPE_CHECKING:
    from typing import Self

# Number, digest, and a digest of both: a torn write is no anchor.
_NUMBER, _DIGEST = 8, 32
_SIZE = _NUMBER + 2 * _DIGEST


class Anchor:
    """Where the head of one journal is noted."""

    def __init__(self, folder: str, journal: str) -> None:
        name = sha256(as_bytes(real_path(journal))).hexdigest()
        self.path = f"{folder}/anchors/{name}"
        self._file: int | None = None

    def move(self, seq: int, chain: bytes) -> None:
        """Note a newer head. That it cannot be noted is not worth a failure: `read` tells."""
        with suppress(OSError):
            if self._file is None:
                self._file = self._open()
            flock(self._file, LOCK_EX)
            try:
                known = _decoded(os.pread(self._file, _SIZE, 0))
                if known is None or known[0] < seq:
                    os.pwrite(self._file, _encoded(seq, chain), 0)
            finally:
                flock(self._file, LOCK_UN)

    def read(self) -> tuple[int, bytes] | None:
        """The head as it was noted last; None if there is none."""
        try:
            with open(as_bytes(self.path), "rb") as stream:  # noqa: PTH123 - a Path takes no bytes
                return _decoded(stream.read(_SIZE))
        except OSError:
            return None

    def forget(self) -> None:
        """The journal begins anew."""
        with suppress(OSError):
            os.unlink(as_bytes(self.path))  # noqa: PTH108 - a Path takes no bytes

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> int:
        folder = self.path.rpartition("/")[0]
        os.makedirs(as_bytes(folder), 0o700, exist_ok=True)  # noqa: PTH103 - a Path takes no bytes
        return os.open(as_bytes(self.path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _encoded(seq: int, chain: bytes) -> bytes:
    head = seq.to_bytes(_NUMBER, "big") + chain
    return head + sha256(head).digest()


def _decoded(data: bytes) -> tuple[int, bytes] | None:
    head, check = data[: _NUMBER + _DIGEST], data[_NUMBER + _DIGEST :]
    if len(data) != _SIZE or sha256(head).digest() != check:
        return None
    return int.from_bytes(head[:_NUMBER], "big"), head[_NUMBER:]
