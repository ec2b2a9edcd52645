"""Compute the present status of git from an earlier one and the files that changed since.

This is valid only while the index and HEAD are the same. If git may store a file in another form
than the work tree has, such as with other line ends, only git can tell the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.worktree.git.git_output import GITLINK, Dirty
from bylaw.runtime.paths import as_text
from bylaw.runtime.reading import regular_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from bylaw.hosts.worktree.git.contents import Content
    from bylaw.hosts.worktree.git.git_output import GitStatus, Version
    from bylaw.hosts.worktree.git.index_file import IndexFile

MAX_READ = 16 << 20
_FILE_MODES = ("100644", "100755")
_CONVERTED = (b"\r", b"$Id")  # git may store a file that contains these in another form


class OnlyGitCanTellError(Exception):
    """The status cannot be computed without git."""


class Patch:
    """Updates the status of one repository.

    `index` is the index at the earlier status, `committed` returns the version of a file in HEAD,
    and `there` has the files that existed at the earlier status.
    """

    def __init__(
        self,
        root: str,
        index: IndexFile,
        committed: Callable[[bytes], Version | None],
        there: Container[bytes],
    ) -> None:
        self._root, self._index = root, index
        self._committed, self._there = committed, there

    def of(self, status: GitStatus, now: Mapping[bytes, Content]) -> GitStatus:
        """Return the present status, given the present contents of changed files.

        Raise OnlyGitCanTellError if it cannot be computed.
        """
        files = dict(status.files)
        for path, content in now.items():
            known = files.pop(path, None)
            if known is None:
                dirty = self._was_clean(path, content)
            else:
                dirty = self._was_dirty(path, content, known)
            if dirty is not None:
                files[path] = dirty
        return replace(status, files=files)

    def _was_dirty(self, path: bytes, content: Content, known: Dirty) -> Dirty | None:
        if known.is_untracked:
            if content.digest:
                return _untracked(content, known.head)
            # The file was removed from the index and is now gone as well.
            return known.head and replace(_gone(known.head, None), as_in_index=True)
        if not content.digest:
            return replace(known, mode="", is_there=False, as_in_index=known.index is None)
        if known.index is None or known.is_unmerged:
            raise OnlyGitCanTellError
        return self._tracked(path, content, known.head, known.index, known.mode)

    def _was_clean(self, path: bytes, content: Content) -> Dirty | None:
        if not self._index.is_plain:
            raise OnlyGitCanTellError
        version = self._committed(path) if path in self._there else None
        if version is None:
            return _untracked(content, None) if content.digest else None
        if not content.digest:
            return _gone(version, version)
        return self._tracked(path, content, version, version, version.mode)

    def _tracked(
        self, path: bytes, content: Content, head: Version | None, index: Version, mode: str
    ) -> Dirty | None:
        now = content.version
        # Git can be configured to ignore modes.
        if now is None or now.mode not in (mode or now.mode, index.mode):
            raise OnlyGitCanTellError
        if now.name == index.name:
            if now.mode != index.mode or self._index.size(path) not in (0, content.size):
                raise OnlyGitCanTellError
            as_index = Dirty(head, index, now.mode, is_there=True, as_in_index=True)
            return None if head == index else as_index
        if now.mode in _FILE_MODES and self._may_be_converted(path):
            raise OnlyGitCanTellError
        return Dirty(head, index, now.mode, is_there=True)

    def _may_be_converted(self, path: bytes) -> bool:
        try:
            data = regular_bytes(f"{self._root}/{as_text(path)}", MAX_READ, links=False)
        except (OSError, ValueError):
            return True
        return len(data) > MAX_READ or any(sign in data for sign in _CONVERTED)


def _untracked(content: Content, head: Version | None) -> Dirty:
    is_repository = content.version is None or content.version.mode == GITLINK
    mode = GITLINK if is_repository else ""
    return Dirty(head, None, mode, is_there=True, is_untracked=True)


def _gone(head: Version, index: Version | None) -> Dirty:
    return Dirty(head, index, "", is_there=False)
