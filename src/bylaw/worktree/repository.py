"""Find the git repository of a folder: its top folder, HEAD, and the branches to compare with.

One git process answers everything. It can return the merge base of HEAD only with an existing
branch; with any other it fails completely. So Bylaw guesses the default branch from the files of
the repository, and asks git again if the guess was wrong. HEAD, refs and file sizes in the index
are read from the git folder without a process.
"""

from __future__ import annotations

import os
import re
import secrets
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from msgspec import Struct

from bylaw.model.display import clip_text, visible
from bylaw.model.errors import BylawError
from bylaw.runtime.root import work_tree
from bylaw.store.files import read_regular_bytes
from bylaw.store.paths import as_bytes, as_text, is_folder, is_inside, path_exists, real_path
from bylaw.worktree.git import MAX_SHOWN, filter_names, git_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.worktree.git import Git

MAX_REF_BYTES = 4096
MAX_PACKED_BYTES = 16 << 20
MAX_SYMREFS = 5  # symbolic refs to follow

_SYMREF = "ref: "
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def git_folder(top: str) -> str:
    """Return the git folder of a work tree. Raise OSError or ValueError if there is none."""
    folder = f"{top}/.git"
    return (
        folder if is_folder(folder) else join_path(top, _read_line(folder).removeprefix("gitdir: "))
    )


def shared_folder(folder: str) -> str:
    """Return the git folder that all work trees of a repository share."""
    elsewhere = f"{folder}/commondir"
    return join_path(folder, _read_line(elsewhere)) if path_exists(elsewhere) else folder


def head_commit(folder: str) -> str:
    """Return the commit of HEAD. Raise OSError or ValueError if the files do not name it."""
    head = _read_line(f"{folder}/HEAD")
    return _follow(shared_folder(folder), head)


def ref_commit(shared: str, ref: str) -> str:
    """Return the commit of a branch. Raise OSError or ValueError if the files do not name it."""
    return _follow(shared, f"{_SYMREF}{ref}")


def has_ref(shared: str, ref: str) -> bool:
    """Whether the files name a branch. Some repositories store branches in another form."""
    try:
        return bool(ref_commit(shared, ref))
    except (OSError, ValueError):
        return False


def join_path(folder: str, path: str) -> str:
    """Return an absolute path as it is, and a relative one below a folder."""
    return as_text(os.path.join(as_bytes(folder), as_bytes(path)))  # noqa: PTH118 - bytes


def _follow(shared: str, line: str) -> str:
    for _ in range(MAX_SYMREFS):
        if not line.startswith(_SYMREF):
            break
        ref = line.removeprefix(_SYMREF)
        try:
            line = _read_line(f"{shared}/{ref}")
        except FileNotFoundError:
            line = _packed_ref(shared, ref)
    return _check_commit(line)


def _packed_ref(folder: str, ref: str) -> str:
    packed = as_text(read_regular_bytes(f"{folder}/packed-refs", MAX_PACKED_BYTES))
    found = (line.partition(" ") for line in packed.splitlines())
    return next((name for name, _, its_ref in found if its_ref == ref), "")


def _check_commit(text: str) -> str:
    if not _COMMIT.fullmatch(text):
        raise ValueError("no commit")
    return text


def _read_line(path: str) -> str:
    return as_text(read_regular_bytes(path, MAX_REF_BYTES)).strip()


MAX_SETTINGS_BYTES = 4 << 20

_REMOTE = "refs/remotes/"
_FIRST_REMOTES = ("origin", "upstream")
_DEFAULT_NAMES = ("HEAD", "main", "master")
_LOCAL_BRANCHES = ("refs/heads/main", "refs/heads/master")
# Without a wildcard, git would match everything below that name.
_PATTERNS = (
    *(f"--glob={_REMOTE}*/{name}" for name in _DEFAULT_NAMES),
    "--glob=refs/heads/mai[n]",
    "--glob=refs/heads/maste[r]",
)
_EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_INCLUDE = b"[include"
_LIKELY_BRANCHES = (*(f"{_REMOTE}origin/{name}" for name in _DEFAULT_NAMES), *_LOCAL_BRANCHES)


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
    comparison: HeadAndBranch | None = None

    def index_stamp(self) -> FileStamp | None:
        """Return a value that changes when the index is written."""
        return _file_stamp(f"{self.folder}/index")

    def exclude_stamp(self) -> FileStamp | None:
        """Return a value that changes when `info/exclude` is written."""
        return _file_stamp(f"{self.shared}/info/exclude")

    def comparison_with(self, branch: str, head: str) -> HeadAndBranch | None:
        """Return how HEAD relates to a branch, if known and neither has moved since."""
        known = self.comparison
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
    likely = _guess_default_branch(start) if compares else None
    found = None if likely is None else _ask_git(git, start, likely)
    return found or _ask_git(git, start) or _raise_no_work_tree(git, start)


def _ask_git(git: Git, start: str, likely: str | None = None) -> Repository | None:
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
    shared = join_path(start, as_text(common.removesuffix(b"\n")))
    if not is_inside(real_path(start), root):
        raise BylawError(f"git reports another work tree: `{clip_text(visible(root), MAX_SHOWN)}`")
    return Repository(
        root=root,
        default=_default_branch(refs.decode(errors="replace").split()),
        hash=hash_name,
        is_shallow=is_shallow == "true",
        folder=own,
        shared=shared,
        comparison=None if likely is None else _head_and_branch(likely, *compared.decode().split()),
    )


