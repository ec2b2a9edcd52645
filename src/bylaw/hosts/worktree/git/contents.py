"""Present contents of the files of a work tree. Each file is read once."""

from __future__ import annotations

from hashlib import new as new_hash
from stat import S_ISDIR, S_ISLNK, S_IXUSR
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.worktree.git.git_output import GITLINK, Version
from bylaw.hosts.worktree.git.head_file import git_folder, head_commit
from bylaw.runtime.file_digests import FileDigests
from bylaw.runtime.paths import as_text, is_there

if TYPE_CHECKING:
    import os

    from bylaw.runtime.file_digests import Hash

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


NOTHING = Content("", None)


class Contents:
    """The files of a work tree. Each is read when first requested, and then kept."""

    def __init__(self, root: str, hash_name: str) -> None:
        self._files = FileDigests(root)
        self._hash = hash_name
        self._known: dict[bytes, Content] = {}

    def of(self, path: bytes) -> Content:
        """Return the content of a file."""
        if path not in self._known:
            self._known[path] = self._look(path)
        return self._known[path]

    def _look(self, path: bytes) -> Content:
        seen = _BlobHash(self._hash)
        digest = self._files.of(as_text(path), seen)
        if not digest or seen.found is None:
            return NOTHING
        if S_ISDIR(seen.found.st_mode):
            return _nested(f"{self._files.top}/{as_text(path)}")
        version = Version(_mode(seen.found), seen.blob.hexdigest())
        return Content(digest, version, seen.found.st_size)


class _BlobHash:
    """Computes the object name of git for a file while the file is read."""

    def __init__(self, hash_name: str) -> None:
        self.found: os.stat_result | None = None
        self.blob = new_hash(hash_name, usedforsecurity=False)

    def __call__(self, found: os.stat_result) -> Hash:
        self.found = found
        # Git hashes the kind and the length before the content.
        self.blob.update(b"blob %d\0" % found.st_size)
        return self.blob


def _mode(found: os.stat_result) -> str:
    if S_ISLNK(found.st_mode):
        return _LINK
    return _PROGRAM if found.st_mode & S_IXUSR else _FILE


def _nested(location: str) -> Content:
    """Return the HEAD of a nested repository as its content; any other folder has none."""
    if not is_there(f"{location}/.git"):
        return NOTHING
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


def is_not_content(digest: str) -> bool:
    """Whether a digest is that of a nested repository, or of a file that is not checked out."""
    return digest.startswith((_REPOSITORY, _BARE_VERSION))
