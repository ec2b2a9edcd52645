"""NUL-separated output of git → files that differ, by their paths as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.hosts.worktree.policy_state import PATH as POLICY_STATE
from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.runtime.state_folder import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

# Bylaw writes these files at every check, so they are not changes of the agent.
_OUR_FOLDERS = tuple(f"{folder}/".encode() for folder in (TRANSIENT, STATE))
_OUR_FILES = frozenset({POLICY_STATE.encode()})
OURS = _OUR_FILES.union(_OUR_FOLDERS)

GITLINK = "160000"
_NOTHING = "000000"


class Version(NamedTuple):
    """A file in a commit or in the index: its git mode, and the object name of its content."""

    mode: str
    name: str


class Dirty(Struct, frozen=True):
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
    def is_not_as_in_index(self) -> bool:
        """Whether the next commit would have another version than the work tree."""
        return not (self.as_in_index or self.is_unmerged)

    @property
    def is_staged_alone(self) -> bool:
        """Whether the next commit would change the file, but not to the work tree's version."""
        return self.index != self.head and self.is_not_as_in_index


class GitStatus(Struct, frozen=True):
    """The work tree and the index, compared with HEAD. `commit` is empty without a commit.

    `ignored` has the ignored paths, if they were requested. A path that ends with `/` is a folder
    that is ignored completely.
    """

    commit: str = ""
    files: dict[bytes, Dirty] = field(default_factory=dict)
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
    files: dict[bytes, Dirty] = {}
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
                files[path] = _both(files[path], dirty) if path in files else dirty
    return GitStatus("" if commit == "(initial)" else commit, files, frozenset(ignored))


def read_gitlinks(output: bytes) -> list[bytes]:
    """Return the nested repositories in the output of `git ls-files --stage -z`."""
    records = (record.partition(b"\t") for record in output.split(b"\0"))
    return [path for about, _, path in records if about.startswith(GITLINK.encode())]


def _ordinary(record: bytes) -> tuple[bytes, Dirty]:
    state, _, head, index, now, head_name, index_name, path = record.split(b" ", 7)
    there = now.decode() != _NOTHING
    unstaged = state[1:2] != b"."
    return path, Dirty(
        _version(head, head_name),
        _version(index, index_name),
        now.decode() if there else "",
        is_there=there,
        as_in_index=not unstaged,
    )


def _unmerged(record: bytes) -> tuple[bytes, Dirty]:
    _, _, _, ours, _, now, _, name, _, path = record.split(b" ", 9)
    there = now.decode() != _NOTHING
    head = _version(ours, name)
    # The index has several versions of an unmerged file, so no single one can be named.
    staged, mode = Version("", ""), now.decode() if there else ""
    return path, Dirty(head, staged, mode, is_there=there, is_unmerged=True)


def _untracked(path: bytes) -> tuple[bytes, Dirty]:
    # Git reports only nested repositories as folders.
    mode = GITLINK if path.endswith(b"/") else ""
    found = Dirty(None, None, mode, is_there=True, is_untracked=True)
    return path.removesuffix(b"/"), found


def _both(one: Dirty, other: Dirty) -> Dirty:
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


class Committed:
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
    return None if mode.decode() == _NOTHING else Version(mode.decode(), name.decode())


def is_ours(path: bytes) -> bool:
    """Whether Bylaw writes this file or folder itself."""
    return path in _OUR_FILES or path.startswith(_OUR_FOLDERS)
