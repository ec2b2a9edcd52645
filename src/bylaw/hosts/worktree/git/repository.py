"""A folder → the git repository that it lies in: its top, and the branches to compare with.

Git is asked once for all of it. The merge base of HEAD can be asked only with a branch that is
there, else git says nothing at all: so the likely default branch is asked for, and where that was
wrong, git is asked again.
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
# A pattern without a wildcard would stand for all that lies below.
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
    """HEAD, its tree, the tip of a branch and their merge bases, by the names of the commits.

    `branch` is empty if none is likely to be the default one: then HEAD stands in its place.
    """

    head: str
    tree: str
    branch: str
    tip: str
    merge_bases: tuple[str, ...]


class Repository(Struct, frozen=True):
    """A repository with a work tree.

    `default` is the full name of the branch to compare with, the empty text if there is none.
    `hash` is how it names what it holds. `folder` and `shared` are where git keeps it: what is of
    this work tree alone, and the rest. `compared` is how HEAD stands with the branch that
    was likely to be the default one; None if nobody asked, or git could not tell.
    """

    root: str
    default: str
    hash: str
    is_shallow: bool
    folder: str
    shared: str
    compared: HeadAndBranch | None = None

    def index_stamp(self) -> FileStamp | None:
        """By which one sees that somebody has written the index."""
        return _stamp(f"{self.folder}/index")

    def exclude_stamp(self) -> FileStamp | None:
        """By which one sees that somebody has changed what is ignored in all work trees."""
        return _stamp(f"{self.shared}/info/exclude")

    def compared_with(self, branch: str, head: str) -> HeadAndBranch | None:
        """How HEAD stands with a branch, if that is known and neither has moved since."""
        known = self.compared
        if known is None or (known.branch, known.head) != (branch, head):
            return None
        try:
            return known if ref_commit(self.shared, branch) == known.tip else None
        except (OSError, ValueError):
            return None

    @property
    def empty_tree(self) -> str:
        """What stands for no commit at all."""
        return _EMPTY_TREES[self.hash]


def find_repository(git: Git, start: str, *, compares: bool = False) -> Repository:
    """The repository of a folder, by git's own answer (DW-A42); BylawError if there is none.

    With `compares`, git is asked in the same process for HEAD and its merge base with the likely
    default branch; where it cannot tell, it is asked again without that.
    """
    likely = _likely_default(start) if compares else None
    found = None if likely is None else _asked(git, start, likely)
    return found or _asked(git, start) or _refuse(git, start)


def _asked(git: Git, start: str, likely: str | None = None) -> Repository | None:
    """None if git had no answer to one of the questions; `likely` may be no branch at all."""
    mark = f"--{secrets.token_hex(8)}"
    questions = ("--is-shallow-repository", "--show-object-format")
    about_head = () if likely is None else ("HEAD^{tree}", f"{likely or 'HEAD'}...HEAD")
    # Paths may hold anything, so nobody can know what parts them.
    parts = (*questions, mark, "--absolute-git-dir", mark, "--git-common-dir", mark,
             "--show-toplevel", mark, *about_head, mark, "--symbolic", *_PATTERNS)  # fmt: skip
    written = git.run(start, "rev-parse", *parts)
    if written.exit_code:
        return None
    facts, folder, common, top, compared, refs = written.output.split(mark.encode() + b"\n")
    is_shallow, hash_name = facts.decode().split()
    if hash_name not in _EMPTY_TREES:
        raise BylawError(f"the repository names its objects by {hash_name}, which is unknown here")
    own, root = (as_text(path.removesuffix(b"\n")) for path in (folder, top))
    shared = joined(start, as_text(common.removesuffix(b"\n")))
    if not lies_in(real_path(start), root):
        raise BylawError(f"git names `{clipped(visible(root), MAX_SHOWN)}`, which is elsewhere")
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
    """BylawError says why there is nothing to look at."""
    written = git.run(start, "rev-parse", "--is-bare-repository", "--show-toplevel")
    if not written.output:
        raise failure(start, "rev-parse", written)
    is_bare = written.output.startswith(b"true")
    what = "lies in a bare repository" if is_bare else "is a folder of git itself"
    shown = clipped(visible(start), MAX_SHOWN)
    raise BylawError(f"`{shown}` {what}: there are no files to look at")


def tip_and_merge_bases(names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The tip of a branch and its merge bases with HEAD, by what `rev-parse BRANCH...HEAD` says."""
    _, tip, *bases = names
    return tip, tuple(one.removeprefix("^") for one in bases)


def _head_and_branch(branch: str, tree: str, *names: str) -> HeadAndBranch:
    return HeadAndBranch(names[0], tree, branch, *tip_and_merge_bases(names))


def _likely_default(start: str) -> str | None:
    """The branch that git will most likely name, by the files; None if there may be no commit."""
    try:
        folder = git_folder(work_tree(start))
        head_commit(folder)
        shared = shared_folder(folder)
    except (OSError, ValueError):
        return None
    return next((ref for ref in _LIKELY if has_ref(shared, ref)), "")


def _default(refs: Iterable[str]) -> str:
    """DW-A12: what the remote says, its main, its master; without a remote the local ones."""
    found = set(refs)
    return next((ref for ref in _candidates(found) if ref in found), "")


def _candidates(found: set[str]) -> Iterator[str]:
    remotes = {ref[len(_REMOTE) :].rpartition("/")[0] for ref in found if ref.startswith(_REMOTE)}
    # A branch such as `feature/main` of a remote looks like a remote.
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
    """From now on git runs no filter that the settings of a repository name; BylawError.

    They may change at any time: before every question that makes git look into files.
    """
    files = f"{repository.shared}/config", f"{repository.folder}/config.worktree"
    settings = b"\n".join(map(_read, files))
    filters = filters_in(settings)
    git.without_filters(filters)
    if _INCLUDE in settings.lower():
        # They lead to other files, and only git knows to which.
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