def _raise_no_work_tree(git: Git, start: str) -> NoReturn:
    """Raise the BylawError that says why the folder has no work tree."""
    written = git.run(start, "rev-parse", "--is-bare-repository", "--show-toplevel")
    if not written.output:
        raise git_error(start, "rev-parse", written)
    is_bare = written.output.startswith(b"true")
    what = "is in a bare repository" if is_bare else "is inside the folder of git"
    shown = clip_text(visible(start), MAX_SHOWN)
    raise BylawError(f"`{shown}` {what}: there is no work tree to check")


def tip_and_merge_bases(names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the tip of a branch and its merge bases with HEAD.

    `names` is the output of `rev-parse BRANCH...HEAD`.
    """
    _, tip, *bases = names
    return tip, tuple(one.removeprefix("^") for one in bases)


def _head_and_branch(branch: str, tree: str, *names: str) -> HeadAndBranch:
    return HeadAndBranch(names[0], tree, branch, *tip_and_merge_bases(names))


def _guess_default_branch(start: str) -> str | None:
    """Guess the default branch from the files of git; None if there may be no commit."""
    try:
        folder = git_folder(work_tree(start))
        head_commit(folder)
        shared = shared_folder(folder)
    except (OSError, ValueError):
        return None
    return next((ref for ref in _LIKELY_BRANCHES if has_ref(shared, ref)), "")


def _default_branch(refs: Iterable[str]) -> str:
    """Return HEAD of the remote, its main or its master, else local main or master (DW-A12)."""
    found = set(refs)
    return next((ref for ref in _candidates(found) if ref in found), "")


def _candidates(found: set[str]) -> Iterator[str]:
    remotes = {ref[len(_REMOTE) :].rpartition("/")[0] for ref in found if ref.startswith(_REMOTE)}
    # A remote branch such as `origin/feature/main` looks like a remote `origin/feature`.
    plain = {name for name in remotes if "/" not in name or f"{_REMOTE}{name}/HEAD" in found}
    for remote in (*_FIRST_REMOTES, *sorted(plain)):
        yield from (f"{_REMOTE}{remote}/{name}" for name in _DEFAULT_NAMES)
    yield from _LOCAL_BRANCHES


def _file_stamp(path: str) -> FileStamp | None:
    try:
        found = os.lstat(as_bytes(path))
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def disable_filters(git: Git, repository: Repository) -> None:
    """Disable the filters that the settings of a repository name. Raise BylawError if impossible.

    The settings may change at any time, so call this before each question that makes git read
    files.
    """
    files = f"{repository.shared}/config", f"{repository.folder}/config.worktree"
    settings = b"\n".join(map(_read_settings, files))
    filters = filter_names(settings)
    git.disable_filters(filters)
    if _INCLUDE in settings.lower():
        # The settings include other files, and only git knows which.
        listed = git.output(repository.root, "config", "--includes", "--list", "--name-only", "-z")
        names = (name for name in listed.split(b"\0") if name.startswith(b"filter."))
        git.disable_filters(filters | {name[7:].rpartition(b".")[0] for name in names})


def _read_settings(path: str) -> bytes:
    try:
        data = read_regular_bytes(path, MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return b""
    except (OSError, ValueError):
        raise BylawError("the settings of the repository cannot be read") from None
    if len(data) > MAX_SETTINGS_BYTES:
        raise BylawError(
            f"the settings of the repository are larger than {MAX_SETTINGS_BYTES:,} bytes"
        )
    return data


MAX_INDEX_BYTES = 1 << 30

_HEADER = 12  # bytes: a mark, the version of the format, the number of entries
_VERSION_2 = b"DIRC\0\0\0\2"
_SIZE_AT = 36  # in an entry; after the size: the hash of the content, two bytes, the path
_NAME_LENGTHS = {"sha1": 20, "sha256": 32}


class IndexFile:
    """The index in a git folder, read when first needed. `hash_name` is its hash algorithm."""

    def __init__(self, folder: str, hash_name: str) -> None:
        self._path = f"{folder}/index"
        self._to_path = _SIZE_AT + 4 + _NAME_LENGTHS[hash_name] + 2

    @property
    def is_version_2(self) -> bool:
        """Whether the index has version 2, the form that git writes by default."""
        return self._data.startswith(_VERSION_2)

    def size(self, path: bytes) -> int:
        """Return the size of a file, zero if it is not known."""
        return self._sizes.get(path, 0)

    @cached_property
    def _data(self) -> bytes:
        try:
            return read_regular_bytes(self._path, MAX_INDEX_BYTES)
        except (OSError, ValueError):
            return b""

    @cached_property
    def _sizes(self) -> dict[bytes, int]:
        sizes: dict[bytes, int] = {}
        data, at = self._data, _HEADER
        count = int.from_bytes(data[8:_HEADER], "big") if self.is_version_2 else 0
        for _ in range(count):
            end = data.find(b"\0", at + self._to_path)
            if end < 0:
                break  # the header claims more entries than the file has
            size = data[at + _SIZE_AT : at + _SIZE_AT + 4]
            sizes[data[at + self._to_path : end]] = int.from_bytes(size, "big")
            at += (end - at + 8) & ~7  # padded with one to eight NULs
        return sizes
