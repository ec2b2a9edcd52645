"""Compare a work tree with an earlier state: changed, new, removed and moved files.

HEAD may have moved in between: a commit changes no file of the work tree, a checkout does.

Git reports neither files in nested repositories nor ignored files. Bylaw reads nested repositories
itself. Files that were ignored at the first check stay ignored. Bylaw reads files that a changed
ignore file hides now, and ignored files that were reported before.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.worktree.git.contents import is_repository
from bylaw.hosts.worktree.git.git import Git
from bylaw.hosts.worktree.git.git_output import is_ours
from bylaw.hosts.worktree.git.path_text import fact_path_of, file_bytes
from bylaw.hosts.worktree.git.repository import find_repository
from bylaw.hosts.worktree.git.tree_state import TreeState
from bylaw.hosts.worktree.git.untold_files import UntoldFile, UntoldFiles, is_in
from bylaw.model.errors import BylawError
from bylaw.model.fact_paths import fact_path, file_path
from bylaw.model.facts import ChangedFile
from bylaw.model.vocabulary import FileStatus
from bylaw.runtime.paths import name_from, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MAX_DIRTY = 5_000
# Ignored paths to keep. All others count as new if an ignore file changes.
MAX_IGNORED = 50_000
IGNORE_FILE = ".gitignore"
# All empty files have the same digest, so an empty file never counts as moved.
_EMPTY = sha256().hexdigest()


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
    untold: dict[str, UntoldFile] = {}
    skipped: list[str] = []


class SinceThen(NamedTuple):
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

    def since(self, earlier: TreeMemory | None) -> SinceThen:
        """Return the present state, and the changes since an earlier one if there is one."""
        then = earlier or TreeMemory(self.commit)
        by_git = [] if earlier is None else self._by_git(earlier)
        files = UntoldFiles(self.repository.root, self._state.digest_now, then.untold)
        files.skipped += then.skipped
        inside = sorted(self._repositories(then, by_git))
        for place in filter(self._matters, inside):
            files.look(place, [place])
        files.look(IGNORE_FILE, self._known_before(then, by_git))
        files.look(IGNORE_FILE, self._ignore_files())
        hiding = set() if earlier is None else self._hiding(earlier, by_git, files.found)
        for folder in sorted(hiding):
            new = self._newly_ignored(folder, then.ignored)
            files.look(_joined(folder, IGNORE_FILE), new, frozenset(then.ignored))
        tree = TreeMemory(
            self.commit,
            self._state.digests(),
            ignored=self._ignored[:MAX_IGNORED] if earlier is None else earlier.ignored,
            hiding=sorted(hiding),
            repositories=inside,
            untold=files.found,
            skipped=files.skipped,
        )
        changes = [] if earlier is None else self._merged(by_git, earlier, tree)
        return SinceThen(tree, tuple(self._with_moves(changes, then)))

    def _matters(self, place: str) -> bool:
        path = name_from(self._start, f"{self.repository.root.rstrip('/')}/{file_path(place)}")
        return bool(path) and self._matters_to_rules(fact_path(path))

    @property
    def commit(self) -> str:
        """The commit of HEAD, empty if there is none yet."""
        return self._state.status.commit

    def _by_git(self, earlier: TreeMemory) -> list[ChangedFile]:
        """Return the changes that git reports. If the old commit is gone, HEAD is used instead."""
        then = {file_bytes(path): digest for path, digest in earlier.digests.items()}
        return self._state.since(earlier.commit, then)

    def _repositories(self, earlier: TreeMemory, by_git: Iterable[ChangedFile]) -> set[str]:
        found = {fact_path_of(path) for path in self._state.status.repositories()}
        found.update(one.path for one in by_git if is_repository(one.digest))
        if earlier.repositories is None:
            found.update(map(fact_path_of, self._state.recorded_repositories()))
        return found.union(earlier.repositories or ())

    def _known_before(self, earlier: TreeMemory, by_git: Iterable[ChangedFile]) -> list[str]:
        """Return files that were reported before and are ignored now."""
        ignored = frozenset(self._ignored)
        gone = [one.path for one in by_git if one.status is FileStatus.DELETED]
        told = [path for path, digest in earlier.digests.items() if digest]
        return sorted(path for path in {*gone, *told, *earlier.untold} if is_in(path, ignored))

    def _ignore_files(self) -> list[str]:
        """Return ignore files that are ignored themselves, since git does not report them."""
        return [path for path in self._ignored if _name(path) == IGNORE_FILE]

    def _hiding(
        self, earlier: TreeMemory, by_git: Iterable[ChangedFile], found: Mapping[str, UntoldFile]
    ) -> set[str]:
        """Return the folders of ignore files that changed since the first check."""
        changed = [one.path for one in by_git if _name(one.path) == IGNORE_FILE]
        changed += [
            path
            for path, file in found.items()
            if _name(path) == IGNORE_FILE and file.digest != _was(path, earlier)
        ]
        return {_folder(path) for path in changed}.union(earlier.hiding)

    def _newly_ignored(self, folder: str, known: Iterable[str]) -> list[str]:
        """Return the paths of a folder that are ignored now, but not at the first check."""
        before, here = frozenset(known), frozenset({folder})
        new = [path for path in self._ignored if is_in(path, here) and not is_in(path, before)]
        return [path for path in new if self._matters(path)]

    def _merged(
        self, by_git: Iterable[ChangedFile], earlier: TreeMemory, now: TreeMemory
    ) -> list[ChangedFile]:
        """Merge changes from git with those of files that Bylaw read itself; sort them by path."""
        found = {one.path: one for one in by_git}
        for path in {**earlier.untold, **now.untold}:
            then = _was(path, earlier)
            digest = self._digest(path, now)
            found.pop(path, None)
            if digest != then:
                found[path] = _change(path, then, digest)
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
                gone[self._held(one.path, earlier)].append(one.path)
        moved = {one.path: old for one in changes if (old := self._from(one, gone))}
        for one in changes:
            if one.path in moved:
                yield replace(one, status=FileStatus.RENAMED, old_path=moved[one.path])
            elif one.path not in moved.values():
                yield one

    def _held(self, path: str, earlier: TreeMemory) -> str:
        """Return the old digest of a removed file, or the object name of its content."""
        known = _was(path, earlier)
        if known:
            return known
        version = self._state.version_in(earlier.commit, file_bytes(path))
        return version.name if version else ""

    def _from(self, change: ChangedFile, gone: dict[str, list[str]]) -> str:
        if change.status is not FileStatus.ADDED or change.digest == _EMPTY:
            return ""
        version = self._state.version_now(file_bytes(change.path))
        for name in (change.digest, version.name if version else ""):
            if name and gone.get(name):
                return gone[name].pop(0)
        return ""


def _was(path: str, earlier: TreeMemory) -> str:
    """Return the earlier digest of a file, empty if it was missing or not read."""
    if path in earlier.untold:
        return earlier.untold[path].digest
    return earlier.digests.get(path, "")


def _change(path: str, then: str, now: str) -> ChangedFile:
    status = FileStatus.MODIFIED if then and now else FileStatus.ADDED
    return ChangedFile(path=path, status=status if now else FileStatus.DELETED, digest=now)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
