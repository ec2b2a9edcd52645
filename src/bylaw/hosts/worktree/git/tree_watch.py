"""Check a work tree repeatedly for files that differ from the first check (DW-A22).

Git returns the status once. Later checks compare the metadata of files and read only files whose
metadata changed. The original content of a file that was as committed is taken from the commit. Git
is asked again only

- which new files it ignores: one process answers this for all checks, see `ignoring`;
- for the files of HEAD, once, if the metadata of a file changed that was as committed, see
  `TreeState.committed`;
- for the status, if `.git/info/exclude` changed, or a `.gitignore` that may apply to files that
  existed before.
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
    """Watches the files of a repository. `state` has the status that git returned before.

    Raises ValueError if the state cannot be watched, see `TreeState.can_be_watched`.
    `last_drift` is the last result of `drift`, None before the first.
    """

    def __init__(self, git: Git, repository: Repository, state: TreeState) -> None:
        if not state.can_be_watched:
            raise ValueError("this state has no status of git with ignored files")
        self.last_drift: dict[str, str] | None = None
        self._repository = repository
        self._state = state
        self._index = IndexFile(repository.folder, repository.hash)
        self._ignoring = Ignoring(git, repository.root)
        self._ground = Ground(repository.root, state.status.ignored, self._is_repository)
        # At the first check: all files, and the contents of those that may differ from HEAD.
        self._then: set[bytes] = set()
        self._held: dict[bytes, Content] = {}
        # At the last status of git: all files, and those that differed from the first check.
        self._there: set[bytes] = set()
        self._changed_by_then: set[bytes] = set()
        # At the last check: its time, all files, and the contents of those that differed from the
        # first check.
        self._moment: ClockReading
        self._stamps: dict[bytes, Stamp] = {}
        self._now: dict[bytes, Content] = {}

    def drift(self) -> dict[str, str]:
        """Return digests of all files that differ from the first check, "" for a removed file.

        Raise BylawError if git fails.
        """
        if self.last_drift is None:
            self._begin()
        else:
            self._go_on()
        self.last_drift = {fact_path_of(path): one.digest for path, one in self._now.items()}
        return self.last_drift

    def status(self) -> GitStatus | None:
        """Return the status that git would report at the last check; None if only git can tell."""
        is_same_index = self._state.status_answer().index_stamp == self._repository.index_stamp()
        if not is_same_index or not self._is_same_head():
            return None
        patch = Patch(self._repository.root, self._index, self._committed, self._there)
        try:
            return patch.of(self._state.status, self._since_status())
        except OnlyGitCanTellError:
            return None

    def _since_status(self) -> dict[bytes, Content]:
        """Return files that may differ from the last status of git, including undone changes."""
        contents = self._contents()
        undone = self._changed_by_then - self._now.keys()
        return self._now | {path: contents.of(path) for path in undone}

    def _begin(self) -> None:
        """List all files. Their metadata is not read yet, since most of them never change."""
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
        # A `.gitignore` in a new folder applies only to new files.
        patterns = (path.removesuffix(_PATTERNS) for path in changed if path.endswith(_PATTERNS))
        if entered.intersection(patterns) or exclude != self._state.status_answer().exclude_stamp:
            self._ask_anew()

    def _ask_anew(self) -> None:
        """Ask git for the status again, because other files are ignored now."""
        self._ignoring.forget()
        self._state = self._state.taken_anew()
        self._index = IndexFile(self._repository.folder, self._repository.hash)
        self._ground.ignore(self._state.status.ignored)
        self._compare(Walk(self._ground, takes_new=True))
        self._there, self._changed_by_then = {*self._stamps}, {*self._now}

    def _compare(self, walk: Walk) -> set[bytes]:
        """Update the changed files, and return those that changed since the last check."""
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
        # A `.git` may have been created in a folder whose files are committed in our repository.
        is_certain = not is_folder(path) or folder.removesuffix(b"/") in self._state.status.files
        return is_certain or not self._state.committed.has_below(folder)

    def _is_same_head(self) -> bool:
        try:
            return head_commit(self._repository.folder) == self._state.status.commit
        except (OSError, ValueError):
            return False
