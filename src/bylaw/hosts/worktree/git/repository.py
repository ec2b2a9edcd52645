"""Find the git repository of a folder: its top folder, and the branches to compare with.

One git process answers everything. It can return the merge base of HEAD only with an existing
branch; with any other it fails completely. So Bylaw guesses the default branch from the files of
the repository, and asks git again if the guess was wrong.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from msgspec import Struct

from bylaw.hosts.worktree.git.git import MAX_SHOWN, failure, filters_in
from bylaw.hosts.worktree.git.head_file import (
    git_folder,
    has_ref,
    head_commit,
    joined,
    ref_commit,
    shared_folder,
)
from bylaw.model.errors import BylawError
from bylaw.model.visible import clipped, visible
from bylaw.runtime.paths import as_bytes, as_text, lies_in, real_path
from bylaw.runtime.reading import regular_bytes
from bylaw.runtime.root import work_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.hosts.worktree.git.git import Git

MAX_SETTINGS_BYTES = 4 << 20

_REMOTE = "refs/remotes/"
_FIRST_REMOTES = ("origin", "upstream")
_DEFAULTS = ("HEAD", "main", "master")
_LOCAL = ("refs/heads/main", "refs/heads/master")
# Without a wildcard, git would match everything below that name.
_PATTERNS = (
    *(f"--glob={_REMOTE}*/{name}" for name in _DEFAULTS),
    "--glob=refs/heads/mai[n]",
    "--glob=refs/heads/maste[r]",
)
_EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_INCLUDE = b"[include"
_LIKELY = (*(f"{_REMOTE}origin/{name}" for name in _DEFAULTS), *_LOCAL)


FileStamp: TypeAlias = tuple[int, int, int, int]


class HeadAndBranch(NamedTuple):
    """HEAD, its tree, the tip of a branch, and their merge bases, all as object names.

    `branch` is empty if no branch is likely to be the default; then HEAD is used instead.
    """

    head: str
    tree: str
    branch: str
    tip: str
    merge_bases: tuple[str, ...]


class Repository(Struct, frozen=True):
    """A repository with a work tree.

    `default` is the full name of the branch to compare with, or empty. `hash` is the hash
    algorithm of its objects. `folder` is the git folder of this work tree alone, `shared` the one
    of all its work trees. `compared` relates HEAD to the branch that was likely to be the default;
    None if that was not requested, or git could not tell.
    """

    root: str
    default: str
    hash: str
    is_shallow: bool
    folder: str
    shared: str
    compared: HeadAndBranch | None = None

    def index_stamp(self) -> FileStamp | None:
        """Return a value that changes when the index is written."""
        return _stamp(f"{self.folder}/index")

    def exclude_stamp(self) -> FileStamp | None:
        """Return a value that changes when `info/exclude` is written."""
        return _stamp(f"{self.shared}/info/exclude")

    def compared_with(self, branch: str, head: str) -> HeadAndBranch | None:
        """Return how HEAD relates to a branch, if known and neither has moved since."""
        known = self.compared
        if known is None or (known.branch, known.head) != (branch, head):
            return None
        try:
            return known if ref_commit(self.shared, branch) == known.tip else None
        except (OSError, ValueError):
            return None

    @property
    def empty_tree(self) -> str:
        """The empty tree, used in place of a missing commit."""
        return _EMPTY_TREES[self.hash]


def find_repository(git: Git, start: str, *, compares: bool = False) -> Repository:
    """Ask git for the repository of a folder (DW-A42). Raise BylawError if there is none.

    With `compares`, the same process also returns HEAD and its merge base with the likely default
    branch. If that fails, git is asked again without them.
    """
    likely = _likely_default(start) if compares else None
    found = None if likely is None else _asked(git, start, likely)
    return found or _asked(git, start) or _refuse(git, start)


def _asked(git: Git, start: str, likely: str | None = None) -> Repository | None:
    """Return None if git could not answer one of the questions. `likely` may be empty."""
    mark = f"--{secrets.token_hex(8)}"
    questions = ("--is-shallow-repository", "--show-object-format")
    about_head = () if likely is None else ("HEAD^{tree}", f"{likely or 'HEAD'}...HEAD")
    # A path may contain any character, so a random mark separates the answers.
    parts = (*questions, mark, "--absolute-git-dir", mark, "--git-common-dir", mark,
             "--show-toplevel", mark, *about_head, mark, "--symbolic", *_PATTERNS)  # fmt: skip
    written = git.run(start, "rev-parse", *parts)
    if written.exit_code:
        return None
    facts, folder, common, top, compared, refs = written.output.split(mark.encode() + b"\n")
    is_shallow, hash_name = facts.decode().split()
    if hash_name not in _EMPTY_TREES:
        raise BylawError(f"the repository uses the unknown object format {hash_name}")
    own, root = (as_text(path.removesuffix(b"\n")) for path in (folder, top))
    shared = joined(start, as_text(common.removesuffix(b"\n")))
    if not lies_in(real_path(start), root):
        raise BylawError(f"git reports another work tree: `{clipped(visible(root), MAX_SHOWN)}`")
    return Repository(
        root=root,
        default=_default(refs.decode(errors="replace").split()),
        hash=hash_name,
        is_shallow=is_shallow == "true",
        folder=own,
        shared=shared,
        compared=None if likely is None else _head_and_branch(likely, *compared.decode().split()),
    )


def _refuse(git: Git, start: str) -> NoReturn:
    """Raise the BylawError that says why the folder has no work tree."""
    written = git.run(start, "rev-parse", "--is-bare-repository", "--show-toplevel")
    if not written.output:
        raise failure(start, "rev-parse", written)
    is_bare = written.output.startswith(b"true")
    what = "is in a bare repository" if is_bare else "is inside the folder of git"
    shown = clipped(visible(start), MAX_SHOWN)
    raise BylawError(f"`{shown}` {what}: there is no work tree to check")


def tip_and_merge_bases(names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the tip of a branch and its merge bases with HEAD.

    `names` is the output of `rev-parse BRANCH...HEAD`.
    """
    _, tip, *bases = names
    return tip, tuple(one.removeprefix("^") for one in bases)


