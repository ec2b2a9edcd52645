"""A work tree, looked at again and again → the files that are not what they were at first (DW-A22).

Git tells its status once. After that, files are told apart by what the system says of them, and
only those that look different are read; of one that was as committed, the commit tells what it was.
Git is asked again

- which new files it ignores: one process answers that at all looks, see `ignoring`;
- what HEAD holds, once, where a file looks different that was as committed, see
  `TreeState.committed`;
- for its status, where a `.gitignore` changed that may be about files that were there before, or
  `.git/info/exclude` did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.worktree.git.contents import NOTHING, Contents
from bylaw.hosts.worktree.git.head_file import head_commit
from bylaw.hosts.worktree.git.ignoring import Ignoring
from bylaw.hosts.worktree.git.index_file import IndexFile
from bylaw.hosts.worktree.git.patched_status import OnlyGitCanTellError, Patch
from bylaw.hosts.worktree.git.path_text import fact_path_of
from bylaw.hosts.worktree.git.tree_walk import Ground, Walk, possibly_changed
from bylaw.runtime.paths import as_text, is_folder, is_there

if TYPE_CHECKING:
    from bylaw.hosts.worktree.git.contents import Content
    from bylaw.hosts.worktree.git.git import Git
    from bylaw.hosts.worktree.git.git_output import GitStatus, Version
    from bylaw.hosts.worktree.git.repository import Repository
    from bylaw.hosts.worktree.git.tree_state import TreeState
    from bylaw.hosts.worktree.git.tree_walk import ClockReading, Stamp

_PATTERNS = b".gitignore"


class TreeWatch:
    """Looks at the files of a repository; `state` is how git saw them before.

    ValueError if that is none to watch from, see `TreeState.can_be_watched`.
    `last_drift` is what `drift` gave last, None before the first.
    """

    def __init__(self, git: Git, repository: Repository, state: TreeState) -> None:
        if not state.can_be_watched:
            raise ValueError("this look has no status of git with what is ignored: look anew")
        self.last_drift: dict[str, str] | None = None
        self._repository = repository
        self._state = state
        self._index = IndexFile(repository.folder, repository.hash)
        self._ignoring = Ignoring(git, repository.root)
        self._ground = Ground(repository.root, state.status.ignored, self._is_repository)
        # At the first look: all files, and what those held that may not have been as committed.
        self._then: set[bytes] = set()
        self._held: dict[bytes, Content] = {}
        # When git last told its status: all files, and the paths that were not as at first.
        self._there: set[bytes] = set()
        self._changed_by_then: set[bytes] = set()
        # At the last look: when it was, all files, and what those held that were not as at first.
        self._moment: ClockReading
        self._stamps: dict[bytes, Stamp] = {}
        self._now: dict[bytes, Content] = {}

    def drift(self) -> dict[str, str]:
        """Digests of all files that are not what they were at the first look; "" for what is gone.

        BylawError if git cannot tell.
        """
        if self.last_drift is None:
            self._begin()
        else:
            self._go_on()
        self.last_drift = {fact_path_of(path): one.digest for path, one in self._now.items()}
        return self.last_drift

    def status(self) -> GitStatus | None:
        """What git would say at the last look; None if only git can tell."""
        is_same_index = self._state.status_answer().index_stamp == self._repository.index_stamp()
        if not is_same_index or not self._is_same_head():
            return None
        patch = Patch(self._repository.root, self._index, self._committed, self._there)
        try:
            return patch.of(self._state.status, self._since_status())
        except OnlyGitCanTellError:
            return None

    def _since_status(self) -> dict[bytes, Content]:
        """What may not be as git saw it: also what was changed when it looked, and is undone."""
        contents = self._contents()
        undone = self._changed_by_then - self._now.keys()
        return self._now | {path: contents.of(path) for path in undone}

    def _begin(self) -> None:
        """What there is; nobody has to know yet what it looks like, if it does not change."""
        dirty = self._state.status.files
        self._ground.files.update(dirty)
        walk = Walk(self._ground, takes_new=True)
        self._moment, self._stamps = walk.moment, walk.stamps
        self._stamps |= dict.fromkeys(walk.repositories, 0)
        since = self._ground.new_since(self._state.status_answer().began)
        new = [path for path in since if path not in dirty]
        for path in self._ignored_of(new):
            del self._stamps[path]
            self._ground.reject(path)
        self._then = self._there = {*self._stamps}
        contents = self._contents()
        unsure = {*dirty, *new, *walk.repositories}
        self._held = {path: contents.of(path) for path in unsure & self._then}

    def _ignored_of(self, paths: list[bytes]) -> list[bytes]:
        ignored = self._ignoring.of(paths) if paths else ()
        return [path for path in ignored if self._committed(path) is None]

    def _go_on(self) -> None:
        entered = {*self._ground.entered}
        exclude = self._repository.exclude_stamp()
        walk = Walk(self._ground)
        walk.ask(self._ignoring.of)
        changed = self._compare(walk)
        # One in a folder that is new is only about what is new as well.
        patterns = (path.removesuffix(_PATTERNS) for path in changed if path.endswith(_PATTERNS))
        if entered.intersection(patterns) or exclude != self._state.status_answer().exclude_stamp:
            self._ask_anew()

    def _ask_anew(self) -> None:
        """What is ignored is not what it was."""
        self._ignoring.forget()
        self._state = self._state.taken_anew()
        self._index = IndexFile(self._repository.folder, self._repository.hash)
        self._ground.ignore(self._state.status.ignored)
        self._compare(Walk(self._ground, takes_new=True))
        self._there, self._changed_by_then = {*self._stamps}, {*self._now}

    def _compare(self, walk: Walk) -> set[bytes]:
        """The files that changed since the last look."""
        contents, before, known = self._contents(), dict(self._now), self._stamps
        known |= dict.fromkeys(walk.repositories, 0)
        gone = known.keys() - walk.files - walk.repositories
        for path in gone:
            del known[path]
        suspects = possibly_changed(self._ground.top, walk.files, known, self._moment)
        for path in suspects | walk.repositories | gone:
            content = NOTHING if path in gone else contents.of(path)
            if self._is_as_at_first(path, content):
                self._now.pop(path, None)
            else:
                self._now[path] = content
        self._moment = walk.moment
        return {path for path, _ in before.items() ^ self._now.items()}

    def _is_as_at_first(self, path: bytes, content: Content) -> bool:
        if path not in self._then:
            return not content.digest
        if path in self._held:
            return self._held[path].digest == content.digest
        committed = self._committed(path)
        if committed is None or committed != content.version:
            return False
        return self._index.size(path) in (0, content.size)

    def _committed(self, path: bytes) -> Version | None:
        return self._state.committed.version(path)

    def _contents(self) -> Contents:
        return Contents(self._repository.root, self._repository.hash)

    def _is_repository(self, folder: bytes) -> bool:
        path = f"{self._repository.root}/{as_text(folder)}.git"
        if not is_there(path):
            return False
        # Somebody may have made one around files that are committed in ours.
        is_certain = not is_folder(path) or folder.removesuffix(b"/") in self._state.status.files
        return is_certain or not self._state.committed.has_below(folder)

    def _is_same_head(self) -> bool:
        try:
            return head_commit(self._repository.folder) == self._state.status.commit
        except (OSError, ValueError):
            return False
