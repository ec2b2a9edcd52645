"""A baseline, HEAD and the work tree → the files that differ between the first and the last.

HEAD stands between them: a file was what HEAD has, unless the two differ, and it is what HEAD has,
unless it is dirty. Only where both is so, or the index is yet another, the content decides: a
commit that is reverted changes nothing.

What is in the index is in the next commit, whatever the work tree holds. So where the work tree
differs from the index and not from the baseline, the index counts: to undo a commit in the work
tree alone is not to undo it.
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
    """The work tree as it is now; `changed` compares it with a commit."""

    def __init__(self, status: GitStatus, contents: Contents) -> None:
        self._dirty = status.files
        self._contents = contents

    def changed(
        self, differences: Mapping[bytes, Difference], without: Collection[bytes] = ()
    ) -> list[ChangedFile]:
        """The files that differ from a commit, given how HEAD does; sorted."""
        paths = self._dirty.keys() | differences.keys()
        todo = sorted(paths.difference(without))
        found = (self._compared(path, differences.get(path)) for path in todo)
        return [change for change in found if change is not None]

    def changed_since(self, digests: Mapping[bytes, str]) -> list[ChangedFile]:
        """The files whose content is not the one that was captured."""
        todo = sorted((path, digest) for path, digest in digests.items() if not is_ours(path))
        found = (self._since(path, digest) for path, digest in todo)
        return [change for change in found if change is not None]

    def only_in_index(
        self, differences: Mapping[bytes, Difference], known: Mapping[bytes, str]
    ) -> list[ChangedFile]:
        """The files whose version in the index is neither that of the commit nor in the work tree.

        `known` are digests of what was staged so before, and is no change.
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
        # It may have gone since git looked.
        if not digest:
            return None if then is None else _change(path, is_new=False, digest="")
        return _change(path, is_new=then is None, digest=digest)

    def _clean(self, path: bytes, difference: Difference) -> ChangedFile | None:
        now = difference.new
        if now is None:
            return _change(path, is_new=False, digest="")
        # What is not checked out has a content all the same.
        digest = self._contents.of(path).digest or committed_digest(now)
        return _change(path, is_new=difference.old is None, digest=digest)

    def _is_same(
        self, path: bytes, dirty: Dirty, then: Version, difference: Difference | None
    ) -> bool:
        if dirty.as_in_index:
            return dirty.index == then
        if difference is None and dirty.index == dirty.head:
            return False  # git has compared them
        now = self._contents.of(path).version
        # Git may be told not to look at modes.
        return now is not None and Version(dirty.mode or now.mode, now.name) == then


def _change(path: bytes, *, is_new: bool, digest: str) -> ChangedFile:
    status = FileStatus.ADDED if is_new else FileStatus.MODIFIED
    if not digest:
        status = FileStatus.DELETED
    return ChangedFile(path=fact_path_of(path), status=status, digest=digest)


def staged_digest(dirty: Dirty) -> str:
    """The digest of what is staged; the empty text for a removal."""
    return "" if dirty.index is None else committed_digest(dirty.index)


def in_order(
    files: Iterable[ChangedFile], staged: Iterable[ChangedFile] = ()
) -> tuple[ChangedFile, ...]:
    """By path, as facts have them; of one that is also staged, the work tree counts."""
    by_path = {file.path: file for file in (*staged, *files)}
    return tuple(by_path[path] for path in sorted(by_path))
