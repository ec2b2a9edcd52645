"""What git writes between NULs → files that differ, by their paths as git has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.hosts.worktree.policy_state import PATH as POLICY_STATE
from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.runtime.state_folder import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

# Ours, so no change of theirs: it would be one of every check.
_OUR_FOLDERS = tuple(f"{folder}/".encode() for folder in (TRANSIENT, STATE))
_OUR_FILES = frozenset({POLICY_STATE.encode()})
OURS = _OUR_FILES.union(_OUR_FOLDERS)

GITLINK = "160000"
_NOTHING = "000000"


class Version(NamedTuple):
    """A file in a commit or in the index: what kind of file, and the name of its content."""

    mode: str
    name: str


class Dirty(Struct, frozen=True):
    """A file of the work tree that is not as in HEAD, or is in a way that git does not tell.

    `head` and `index` are None where there is no such file. `mode` is that of the file now, the
    empty text if there is none, or if git does not say. `as_in_index` tells that the file is what
    the index has.
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
        """Whether the next commit has the file as the work tree does not."""
        return not (self.as_in_index or self.is_unmerged)

    @property
    def is_staged_alone(self) -> bool:
        """Whether the next commit changes the file to what the work tree does not have."""
        return self.index != self.head and self.is_not_as_in_index


class GitStatus(Struct, frozen=True):
    """The work tree and the index against HEAD; `commit` is empty if there is none yet.

    `ignored` is what git leaves out, if it was asked for; a folder as a whole, with a `/`.
    """

    commit: str = ""
    files: dict[bytes, Dirty] = field(default_factory=dict)
    ignored: frozenset[bytes] = frozenset()

    def staged(self) -> Iterator[bytes]:
        """The files whose next version is in the index."""
        return (path for path, dirty in self.files.items() if dirty.head != dirty.index)

    def repositories(self) -> Iterator[bytes]:
        """Repositories inside of this one that are not as in HEAD."""
        for path, dirty in self.files.items():
            if GITLINK in (dirty.mode, dirty.index.mode if dirty.index else ""):
                yield path

    def untracked(self) -> Iterator[bytes]:
        """The files that are not in the index, and not ignored."""
        return (path for path, dirty in self.files.items() if dirty.is_untracked)


class Difference(NamedTuple):
    """A file in one commit and in another; None where there is none."""

    old: Version | None
    new: Version | None


def read_status(output: bytes) -> GitStatus:
    """What `git status --porcelain=v2 --branch -z --no-renames` says."""
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
    """Of what `git ls-files --stage -z` says, the repositories that are recorded inside."""
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
    # All of its versions together are what is staged.
    staged, mode = Version("", ""), now.decode() if there else ""
    return path, Dirty(head, staged, mode, is_there=there, is_unmerged=True)


def _untracked(path: bytes) -> tuple[bytes, Dirty]:
    # Only a repository inside of this one is told as a folder.
    mode = GITLINK if path.endswith(b"/") else ""
    found = Dirty(None, None, mode, is_there=True, is_untracked=True)
    return path.removesuffix(b"/"), found


def _both(one: Dirty, other: Dirty) -> Dirty:
    """A file that is removed from the index and lies there still."""
    tracked, untracked = (other, one) if one.is_untracked else (one, other)
    return replace(untracked, head=tracked.head)


_READERS = {b"1": _ordinary, b"u": _unmerged, b"?": _untracked}


def read_differences(output: bytes) -> dict[str, dict[bytes, Difference]]:
    """What `git diff-tree --stdin --raw -z --always` says, by the commit that each part is for."""
    commits: dict[str, dict[bytes, Difference]] = {}
    current: dict[bytes, Difference] = {}
    records = iter(output.removesuffix(b"\0").split(b"\0") if output else ())
    for record in records:
        # Behind the names of two trees there is a line end, behind that of a commit a NUL.
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
    """The files of a commit, from what `git diff-tree --raw -z` says of it and of nothing.

    There are many of them, and few that somebody asks for.
    """

    def __init__(self, output: bytes) -> None:
        # Before the first of them stands what was asked, behind the last one a NUL.
        _, _, found = output.partition(b":")
        records = found.split(b"\0")[:-1]
        self._records = dict(zip(records[1::2], records[::2], strict=True))

    def version(self, path: bytes) -> Version | None:
        """A file as it was committed; None if there is none."""
        record = self._records.get(path)
        if record is None:
            return None
        mode, _, name, _ = record.removeprefix(b":").split(b" ", 3)
        return _version(mode, name)

    def has_below(self, folder: bytes) -> bool:
        """Whether there are files in a folder, which ends with a `/`."""
        return any(path.startswith(folder) for path in self._records)


def _version(mode: bytes, name: bytes) -> Version | None:
    return None if mode.decode() == _NOTHING else Version(mode.decode(), name.decode())


def is_ours(path: bytes) -> bool:
    """Whether Bylaw itself writes it: no work of anybody."""
    return path in _OUR_FILES or path.startswith(_OUR_FOLDERS)
