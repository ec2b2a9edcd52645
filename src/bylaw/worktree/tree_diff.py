"""Compare a work tree with an earlier state: changed, new, removed and moved files.

HEAD may have moved in between: a commit changes no file of the work tree, a checkout does. Git
reports neither files in nested repositories nor ignored files. Bylaw reads nested repositories
itself, without following links or reading their settings. Files that were ignored at the first
check stay ignored. Bylaw reads files that a changed ignore file hides now, and ignored files that
were reported before. A place with too many files is skipped and reported.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from hashlib import sha256
from stat import S_ISDIR
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.display import fact_path, file_path
from bylaw.model.errors import BylawError
from bylaw.model.facts import ChangedFile
from bylaw.model.vocabulary import FileStatus
from bylaw.store.paths import as_bytes, real_path, relative_name
from bylaw.worktree.git import Git, fact_path_of, file_bytes
from bylaw.worktree.git_status import is_ours, is_repository
from bylaw.worktree.repository import find_repository
from bylaw.worktree.tree_state import TreeState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

MAX_HIDDEN = 5_000  # files and folders of all places together
MAX_DEPTH = 100  # nested folders; each is kept open

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GIT = b".git"
# A file that changed this recently may change again with the same time.
_YOUNG_NS = 2_000_000_000


class HiddenFile(NamedTuple):
    """A file that Bylaw reads itself.

    `stamp` changes if the file may have changed. It is empty if the file changed very recently.
    """

    digest: str
    stamp: str = ""


class _PlaceTooLargeError(Exception):
    """A place has too many files or is too deep."""


class HiddenFiles:
    """Reads places below the top of a work tree. `digest` returns the digest of a file.

    `known` are files from an earlier check. `skipped` are names of places that have, or once had,
    too many files. They are not read again.
    """

    def __init__(
        self, top: str, digest: Callable[[bytes], str], known: Mapping[str, HiddenFile]
    ) -> None:
        self._top = as_bytes(top)
        self._digest = digest
        self._known = known
        self._left = MAX_HIDDEN
        self.found: dict[str, HiddenFile] = {}
        self.skipped: list[str] = []

    def look(self, name: str, places: Iterable[str], without: Collection[str] = ()) -> None:
        """Add all files at some places, except those in `without`.

        `name` identifies the places in `skipped` if they have too many files.
        """
        before = self._left
        if name in self.skipped:
            return
        try:
            seen = [each for place in places for each in self._walk(file_bytes(place))]
        except _PlaceTooLargeError:
            self._left = before
            self.skipped.append(name)
            return
        for path, found in seen:
            file = fact_path_of(path)
            if file not in self.found and not is_at_or_below(file, without):
                self.found[file] = self._file(path, found, self._known.get(file))

    def _file(self, path: bytes, found: os.stat_result, known: HiddenFile | None) -> HiddenFile:
        stamp = _stamp(found)
        if known is not None and stamp and known.stamp == stamp:
            return known
        return HiddenFile(self._digest(path), stamp)

    def _walk(self, place: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
        """Yield every file in a folder, or the place itself if it is a file. Nothing if gone."""
        above, _, name = place.rpartition(b"/")
        try:
            folder = os.open(self._top + b"/" + above, _FOLDER_FLAGS)
        except OSError:
            return
        try:
            yield from self._walk_entry(folder, name, place, MAX_DEPTH)
        finally:
            os.close(folder)

    def _walk_entry(
        self, folder: int, name: bytes, path: bytes, depth: int
    ) -> Iterator[tuple[bytes, os.stat_result]]:
        self._left -= 1
        if self._left < 0 or not depth:
            raise _PlaceTooLargeError
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            inner = os.open(name, _FOLDER_FLAGS, dir_fd=folder) if S_ISDIR(found.st_mode) else None
        except OSError:
            return  # it was just removed, or must not be read
        if inner is None:
            yield path, found
            return
        try:
            for one in sorted(map(os.fsencode, os.listdir(inner))):  # noqa: PTH208 - a descriptor
                if one != _GIT:
                    yield from self._walk_entry(inner, one, path + b"/" + one, depth - 1)
        finally:
            os.close(inner)


def is_at_or_below(path: str, places: Collection[str]) -> bool:
    """Whether a path is one of the places, or is below one of them."""
    while path:
        if path in places:
            return True
        path = path.rpartition("/")[0]
    return "" in places


def _stamp(found: os.stat_result) -> str:
    if time.time_ns() - found.st_ctime_ns < _YOUNG_NS:
        return ""
    parts = (found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
    return " ".join(map(str, parts))


MAX_DIRTY = 5_000
# Ignored paths to keep. All others count as new if an ignore file changes.
MAX_IGNORED = 50_000
IGNORE_FILE = ".gitignore"
# All empty files have the same digest, so an empty file never counts as moved.
_EMPTY_DIGEST = sha256().hexdigest()


class TooDirtyError(BylawError):
    """The work tree has more changed files than Bylaw compares."""


class TreeMemory(Struct, frozen=True, omit_defaults=True):
    """HEAD, and the digests of all files that differed from it, empty for a file that was gone.

    `ignored` are the paths that git ignored at the first check. `hiding` are the folders of ignore
    files that changed since. `repositories` are nested repositories, None if not read yet.
    `untold` are files that git does not report, `skipped` are places with too many of them.
    """

    commit: str
    digests: dict[str, str] = {}
    ignored: list[str] = []
    hiding: list[str] = []
    repositories: list[str] | None = None
    untold: dict[str, HiddenFile] = {}
    skipped: list[str] = []


class TreeChanges(NamedTuple):
    """The state for the next comparison, and the changes since the earlier state, by path."""

    tree: TreeMemory
    changes: tuple[ChangedFile, ...]


class TreeComparer:
    """The present work tree of a folder. Raises BylawError if git fails or too much has changed.

    `matters` returns for a path below that folder whether any rule applies to files there.
    """

    def __init__(self, start: str, matters: Callable[[str], bool] = lambda _: True) -> None:
        git = Git()
        self.repository = find_repository(git, start)
        self._start, self._matters_to_rules = real_path(start), matters
        self._state = TreeState(git, self.repository, lists_ignored=True)
        if len(self._state.status.files) > MAX_DIRTY:
            raise TooDirtyError(f"more than {MAX_DIRTY:,} files differ from HEAD")
        ignored = sorted(one for one in self._state.status.ignored if not is_ours(one))
        self._ignored = [fact_path_of(path.removesuffix(b"/")) for path in ignored]

    def since(self, earlier: TreeMemory | None) -> TreeChanges:
        """Return the present state, and the changes since an earlier one if there is one."""
        then = earlier or TreeMemory(self.commit)
        by_git = [] if earlier is None else self._git_changes(earlier)
        files = HiddenFiles(self.repository.root, self._state.digest_now, then.untold)
        files.skipped += then.skipped
        inside = sorted(self._repositories(then, by_git))
        for place in filter(self._is_relevant, inside):
            files.look(place, [place])
        files.look(IGNORE_FILE, self._now_ignored(then, by_git))
        files.look(IGNORE_FILE, self._ignore_files())
        hiding = (
            set() if earlier is None else self._changed_ignore_folders(earlier, by_git, files.found)
        )
        for folder in sorted(hiding):
            new = self._newly_ignored(folder, then.ignored)
            files.look(_join(folder, IGNORE_FILE), new, frozenset(then.ignored))
        tree = TreeMemory(
            self.commit,
            self._state.digests(),
            ignored=self._ignored[:MAX_IGNORED] if earlier is None else earlier.ignored,
            hiding=sorted(hiding),
            repositories=inside,
            untold=files.found,
            skipped=files.skipped,
        )
        changes = [] if earlier is None else self._merge(by_git, earlier, tree)
        return TreeChanges(tree, tuple(self._with_moves(changes, then)))

    def _is_relevant(self, place: str) -> bool:
        path = relative_name(self._start, f"{self.repository.root.rstrip('/')}/{file_path(place)}")
        return bool(path) and self._matters_to_rules(fact_path(path))

    @property
    def commit(self) -> str:
        """The commit of HEAD, empty if there is none yet."""
        return self._state.status.commit

    def _git_changes(self, earlier: TreeMemory) -> list[ChangedFile]:
        """Return the changes that git reports. If the old commit is gone, HEAD is used instead."""
        then = {file_bytes(path): digest for path, digest in earlier.digests.items()}
        return self._state.since(earlier.commit, then)

    def _repositories(self, earlier: TreeMemory, by_git: Iterable[ChangedFile]) -> set[str]:
        found = {fact_path_of(path) for path in self._state.status.repositories()}
        found.update(one.path for one in by_git if is_repository(one.digest))
        if earlier.repositories is None:
            found.update(map(fact_path_of, self._state.recorded_repositories()))
        return found.union(earlier.repositories or ())

    def _now_ignored(self, earlier: TreeMemory, by_git: Iterable[ChangedFile]) -> list[str]:
        """Return files that were reported before and are ignored now."""
        ignored = frozenset(self._ignored)
        gone = [one.path for one in by_git if one.status is FileStatus.DELETED]
        told = [path for path, digest in earlier.digests.items() if digest]
        return sorted(
            path for path in {*gone, *told, *earlier.untold} if is_at_or_below(path, ignored)
        )

    def _ignore_files(self) -> list[str]:
        """Return ignore files that are ignored themselves, since git does not report them."""
        return [path for path in self._ignored if _name(path) == IGNORE_FILE]

    def _changed_ignore_folders(
        self, earlier: TreeMemory, by_git: Iterable[ChangedFile], found: Mapping[str, HiddenFile]
    ) -> set[str]:
        """Return the folders of ignore files that changed since the first check."""
        changed = [one.path for one in by_git if _name(one.path) == IGNORE_FILE]
        changed += [
            path
            for path, file in found.items()
            if _name(path) == IGNORE_FILE and file.digest != _old_digest(path, earlier)
        ]
        return {_folder(path) for path in changed}.union(earlier.hiding)

    def _newly_ignored(self, folder: str, known: Iterable[str]) -> list[str]:
        """Return the paths of a folder that are ignored now, but not at the first check."""
        before, here = frozenset(known), frozenset({folder})
        new = [
            path
            for path in self._ignored
            if is_at_or_below(path, here) and not is_at_or_below(path, before)
        ]
        return [path for path in new if self._is_relevant(path)]

    def _merge(
        self, by_git: Iterable[ChangedFile], earlier: TreeMemory, now: TreeMemory
    ) -> list[ChangedFile]:
        """Merge changes from git with those of files that Bylaw read itself; sort them by path."""
        found = {one.path: one for one in by_git}
        for path in {**earlier.untold, **now.untold}:
            then = _old_digest(path, earlier)
            digest = self._digest(path, now)
            found.pop(path, None)
            if digest != then:
                found[path] = _changed_file(path, then, digest)
        return [found[path] for path in sorted(found)]

    def _digest(self, path: str, now: TreeMemory) -> str:
        if path in now.untold:
            return now.untold[path].digest
        return self._state.digest_now(file_bytes(path))

    def _with_moves(self, changes: list[ChangedFile], earlier: TreeMemory) -> Iterator[ChangedFile]:
        """Turn a new file and a removed file with the same content into one moved file."""
        gone = defaultdict(list)
        for one in changes:
            if one.status is FileStatus.DELETED:
                gone[self._old_content(one.path, earlier)].append(one.path)
        moved = {one.path: old for one in changes if (old := self._moved_from(one, gone))}
        for one in changes:
            if one.path in moved:
                yield replace(one, status=FileStatus.RENAMED, old_path=moved[one.path])
            elif one.path not in moved.values():
                yield one

    def _old_content(self, path: str, earlier: TreeMemory) -> str:
        """Return the old digest of a removed file, or the object name of its content."""
        known = _old_digest(path, earlier)
        if known:
            return known
        version = self._state.version_in(earlier.commit, file_bytes(path))
        return version.name if version else ""

    def _moved_from(self, change: ChangedFile, gone: dict[str, list[str]]) -> str:
        if change.status is not FileStatus.ADDED or change.digest == _EMPTY_DIGEST:
            return ""
        version = self._state.version_now(file_bytes(change.path))
        for name in (change.digest, version.name if version else ""):
            if name and gone.get(name):
                return gone[name].pop(0)
        return ""


def _old_digest(path: str, earlier: TreeMemory) -> str:
    """Return the earlier digest of a file, empty if it was missing or not read."""
    if path in earlier.untold:
        return earlier.untold[path].digest
    return earlier.digests.get(path, "")


def _changed_file(path: str, then: str, now: str) -> ChangedFile:
    status = FileStatus.MODIFIED if then and now else FileStatus.ADDED
    return ChangedFile(path=path, status=status if now else FileStatus.DELETED, digest=now)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
