"""A work tree as it was seen → the files that are not what they were then, moved ones as such.

HEAD may have moved in between: a commit changes no file of the work tree, a checkout does.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.worktree.git.git import Git
from bylaw.hosts.worktree.git.look import Look
from bylaw.hosts.worktree.git.path_text import file_bytes
from bylaw.hosts.worktree.git.repository import find_repository
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.facts import ChangedFile

MAX_DIRTY = 5_000
# Files that hold nothing are all the same: none of them is another one that was moved.
_EMPTY = sha256().hexdigest()


class SeenTree(Struct, frozen=True):
    """HEAD, and the digests of all files that were not as in it; the empty text if one was gone."""

    commit: str
    digests: dict[str, str] = {}


class LookBack:
    """The work tree of a folder now; BylawError if git cannot tell, or it is too much to keep."""

    def __init__(self, start: str) -> None:
        git = Git()
        self.repository = find_repository(git, start)
        self._look = Look(git, self.repository)
        if len(self._look.status.files) > MAX_DIRTY:
            raise BylawError(f"more than {MAX_DIRTY:,} files are not as in HEAD")

    def seen(self) -> SeenTree:
        """What a later look is compared with."""
        return SeenTree(self._look.status.commit, self._look.digests())

    def since(self, earlier: SeenTree) -> tuple[ChangedFile, ...]:
        """What differs from an earlier look, by path; if its commit is gone, HEAD counts."""
        then = {file_bytes(path): digest for path, digest in earlier.digests.items()}
        found = self._look.since(earlier.commit, then)
        return tuple(self._with_moves(sorted(found, key=lambda one: one.path), earlier))

    def _with_moves(self, changes: list[ChangedFile], earlier: SeenTree) -> Iterable[ChangedFile]:
        """A file that came and holds what one that went held is that one."""
        gone = defaultdict(list)
        for one in changes:
            if one.status is FileStatus.DELETED:
                gone[self._was(one.path, earlier)].append(one.path)
        moved = {one.path: old for one in changes if (old := self._from(one, gone))}
        for one in changes:
            if one.path in moved:
                yield replace(one, status=FileStatus.RENAMED, old_path=moved[one.path])
            elif one.path not in moved.values():
                yield one

    def _was(self, path: str, earlier: SeenTree) -> str:
        """What a file that is gone held: its digest, or what git calls its content."""
        if path in earlier.digests:
            return earlier.digests[path]
        version = self._look.version_in(earlier.commit, file_bytes(path))
        return version.name if version else ""

    def _from(self, change: ChangedFile, gone: dict[str, list[str]]) -> str:
        if change.status is not FileStatus.ADDED or change.digest == _EMPTY:
            return ""
        version = self._look.version_now(file_bytes(change.path))
        for name in (change.digest, version.name if version else ""):
            if name and gone.get(name):
                return gone[name].pop(0)
        return ""
