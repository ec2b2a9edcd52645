"""A folder → the git repository that it lies in: its top, and the branches to compare with."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.worktree.git.git import MAX_SHOWN, failure, filters_in
from bylaw.model.errors import BylawError
from bylaw.model.visible import clipped, visible
from bylaw.runtime.paths import as_bytes, as_text, lies_in, real_path
from bylaw.runtime.reading import regular_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


class Repository(Struct, frozen=True):
    """A repository with a work tree.

    `default` is the full name of the branch to compare with, the empty text if there is none.
    `hash` is how it names what it holds.
    """

    root: str
    default: str
    hash: str
    is_shallow: bool

    @property
    def empty_tree(self) -> str:
        """What stands for no commit at all."""
        return _EMPTY_TREES[self.hash]


def find_repository(git: Git, start: str) -> Repository:
    """The repository of a folder, by git's own answer (DW-A42); BylawError if there is none.

    From then on, git runs no filter that the settings of the repository name.
    """
    mark = f"--{secrets.token_hex(8)}"
    questions = ("--is-bare-repository", "--is-shallow-repository", "--show-object-format")
    # Paths may hold anything, so nobody can know what parts them; what may fail comes last.
    parts = (*questions, mark, "--absolute-git-dir", mark, "--git-common-dir", mark,
             "--symbolic", *_PATTERNS, mark, "--show-toplevel")  # fmt: skip
    written = git.run(start, "rev-parse", *parts)
    answers = written.output.split(mark.encode() + b"\n")
    if len(answers) < 5:  # noqa: PLR2004 - the parts above
        raise failure(start, "rev-parse", written)
    facts, folder, common, refs, top = answers
    is_bare, is_shallow, hash_name = facts.decode().split()
    if written.exit_code:
        shown = clipped(visible(start), MAX_SHOWN)
        what = "lies in a bare repository" if is_bare == "true" else "is a folder of git itself"
        raise BylawError(f"`{shown}` {what}: there are no files to look at")
    if hash_name not in _EMPTY_TREES:
        raise BylawError(f"the repository names its objects by {hash_name}, which is unknown here")
    root = as_text(top.removesuffix(b"\n"))
    if not lies_in(real_path(start), root):
        raise BylawError(f"git names `{clipped(visible(root), MAX_SHOWN)}`, which is elsewhere")
    _switch_filters_off(git, root, _settings_files(start, folder, common))
    default = _default(refs.decode(errors="replace").split())
    return Repository(root, default, hash_name, is_shallow == "true")


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


def _settings_files(start: str, folder: bytes, common: bytes) -> list[str]:
    own, shared = (as_text(path.removesuffix(b"\n")) for path in (folder, common))
    base = as_text(os.path.join(as_bytes(start), as_bytes(shared)))  # noqa: PTH118 - bytes
    return [f"{base}/config", f"{own}/config.worktree"]


def _switch_filters_off(git: Git, root: str, files: Iterable[str]) -> None:
    settings = b"\n".join(_read(path) for path in files)
    filters = filters_in(settings)
    git.without_filters(filters)
    if _INCLUDE in settings.lower():
        # They lead to other files, and only git knows to which.
        listed = git.output(root, "config", "--includes", "--list", "--name-only", "-z")
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