def _head_and_branch(branch: str, tree: str, *names: str) -> HeadAndBranch:
    return HeadAndBranch(names[0], tree, branch, *tip_and_merge_bases(names))


def _likely_default(start: str) -> str | None:
    """Guess the default branch from the files of git; None if there may be no commit."""
    try:
        folder = git_folder(work_tree(start))
        head_commit(folder)
        shared = shared_folder(folder)
    except (OSError, ValueError):
        return None
    return next((ref for ref in _LIKELY if has_ref(shared, ref)), "")


def _default(refs: Iterable[str]) -> str:
    """Return HEAD of the remote, its main or its master, else local main or master (DW-A12)."""
    found = set(refs)
    return next((ref for ref in _candidates(found) if ref in found), "")


def _candidates(found: set[str]) -> Iterator[str]:
    remotes = {ref[len(_REMOTE) :].rpartition("/")[0] for ref in found if ref.startswith(_REMOTE)}
    # A remote branch such as `origin/feature/main` looks like a remote `origin/feature`.
    plain = {name for name in remotes if "/" not in name or f"{_REMOTE}{name}/HEAD" in found}
    for remote in (*_FIRST_REMOTES, *sorted(plain)):
        yield from (f"{_REMOTE}{remote}/{name}" for name in _DEFAULTS)
    yield from _LOCAL


def _stamp(path: str) -> FileStamp | None:
    try:
        found = os.lstat(as_bytes(path))
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def switch_filters_off(git: Git, repository: Repository) -> None:
    """Disable the filters that the settings of a repository name. Raise BylawError if impossible.

    The settings may change at any time, so call this before each question that makes git read
    files.
    """
    files = f"{repository.shared}/config", f"{repository.folder}/config.worktree"
    settings = b"\n".join(map(_read, files))
    filters = filters_in(settings)
    git.without_filters(filters)
    if _INCLUDE in settings.lower():
        # The settings include other files, and only git knows which.
        listed = git.output(repository.root, "config", "--includes", "--list", "--name-only", "-z")
        names = (name for name in listed.split(b"\0") if name.startswith(b"filter."))
        git.without_filters(filters | {name[7:].rpartition(b".")[0] for name in names})


def _read(path: str) -> bytes:
    try:
        data = regular_bytes(path, MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return b""
    except (OSError, ValueError):
        raise BylawError("the settings of the repository cannot be read") from None
    if len(data) > MAX_SETTINGS_BYTES:
        raise BylawError(
            f"the settings of the repository are larger than {MAX_SETTINGS_BYTES:,} bytes"
        )
    return data
