"""Ask git which paths it ignores. One process answers all questions.

Git reads the patterns of a folder when it first meets a path there, but those at the top only when
it starts. So call `forget` when patterns change.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.worktree.git.git import Git

# Without the index, because git would read it only once. The caller knows which files are tracked.
_NAME = "check-ignore"
_QUESTION = (_NAME, "--stdin", "-z", "--verbose", "--non-matching", "--no-index")
_PARTS = 4  # of an answer: the file of the pattern, its line, the pattern, the path
_MAX_QUESTION = 4096  # bytes: every pipe accepts this many before the other side reads
_HERE = b"./"  # before each path, so that none is read as an option or a pattern


class Ignoring:
    """Asks git in the work tree at `root`. Raises BylawError if git does not answer."""

    def __init__(self, git: Git, root: str) -> None:
        self._git, self._root = git, root
        # A random name at the top: it marks the end, and makes git leave the folder it was in.
        self._end = f"{_HERE.decode()}{secrets.token_hex(16)}\0".encode()

    def of(self, paths: Iterable[bytes]) -> set[bytes]:
        """Return the ignored paths. A folder may end with `/`."""
        most = _MAX_QUESTION - len(self._end)
        return {path for some in _parts(paths, most) for path in self._of(some)}

    def forget(self) -> None:
        """Stop the process, so that the next question reads all patterns again."""
        self._git.hang_up(_NAME)

    def _of(self, paths: list[bytes]) -> Iterator[bytes]:
        question = b"".join(_HERE + path.removesuffix(b"/") + b"\0" for path in paths)
        answer = self._git.ask(self._root, *_QUESTION, question=question + self._end, end=self._end)
        patterns = answer.split(b"\0")[2::_PARTS]
        for path, pattern in zip(paths, patterns, strict=False):  # the last pattern is the mark's
            if pattern and not pattern.startswith(b"!"):
                yield path


def _parts(paths: Iterable[bytes], most: int) -> Iterator[list[bytes]]:
    """Split paths into questions of at most `most` bytes. A longer path gets its own question."""
    some: list[bytes] = []
    size = 0
    for path in paths:
        own = len(_HERE) + len(path) + 1
        if some and size + own > most:
            yield some
            some, size = [], 0
        some.append(path)
        size += own
    if some:
        yield some
