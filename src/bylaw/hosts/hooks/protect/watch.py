"""Find protected files that were changed since a session last saw them.

Between hooks, the state of the files is kept in the state folder of the root. Each session has its
own, so that a change is reported to all of them. A file with the same size and times is not read
again.

A change counts as seen only after it was reported, so that it is not lost if the report fails.
Two hooks that run at the same time may therefore report the same change.
"""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from bylaw.hosts.hooks.notes import notes_file
from bylaw.hosts.hooks.protect.git_settings import deciding_settings
from bylaw.runtime.files_below import MAX_DEEP, files_in
from bylaw.runtime.paths import as_bytes, is_folder
from bylaw.runtime.reading import regular_bytes
from bylaw.runtime.state_folder import state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NOTES = "hook-protected"
MAX_BYTES = 4 << 20
MAX_WATCHED = 2_000
MAX_READ = 16 << 20
GIT_CONFIG = ("/.git/config", "/.git/config.worktree")
TOO_MANY = (
    f"more than {MAX_WATCHED:,} files are protected: Bylaw does not find changes of the others "
    "after a call; list fewer in `[protect] paths`"
)


class KnownFile(Struct, frozen=True, array_like=True):
    """A file as it was: device, inode, size and times, and a digest of its content."""

    stamp: tuple[int, int, int, int, int]
    digest: str


class Look(NamedTuple):
    """The files as the session last saw them, and as they are now."""

    before: dict[str, KnownFile]
    now: dict[str, KnownFile]

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that were created or removed, or whose content differs."""
        paths = self.before.keys() | self.now.keys()
        return tuple(sorted(path for path in paths if _differ(self.before, self.now, path)))


def look(root: str, session: str, paths: Iterable[str], note: Callable[[str], None]) -> Look:
    """Compare files with what the session last saw; `note` is called if there are too many.

    The first state in a session is stored at once: it has no changes to report, and the next
    comparison needs it.
    """
    name = notes_file(NOTES, session)
    files = list(islice(_files(paths), MAX_WATCHED + 1))
    if len(files) > MAX_WATCHED:
        note(TOO_MANY)
    with state_folder(root) as folder, folder.locked(name):
        before = _decoded(folder.read(name, MAX_BYTES))
        now = dict(_as_now(files[:MAX_WATCHED], before or {}))
        if before is None:
            folder.write(name, msgspec.json.encode(now), lasting=False)
    return Look(now if before is None else before, now)


def note_as_seen(root: str, session: str, last: Look) -> None:
    """Store the state of the last comparison, so that the next one compares with it."""
    if last.before == last.now:
        return
    name = notes_file(NOTES, session)
    with state_folder(root) as folder, folder.locked(name):
        seen = _decoded(folder.read(name, MAX_BYTES)) or {}
        for path in last.before.keys() | last.now.keys():
            if seen.get(path) != last.before.get(path):
                continue  # another hook has compared and reported since
            if path in last.now:
                seen[path] = last.now[path]
            else:
                seen.pop(path, None)
        folder.write(name, msgspec.json.encode(seen), lasting=False)


def has_looked(root: str, session: str) -> bool:
    """Whether the session has a state that the next comparison can use."""
    with state_folder(root) as folder:
        return _decoded(folder.read(notes_file(NOTES, session), MAX_BYTES)) is not None


def _differ(before: dict[str, KnownFile], now: dict[str, KnownFile], path: str) -> bool:
    one, other = before.get(path), now.get(path)
    return one is None or other is None or one.digest != other.digest


def _decoded(data: bytes | None) -> dict[str, KnownFile] | None:
    try:
        return None if data is None else msgspec.json.decode(data, type=dict[str, KnownFile])
    except msgspec.MsgspecError:
        return None  # a damaged note is treated as missing


def _files(paths: Iterable[str]) -> Iterator[str]:
    """Yield every file once; files that are named come before the files of folders."""
    named = dict.fromkeys(paths)
    folders = [path for path in named if is_folder(path)]
    found = (
        file
        for path in (*(one for one in named if one not in folders), *folders)
        for file in files_in(path, MAX_DEEP)
    )
    seen: set[str] = set()
    for file in found:
        if file not in seen:
            seen.add(file)
            yield file


def _as_now(files: Iterable[str], before: dict[str, KnownFile]) -> Iterator[tuple[str, KnownFile]]:
    for path in files:
        try:
            found = os.stat(as_bytes(path))  # noqa: PTH116 - a Path takes no bytes
        except (OSError, ValueError):
            continue
        stamp = (
            *(found.st_dev, found.st_ino, found.st_size),
            *(found.st_mtime_ns, found.st_ctime_ns),
        )
        name = path.encode("utf-8", "backslashreplace").decode()
        known = before.get(name)
        same = known is not None and known.stamp == stamp
        yield name, known if same and known else KnownFile(stamp, _digest(path, stamp))


def _digest(path: str, stamp: tuple[int, ...]) -> str:
    try:
        data = regular_bytes(path, MAX_READ)
        return sha256(deciding_settings(data) if path.endswith(GIT_CONFIG) else data).hexdigest()
    except (OSError, ValueError):
        return f"unreadable {stamp}"
