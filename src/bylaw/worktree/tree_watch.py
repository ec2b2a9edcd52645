"""Check a work tree repeatedly for files that differ from the first check (DW-A22).

Git returns the status once. Later checks compare the metadata of files and read only files whose
metadata changed. Git is asked again only for new files that may be ignored (one `check-ignore`
process answers all checks), for the files of HEAD, and for the status after `.git/info/exclude` or
a `.gitignore` changed. The status after commands is computed from the first one and the changed
files. This is valid only while the index and HEAD are the same.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.store.files import read_regular_bytes
from bylaw.store.paths import as_text, is_folder, path_exists
from bylaw.worktree.git import fact_path_of
from bylaw.worktree.git_status import GITLINK, NO_CONTENT, Contents, DirtyFile
from bylaw.worktree.repository import IndexFile, head_commit
from bylaw.worktree.tree_walk import TreeScope, Walk, find_suspects

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from bylaw.worktree.git import Git
    from bylaw.worktree.git_status import Content, GitStatus, Version
    from bylaw.worktree.repository import Repository
    from bylaw.worktree.tree_state import TreeState
    from bylaw.worktree.tree_walk import FileClock, Stamp

MAX_READ = 16 << 20
_FILE_MODES = ("100644", "100755")
_CONVERTED = (b"\r", b"$Id")  # git may store a file that contains these in another form


class NeedsGitError(Exception):
    """The status cannot be computed without git."""


class StatusPatch:
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
                dirty = self._update_clean(path, content)
            else:
                dirty = self._update_dirty(path, content, known)
            if dirty is not None:
                files[path] = dirty
        return replace(status, files=files)

    def _update_dirty(self, path: bytes, content: Content, known: DirtyFile) -> DirtyFile | None:
        if known.is_untracked:
            if content.digest:
                return _untracked_file(content, known.head)
            # The file was removed from the index and is now gone as well.
            return known.head and replace(_deleted_file(known.head, None), as_in_index=True)
        if not content.digest:
            return replace(known, mode="", is_there=False, as_in_index=known.index is None)
        if known.index is None or known.is_unmerged:
            raise NeedsGitError
        return self._update_tracked(path, content, known.head, known.index, known.mode)

    def _update_clean(self, path: bytes, content: Content) -> DirtyFile | None:
        if not self._index.is_version_2:
            raise NeedsGitError
        version = self._committed(path) if path in self._there else None
        if version is None:
            return _untracked_file(content, None) if content.digest else None
        if not content.digest:
            return _deleted_file(version, version)
        return self._update_tracked(path, content, version, version, version.mode)

    def _update_tracked(
        self, path: bytes, content: Content, head: Version | None, index: Version, mode: str
    ) -> DirtyFile | None:
        now = content.version
        # Git can be configured to ignore modes.
        if now is None or now.mode not in (mode or now.mode, index.mode):
            raise NeedsGitError
        if now.name == index.name:
            if now.mode != index.mode or self._index.size(path) not in (0, content.size):
                raise NeedsGitError
            as_index = DirtyFile(head, index, now.mode, is_there=True, as_in_index=True)
            return None if head == index else as_index
        if now.mode in _FILE_MODES and self._may_be_converted(path):
            raise NeedsGitError
        return DirtyFile(head, index, now.mode, is_there=True)

    def _may_be_converted(self, path: bytes) -> bool:
        try:
            data = read_regular_bytes(f"{self._root}/{as_text(path)}", MAX_READ, links=False)
        except (OSError, ValueError):
            return True
        return len(data) > MAX_READ or any(sign in data for sign in _CONVERTED)


def _untracked_file(content: Content, head: Version | None) -> DirtyFile:
    is_repository = content.version is None or content.version.mode == GITLINK
    mode = GITLINK if is_repository else ""
    return DirtyFile(head, None, mode, is_there=True, is_untracked=True)


def _deleted_file(head: Version, index: Version | None) -> DirtyFile:
    return DirtyFile(head, index, "", is_there=False)


# Without the index, because git would read it only once. The caller knows which files are tracked.
_COMMAND = "check-ignore"
_QUESTION = (_COMMAND, "--stdin", "-z", "--verbose", "--non-matching", "--no-index")
_FIELDS = 4  # of an answer: the file of the pattern, its line, the pattern, the path
_MAX_QUESTION = 4096  # bytes: every pipe accepts this many before the other side reads
_PREFIX = b"./"  # before each path, so that none is read as an option or a pattern


class IgnoreCheck:
    """Asks git in the work tree at `root`. Raises BylawError if git does not answer."""

    def __init__(self, git: Git, root: str) -> None:
        self._git, self._root = git, root
        # A random name at the top: it marks the end, and makes git leave the folder it was in.
        self._end = f"{_PREFIX.decode()}{secrets.token_hex(16)}\0".encode()

    def of(self, paths: Iterable[bytes]) -> set[bytes]:
        """Return the ignored paths. A folder may end with `/`."""
        most = _MAX_QUESTION - len(self._end)
        return {path for some in _split(paths, most) for path in self._ask(some)}

    def forget(self) -> None:
        """Stop the process, so that the next question reads all patterns again."""
        self._git.hang_up(_COMMAND)

    def _ask(self, paths: list[bytes]) -> Iterator[bytes]:
        question = b"".join(_PREFIX + path.removesuffix(b"/") + b"\0" for path in paths)
        answer = self._git.ask(self._root, *_QUESTION, question=question + self._end, end=self._end)
        patterns = answer.split(b"\0")[2::_FIELDS]
        for path, pattern in zip(paths, patterns, strict=False):  # the last pattern is the mark's
            if pattern and not pattern.startswith(b"!"):
                yield path


def _split(paths: Iterable[bytes], most: int) -> Iterator[list[bytes]]:
    """Split paths into questions of at most `most` bytes. A longer path gets its own question."""
    some: list[bytes] = []
    size = 0
    for path in paths:
        own = len(_PREFIX) + len(path) + 1
        if some and size + own > most:
            yield some
            some, size = [], 0
        some.append(path)
        size += own
    if some:
        yield some


_IGNORE_FILE = b".gitignore"


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
        self._ignore_check = IgnoreCheck(git, repository.root)
        self._scope = TreeScope(repository.root, state.status.ignored, self._is_repository)
        # At the first check: all files, and the contents of those that may differ from HEAD.
        self._first_files: set[bytes] = set()
        self._first_contents: dict[bytes, Content] = {}
        # At the last status of git: all files, and those that differed from the first check.
        self._files_at_status: set[bytes] = set()
        self._changed_at_status: set[bytes] = set()
        # At the last check: its time, all files, and the contents of those that differed from the
        # first check.
        self._last_check: FileClock
        self._stamps: dict[bytes, Stamp] = {}
        self._changed: dict[bytes, Content] = {}

    def drift(self) -> dict[str, str]:
        """Return digests of all files that differ from the first check, "" for a removed file.

        Raise BylawError if git fails.
        """
        if self.last_drift is None:
            self._first_check()
        else:
            self._next_check()
        self.last_drift = {fact_path_of(path): one.digest for path, one in self._changed.items()}
        return self.last_drift

    def status(self) -> GitStatus | None:
        """Return the status that git would report at the last check; None if only git can tell."""
        is_same_index = self._state.status_answer().index_stamp == self._repository.index_stamp()
        if not is_same_index or not self._is_same_head():
            return None
        patch = StatusPatch(
            self._repository.root, self._index, self._committed, self._files_at_status
        )
        try:
            return patch.of(self._state.status, self._changed_since_status())
        except NeedsGitError:
            return None

    def _changed_since_status(self) -> dict[bytes, Content]:
        """Return files that may differ from the last status of git, including undone changes."""
        contents = self._contents()
        undone = self._changed_at_status - self._changed.keys()
        return self._changed | {path: contents.of(path) for path in undone}

    def _first_check(self) -> None:
        """List all files. Their metadata is not read yet, since most of them never change."""
        dirty = self._state.status.files
        self._scope.files.update(dirty)
        walk = Walk(self._scope, takes_new=True)
        self._last_check, self._stamps = walk.moment, walk.stamps
        self._stamps |= dict.fromkeys(walk.repositories, 0)
        since = self._scope.new_since(self._state.status_answer().began)
        new = [path for path in since if path not in dirty]
        for path in self._find_ignored(new):
            del self._stamps[path]
            self._scope.reject(path)
        self._first_files = self._files_at_status = {*self._stamps}
        contents = self._contents()
        unsure = {*dirty, *new, *walk.repositories}
        self._first_contents = {path: contents.of(path) for path in unsure & self._first_files}

    def _find_ignored(self, paths: list[bytes]) -> list[bytes]:
        ignored = self._ignore_check.of(paths) if paths else ()
        return [path for path in ignored if self._committed(path) is None]

    def _next_check(self) -> None:
        entered = {*self._scope.entered}
        exclude = self._repository.exclude_stamp()
        walk = Walk(self._scope)
        walk.ask(self._ignore_check.of)
        changed = self._compare(walk)
        # A `.gitignore` in a new folder applies only to new files.
        patterns = (
            path.removesuffix(_IGNORE_FILE) for path in changed if path.endswith(_IGNORE_FILE)
        )
        if entered.intersection(patterns) or exclude != self._state.status_answer().exclude_stamp:
            self._refresh()

    def _refresh(self) -> None:
        """Ask git for the status again, because other files are ignored now."""
        self._ignore_check.forget()
        self._state = self._state.refreshed()
        self._index = IndexFile(self._repository.folder, self._repository.hash)
        self._scope.ignore(self._state.status.ignored)
        self._compare(Walk(self._scope, takes_new=True))
        self._files_at_status, self._changed_at_status = {*self._stamps}, {*self._changed}

    def _compare(self, walk: Walk) -> set[bytes]:
        """Update the changed files, and return those that changed since the last check."""
        contents, before, known = self._contents(), dict(self._changed), self._stamps
        known |= dict.fromkeys(walk.repositories, 0)
        gone = known.keys() - walk.files - walk.repositories
        for path in gone:
            del known[path]
        suspects = find_suspects(self._scope.top, walk.files, known, self._last_check)
        for path in suspects | walk.repositories | gone:
            content = NO_CONTENT if path in gone else contents.of(path)
            if self._is_unchanged(path, content):
                self._changed.pop(path, None)
            else:
                self._changed[path] = content
        self._last_check = walk.moment
        return {path for path, _ in before.items() ^ self._changed.items()}

    def _is_unchanged(self, path: bytes, content: Content) -> bool:
        if path not in self._first_files:
            return not content.digest
        if path in self._first_contents:
            return self._first_contents[path].digest == content.digest
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
        if not path_exists(path):
            return False
        # A `.git` may have been created in a folder whose files are committed in our repository.
        is_certain = not is_folder(path) or folder.removesuffix(b"/") in self._state.status.files
        return is_certain or not self._state.committed.has_below(folder)

    def _is_same_head(self) -> bool:
        try:
            return head_commit(self._repository.folder) == self._state.status.commit
        except (OSError, ValueError):
            return False
