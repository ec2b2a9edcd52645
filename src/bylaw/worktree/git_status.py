"""Status and differences as git writes them, and the present contents of files.

Paths are bytes, as in the output of git. Files that Bylaw writes itself are left out. Each file of
the work tree is read once; its content gets a digest and the object name that git would give it.
"""

from __future__ import annotations

from hashlib import new as new_hash
from stat import S_ISDIR, S_ISLNK, S_IXUSR
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.store.file_digests import FileDigests
from bylaw.store.paths import as_text, path_exists
from bylaw.store.state_folder import STATE_FOLDER
from bylaw.worktree.folders import SUMMARY_PATH as POLICY_STATE
from bylaw.worktree.repository import git_folder, head_commit

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from bylaw.store.file_digests import FileHash

# Bylaw writes these files at every check, so they are not changes of the agent.
_OUR_FOLDERS = tuple(f"{folder}/".encode() for folder in (TRANSIENT, STATE_FOLDER))
_OUR_FILES = frozenset({POLICY_STATE.encode()})
OURS = _OUR_FILES.union(_OUR_FOLDERS)

GITLINK = "160000"
_NO_MODE = "000000"


class Version(NamedTuple):
    """A file in a commit or in the index: its git mode, and the object name of its content."""

    mode: str
    name: str


class DirtyFile(Struct, frozen=True):
    """A file of the work tree that git reports, usually because it differs from HEAD.

    `head` and `index` are None if HEAD or the index does not have the file. `mode` is the present
    git mode of the file, empty if the file is gone or git does not report it. `as_in_index` is true
    if the work tree and the index have the same content.
    """

    head: Version | None
    index: Version | None
    mode: str
    is_there: bool
    as_in_index: bool = False
    is_untracked: bool = False
    is_unmerged: bool = False

    @property
    def differs_from_index(self) -> bool:
        """Whether the next commit would have another version than the work tree."""
        return not (self.as_in_index or self.is_unmerged)

    @property
    def is_only_staged(self) -> bool:
        """Whether the next commit would change the file, but not to the work tree's version."""
        return self.index != self.head and self.differs_from_index


class GitStatus(Struct, frozen=True):
    """The work tree and the index, compared with HEAD. `commit` is empty without a commit.

    `ignored` has the ignored paths, if they were requested. A path that ends with `/` is a folder
    that is ignored completely.
    """

    commit: str = ""
    files: dict[bytes, DirtyFile] = field(default_factory=dict)
    ignored: frozenset[bytes] = frozenset()

    def staged(self) -> Iterator[bytes]:
        """Yield the files whose index version differs from HEAD."""
        return (path for path, dirty in self.files.items() if dirty.head != dirty.index)

    def repositories(self) -> Iterator[bytes]:
        """Yield nested repositories that differ from HEAD."""
        for path, dirty in self.files.items():
            if GITLINK in (dirty.mode, dirty.index.mode if dirty.index else ""):
                yield path

    def untracked(self) -> Iterator[bytes]:
        """Yield the files that are neither in the index nor ignored."""
        return (path for path, dirty in self.files.items() if dirty.is_untracked)


class Difference(NamedTuple):
    """A file in two commits; None in the commit that does not have it."""

    old: Version | None
    new: Version | None


def read_status(output: bytes) -> GitStatus:
    """Read the output of `git status --porcelain=v2 --branch -z --no-renames`."""
    commit = ""
    files: dict[bytes, DirtyFile] = {}
    ignored = []
    for record in output.split(b"\0"):
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            key, _, value = rest.partition(b" ")
            commit = value.decode() if key == b"branch.oid" else commit
        elif kind == b"!":
            ignored.append(rest)
        elif kind in _READERS:
            path, dirty = _READERS[kind](rest)
            if not is_ours(path):
                files[path] = _merge(files[path], dirty) if path in files else dirty
    return GitStatus("" if commit == "(initial)" else commit, files, frozenset(ignored))


def read_gitlinks(output: bytes) -> list[bytes]:
    """Return the nested repositories in the output of `git ls-files --stage -z`."""
    records = (record.partition(b"\t") for record in output.split(b"\0"))
    return [path for about, _, path in records if about.startswith(GITLINK.encode())]


def _ordinary(record: bytes) -> tuple[bytes, DirtyFile]:
    state, _, head, index, now, head_name, index_name, path = record.split(b" ", 7)
    there = now.decode() != _NO_MODE
    unstaged = state[1:2] != b"."
    return path, DirtyFile(
        _version(head, head_name),
        _version(index, index_name),
        now.decode() if there else "",
        is_there=there,
        as_in_index=not unstaged,
    )


def _unmerged(record: bytes) -> tuple[bytes, DirtyFile]:
    _, _, _, ours, _, now, _, name, _, path = record.split(b" ", 9)
    there = now.decode() != _NO_MODE
    head = _version(ours, name)
    # The index has several versions of an unmerged file, so no single one can be named.
    staged, mode = Version("", ""), now.decode() if there else ""
    return path, DirtyFile(head, staged, mode, is_there=there, is_unmerged=True)


def _untracked(path: bytes) -> tuple[bytes, DirtyFile]:
    # Git reports only nested repositories as folders.
    mode = GITLINK if path.endswith(b"/") else ""
    found = DirtyFile(None, None, mode, is_there=True, is_untracked=True)
    return path.removesuffix(b"/"), found


