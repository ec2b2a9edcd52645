"""Find the protected files that a git command would change in a work tree.

Git itself is asked first which files differ from what it would write, or are untracked: quickly,
read-only, and without running anything of the repository. If git cannot answer, every protected
file that exists counts as changed. Pathspecs are matched with their magic and patterns; exclusions
are ignored.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect.shell_values import UNKNOWN
from bylaw.hosts.protected_paths import ChangeScope, ProtectedPath
from bylaw.model.errors import BylawError
from bylaw.runtime.root import work_tree
from bylaw.store.paths import as_text, is_folder, is_inside, path_exists, real_path, relative_name
from bylaw.worktree.git import Git
from bylaw.worktree.repository import disable_filters, find_repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.protect.shell_lists import GitChange
    from bylaw.hosts.protected_paths import Protection

_MAGIC = re.compile(r":\((?P<long>[^)]*)\)|:(?P<short>[/!^]+):?")
_WILD = re.compile(r"[*?\[]")


class GitPath(NamedTuple):
    """The files below a folder, or those of them that match a pattern."""

    folder: str
    pattern: str = ""

    def includes(self, location: str) -> bool:
        """Whether a file is included, by its path without links."""
        folder, path = self.folder.casefold(), location.casefold()
        if not self.pattern:
            return is_inside(path, folder)
        below, pattern = relative_name(folder, path), self.pattern.casefold()
        return fnmatchcase(below, pattern) or fnmatchcase(below, f"{pattern}/*")

    def fits(self, location: str, below: str) -> bool:  # noqa: ARG002 - signature of file filters
        """Whether a file is included; `below` is ignored."""
        return self.includes(location)


def git_paths(specs: tuple[str, ...], folder: str, top: str) -> list[GitPath]:
    """Return what pathspecs include in a folder of a work tree; without any, the work tree.

    Exclusions (`:!PATH`) are ignored: the excluded files are included.
    """
    if not specs:
        return [GitPath(top)]
    found = [one for spec in specs if (one := _git_path(spec, folder, top)) is not None]
    return found or [GitPath(folder)]


def _git_path(spec: str, folder: str, top: str) -> GitPath | None:
    magic = _MAGIC.match(spec)
    words = magic["long"].split(",") if magic and magic["long"] is not None else []
    signs = (magic["short"] or "") if magic else ""
    if "exclude" in words or "!" in signs or "^" in signs:
        return None
    base = top if "top" in words or "/" in signs else folder
    rest = spec[magic.end() :] if magic else spec
    start = "/" if rest.startswith("/") else base
    parts = [one for one in rest.split("/") if one not in {"", "."}]
    while parts and not _WILD.search(parts[0]):
        part = parts.pop(0)
        start = start.rpartition("/")[0] or "/" if part == ".." else f"{start.rstrip('/')}/{part}"
    # `**/` also matches no folder at all.
    return GitPath(start, "/".join(parts).replace("**/", "*"))


SECONDS = 10.0  # for one answer of git
MAX_FOLDERS = 4  # folders of one text
MAX_CHANGED = 20_000  # files that git names
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
_NAMES = ("--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv",
          "--ignore-submodules=all")  # fmt: skip
_STASH = ("stash", "show", "--include-untracked", *_NAMES)
_NO_STASH = (b"No stash entries found", b"is not a valid reference")
_UNTRACKED, _IGNORED = "??", "!!"


class _Tree(NamedTuple):
    """A work tree, and a git that runs nothing of it."""

    git: Git
    top: str


class GitChanges:
    """What calls of git in one text change. Git is asked once for each folder."""

    def __init__(self, protection: Protection) -> None:
        self._protection = protection
        self._trees: dict[str, _Tree | None] = {}

    def found(self, change: GitChange, folder: str) -> Iterator[ProtectedPath]:
        """Yield the protected files that a change in a folder affects, in the order of paths."""
        start = real_path(folder)
        specs = tuple(one for one in change.specs if UNKNOWN not in one)
        if UNKNOWN in folder or not is_folder(start) or (change.specs and not specs):
            return
        try:
            tree = self._tree(start) if change.asks else None
            changed = None if tree is None else sorted(_changed_paths(tree, change, start))
        except BylawError:
            tree = changed = self._trees[start] = None  # do not ask again
        top = work_tree(start) if tree is None else tree.top
        meant = git_paths(specs, start, top)
        if changed is None or len(changed) > MAX_CHANGED:
            yield from self._all_there(meant)
        for path in changed or ():
            if any(_includes(one, path) for one in meant):
                yield from self._one(path)

    def _tree(self, folder: str) -> _Tree | None:
        if folder not in self._trees:
            self._trees[folder] = None
            if len(self._trees) <= MAX_FOLDERS:
                git = Git(seconds=SECONDS)
                repository = find_repository(git, folder)
                disable_filters(git, repository)
                self._trees[folder] = _Tree(git, repository.root)
        return self._trees[folder]

    def _one(self, path: str) -> Iterator[ProtectedPath]:
        plain = path.rstrip("/")
        why = self._protection.why(plain)
        if why is not None:
            yield ProtectedPath(self._protection.shown(plain), why)
        elif path.endswith("/"):  # an untracked folder
            below = self._protection.find_below(plain, lambda *_: True, ChangeScope.WORK_TREE)
            yield from [below] if below else ()

    def _all_there(self, meant: list[GitPath]) -> Iterator[ProtectedPath]:
        for one in meant:
            found = self._protection.find_below(one.folder, one.fits, ChangeScope.WORK_TREE)
            yield from [found] if found else ()


def _includes(one: GitPath, path: str) -> bool:
    """Whether `one` includes a file; for a folder, whether it may include a file below it."""
    if one.includes(path.rstrip("/")):
        return True
    return path.endswith("/") and (bool(one.pattern) or f"{one.folder}/".startswith(path))


def _changed_paths(tree: _Tree, change: GitChange, folder: str) -> set[str]:
    """Return the paths that a change affects in the complete work tree; folders end with `/`.

    Raises BylawError if git does not answer.
    """
    if change.stash:
        return {f"{tree.top}/{one}" for one in _stash_paths(tree, change.stash)}
    names = set(_status_paths(tree, change))
    for revision in dict.fromkeys(change.revisions):
        # If a file has that name, git reads the word as a file.
        if not path_exists(f"{folder}/{revision}"):
            names.update(_diff_paths(tree, revision))
    return {f"{tree.top}/{one}" for one in names}


def _status_paths(tree: _Tree, change: GitChange) -> Iterator[str]:
    # Listing untracked files is slow, so do it only if needed.
    others = "normal" if change.untracked or change.ignored else "no"
    ignored = ("--ignored=matching",) if change.ignored else ()
    asked = (*_STATUS, f"--untracked-files={others}", *ignored)
    unknown = {_UNTRACKED: change.untracked, _IGNORED: change.ignored}
    for line in _split_names(tree.git.output(tree.top, *asked)):
        sort, name = line[:2], line[3:]
        if unknown.get(sort, change.tracked) and (change.folders or not name.endswith("/")):
            yield name


def _diff_paths(tree: _Tree, revision: str) -> list[str]:
    """Return the files that differ from a commit."""
    if revision.startswith("-"):
        raise BylawError("this is not a revision")
    return _split_names(tree.git.output(tree.top, "diff", *_NAMES, revision, "--"))


def _stash_paths(tree: _Tree, stash: str) -> list[str]:
    if stash.startswith("-"):
        raise BylawError("this is not a stash")
    written = tree.git.run(tree.top, *_STASH, stash)
    if written.exit_code and any(one in written.error_output for one in _NO_STASH):
        return []  # git does nothing, or an earlier call makes the stash and is checked itself
    if written.exit_code:
        raise BylawError("git does not show the stash")
    return _split_names(written.output)


def _split_names(output: bytes) -> list[str]:
    return [as_text(one) for one in output.split(b"\0") if one]
