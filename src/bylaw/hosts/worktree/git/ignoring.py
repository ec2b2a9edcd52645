"""Paths → those that git ignores, by one process however often somebody asks.

It reads the patterns of a folder when it comes to it, but those at the top only when it starts. So
where they change, `forget`.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.worktree.git.git import Git

# Without the index, which it would read only once: whoever asks knows what is tracked.
_NAME = "check-ignore"
_QUESTION = (_NAME, "--stdin", "-z", "--verbose", "--non-matching", "--no-index")
_PARTS = 4  # of an answer: the file of the pattern, its line, the pattern, the path
_MAX_QUESTION = 4096  # bytes: what every pipe takes before somebody reads
_HERE = b"./"  # before each, so that none looks like an option or a pattern


class Ignoring:
    """Asks git in the work tree at `root`; BylawError if it does not answer."""

    def __init__(self, git: Git, root: str) -> None:
        self._git, self._root = git, root
        # A file at the top that there is not: with it git leaves the folder that it was in.
        self._end = f"{_HERE.decode()}{secrets.token_hex(16)}\0".encode()

    def of(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those that are ignored; a folder may end with a `/`."""
        most = _MAX_QUESTION - len(self._end)
        return {path for some in _parts(paths, most) for path in self._of(some)}

    def forget(self) -> None:
        """Patterns have changed."""
        self._git.hang_up(_NAME)

    def _of(self, paths: list[bytes]) -> Iterator[bytes]:
        question = b"".join(_HERE + path.removesuffix(b"/") + b"\0" for path in paths)
        answer = self._git.ask(self._root, *_QUESTION, question=question + self._end, end=self._end)
        patterns = answer.split(b"\0")[2::_PARTS]
        for path, pattern in zip(paths, patterns, strict=False):  # behind them, that of the end
            if pattern and not pattern.startswith(b"!"):
                yield path


def _parts(paths: Iterable[bytes], most: int) -> Iterator[list[bytes]]:
    """Paths in parts whose questions are so long at most, or one path."""
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