def _merge(one: DirtyFile, other: DirtyFile) -> DirtyFile:
    """Merge the two records of a file that is removed from the index, but still exists."""
    tracked, untracked = (other, one) if one.is_untracked else (one, other)
    return replace(untracked, head=tracked.head)


_READERS = {b"1": _ordinary, b"u": _unmerged, b"?": _untracked}


def read_differences(output: bytes) -> dict[str, dict[bytes, Difference]]:
    """Read the output of `git diff-tree --stdin --raw -z --always`, by the commit of each part."""
    commits: dict[str, dict[bytes, Difference]] = {}
    current: dict[bytes, Difference] = {}
    records = iter(output.removesuffix(b"\0").split(b"\0") if output else ())
    for record in records:
        # A line end follows the names of two trees; a NUL follows the name of a commit.
        *names, last = record.split(b"\n")
        is_file = last.startswith(b":")
        for name in filter(None, names if is_file else (*names, last)):
            current = commits.setdefault(name.decode(), {})
        if not is_file:
            continue
        old, new, old_name, new_name, _ = last[1:].split(b" ")
        path = next(records)
        if not is_ours(path):
            current[path] = Difference(_version(old, old_name), _version(new, new_name))
    return commits


class CommitFiles:
    """All files of a commit, from `git diff-tree --raw -z` of the commit and the empty tree.

    A record is parsed when its file is requested, since few of many files are.
    """

    def __init__(self, output: bytes) -> None:
        # The output starts with the request and ends with a NUL.
        _, _, found = output.partition(b":")
        records = found.split(b"\0")[:-1]
        self._records = dict(zip(records[1::2], records[::2], strict=True))

    def version(self, path: bytes) -> Version | None:
        """Return the version of a file in the commit, or None."""
        record = self._records.get(path)
        if record is None:
            return None
        mode, _, name, _ = record.removeprefix(b":").split(b" ", 3)
        return _version(mode, name)

    def has_below(self, folder: bytes) -> bool:
        """Whether the commit has files in a folder. `folder` must end with `/`."""
        return any(path.startswith(folder) for path in self._records)


def _version(mode: bytes, name: bytes) -> Version | None:
    return None if mode.decode() == _NO_MODE else Version(mode.decode(), name.decode())


def is_ours(path: bytes) -> bool:
    """Whether Bylaw writes this file or folder itself."""
    return path in _OUR_FILES or path.startswith(_OUR_FOLDERS)


_FILE, _PROGRAM, _LINK = "100644", "100755", "120000"
# Prefixes of digests that do not describe the content of a file in the work tree.
_REPOSITORY, _BARE_VERSION = "commit ", "blob "


class Content(NamedTuple):
    """The content of a file: its digest, its version, its size.

    The digest is empty if there is no file. The version is what git would store without filters.
    """

    digest: str
    version: Version | None
    size: int = 0


NO_CONTENT = Content("", None)


class Contents:
    """The files of a work tree. Each is read when first requested, and then kept."""

    def __init__(self, root: str, hash_name: str) -> None:
        self._files = FileDigests(root)
        self._hash = hash_name
        self._known: dict[bytes, Content] = {}

    def of(self, path: bytes) -> Content:
        """Return the content of a file."""
        if path not in self._known:
            self._known[path] = self._read_content(path)
        return self._known[path]

    def _read_content(self, path: bytes) -> Content:
        seen = _BlobHash(self._hash)
        digest = self._files.of(as_text(path), seen)
        if not digest or seen.found is None:
            return NO_CONTENT
        if S_ISDIR(seen.found.st_mode):
            return _nested_content(f"{self._files.top}/{as_text(path)}")
        version = Version(_mode(seen.found), seen.blob.hexdigest())
        return Content(digest, version, seen.found.st_size)


class _BlobHash:
    """Computes the object name of git for a file while the file is read."""

    def __init__(self, hash_name: str) -> None:
        self.found: os.stat_result | None = None
        self.blob = new_hash(hash_name, usedforsecurity=False)

    def __call__(self, found: os.stat_result) -> FileHash:
        self.found = found
        # Git hashes the kind and the length before the content.
        self.blob.update(b"blob %d\0" % found.st_size)
        return self.blob


def _mode(found: os.stat_result) -> str:
    if S_ISLNK(found.st_mode):
        return _LINK
    return _PROGRAM if found.st_mode & S_IXUSR else _FILE


def _nested_content(location: str) -> Content:
    """Return the HEAD of a nested repository as its content; any other folder has none."""
    if not path_exists(f"{location}/.git"):
        return NO_CONTENT
    try:
        commit = head_commit(git_folder(location))
    except (OSError, ValueError):
        return Content(f"{_REPOSITORY}none", None)
    version = Version(GITLINK, commit)
    return Content(committed_digest(version), version)


def committed_digest(version: Version) -> str:
    """Return the digest of a file that is not checked out, or of a nested repository."""
    return f"{_REPOSITORY if version.mode == GITLINK else _BARE_VERSION}{version.name}"


def is_repository(digest: str) -> bool:
    """Whether a digest is that of a nested repository."""
    return digest.startswith(_REPOSITORY)


def is_object_name(digest: str) -> bool:
    """Whether a digest is that of a nested repository, or of a file that is not checked out."""
    return digest.startswith((_REPOSITORY, _BARE_VERSION))
