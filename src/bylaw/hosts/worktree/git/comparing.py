"""Find the files that differ between a baseline and the work tree, by way of HEAD.

A file of the baseline equals HEAD unless git reports a difference between them. A file of the work
tree equals HEAD unless the status lists it. If both differ, or the index has a third version, the
contents are compared: a commit that is reverted in the work tree changes nothing.

The next commit takes its files from the index. So a file is also changed if only its index version
differs from the baseline: undoing a commit in the work tree alone does not undo it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.worktree.git.contents import committed_digest
from bylaw.hosts.worktree.git.git_output import Version, is_ours
from bylaw.hosts.worktree.git.path_text import fact_path_of
from bylaw.model.facts import ChangedFile
from bylaw.model.vocabulary import FileStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from bylaw.hosts.worktree.git.contents import Contents
    from bylaw.hosts.worktree.git.git_output import Difference, Dirty, GitStatus


class Comparison:
    """Compares the present work tree with commits and captured files."""

    def __init__(self, status: GitStatus, contents: Contents) -> None:
        self._dirty = status.files
        self._contents = contents

    def changed(
        self, differences: Mapping[bytes, Difference], without: Collection[bytes] = ()
    ) -> list[ChangedFile]:
        """Return the files that differ from a commit, sorted.

        `differences` are those between the commit and HEAD. Paths in `without` are left out.
        """
        paths = self._dirty.keys() | differences.keys()
        todo = sorted(paths.difference(without))
        found = (self._compared(path, differences.get(path)) for path in todo)
        return [change for change in found if change is not None]

    def changed_since(self, digests: Mapping[bytes, str]) -> list[ChangedFile]:
        """Return the files whose content differs from the captured digest."""
        todo = sorted((path, digest) for path, digest in digests.items() if not is_ours(path))
        found = (self._since(path, digest) for path, digest in todo)
        return [change for change in found if change is not None]

    def only_in_index(
        self, differences: Mapping[bytes, Difference], known: Mapping[bytes, str]
    ) -> list[ChangedFile]:
        """Return the files whose index version is neither in the commit nor in the work tree.

        `known` are digests of staged versions at the baseline. They are not changes.
        """
        found = []
        for path, dirty in self._dirty.items():
            if not dirty.is_not_as_in_index:
                continue
            then = differences[path].old if path in differences else dirty.head
            digest = staged_digest(dirty)
            if dirty.index != then and known.get(path) != digest:
                found.append(_change(path, is_new=then is None, digest=digest))
        return found

    def _since(self, path: bytes, then: str) -> ChangedFile | None:
        now = self._contents.of(path).digest
        return None if then == now else _change(path, is_new=not then, digest=now)

    def _compared(self, path: bytes, difference: Difference | None) -> ChangedFile | None:
        dirty = self._dirty.get(path)
        if dirty is None:
            assert difference is not None
            return self._clean(path, difference)
        then = dirty.head if difference is None else difference.old
        if not dirty.is_there:
            return None if then is None else _change(path, is_new=False, digest="")
        if then is not None and self._is_same(path, dirty, then, difference):
            return None
        digest = self._contents.of(path).digest
        # The file may have been removed since git read the status.
        if not digest:
            return None if then is None else _change(path, is_new=False, digest="")
        return _change(path, is_new=then is None, digest=digest)

    def _clean(self, path: bytes, difference: Difference) -> ChangedFile | None:
        now = difference.new
        if now is None:
            return _change(path, is_new=False, digest="")
        # A file that is not checked out still has the content of the commit.
        digest = self._contents.of(path).digest or committed_digest(now)
        return _change(path, is_new=difference.old is None, digest=digest)

    def _is_same(
        self, path: bytes, dirty: Dirty, then: Version, difference: Difference | None
    ) -> bool:
        if dirty.as_in_index:
            return dirty.index == then
        if difference is None and dirty.index == dirty.head:
            return False  # git has already compared them
        now = self._contents.of(path).version
        # Git can be configured to ignore modes.
        return now is not None and Version(dirty.mode or now.mode, now.name) == then


def _change(path: bytes, *, is_new: bool, digest: str) -> ChangedFile:
    status = FileStatus.ADDED if is_new else FileStatus.MODIFIED
    if not digest:
        status = FileStatus.DELETED
    return ChangedFile(path=fact_path_of(path), status=status, digest=digest)


def staged_digest(dirty: Dirty) -> str:
    """Return the digest of the staged version, empty for a removal."""
    return "" if dirty.index is None else committed_digest(dirty.index)


def in_order(
    files: Iterable[ChangedFile], staged: Iterable[ChangedFile] = ()
) -> tuple[ChangedFile, ...]:
    """Sort changes by path. The work tree wins if a file is in both lists."""
    by_path = {file.path: file for file in (*staged, *files)}
    return tuple(by_path[path] for path in sorted(by_path))
