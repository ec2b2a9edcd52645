"""Protected files → which of them were changed since a session last looked.

What they were is kept in the state folder of the root from one hook to the next, for each session:
what one has heard of must not be lost on others. A file whose size and times are the same is the
same: only others are read.

A change counts as seen when it was told, not before: else nobody hears of it if that fails. So two
hooks that run side by side may both tell of one.
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
    f"more than {MAX_WATCHED:,} files are protected: changes of the others are not looked for "
    "after a call; name fewer in `[protect] paths`"
)


class KnownFile(Struct, frozen=True, array_like=True):
    """A file as it was: what tells that it is the same, and what it held."""

    stamp: tuple[int, int, int, int, int]
    digest: str


class Look(NamedTuple):
    """Files as they are now, and as the session last saw them."""

    before: dict[str, KnownFile]
    now: dict[str, KnownFile]

    @property
    def changed(self) -> tuple[str, ...]:
        """Those that came, went or hold something else."""
        paths = self.before.keys() | self.now.keys()
        return tuple(sorted(path for path in paths if _differ(self.before, self.now, path)))


def look(root: str, session: str, paths: Iterable[str], note: Callable[[str], None]) -> Look:
    """Look at files; `note` is told if there are too many of them.

    The first look of a session is kept at once: it has nothing to tell, and whatever fails then,
    the next one needs it.
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
    """The next look is compared to this one."""
    if last.before == last.now:
        return
    name = notes_file(NOTES, session)
    with state_folder(root) as folder, folder.locked(name):
        seen = _decoded(folder.read(name, MAX_BYTES)) or {}
        for path in last.before.keys() | last.now.keys():
            if seen.get(path) != last.before.get(path):
                continue  # another hook has looked since, and told of it
            if path in last.now:
                seen[path] = last.now[path]
            else:
                seen.pop(path, None)
        folder.write(name, msgspec.json.encode(seen), lasting=False)


def has_looked(root: str, session: str) -> bool:
    """Whether there is a look to which the next one can be compared."""
    with state_folder(root) as folder:
        return _decoded(folder.read(notes_file(NOTES, session), MAX_BYTES)) is not None


def _differ(before: dict[str, KnownFile], now: dict[str, KnownFile], path: str) -> bool:
    one, other = before.get(path), now.get(path)
    return one is None or other is None or one.digest != other.digest


def _decoded(data: bytes | None) -> dict[str, KnownFile] | None:
    try:
        return None if data is None else msgspec.json.decode(data, type=dict[str, KnownFile])
    except msgspec.MsgspecError:
        return None  # nobody can tell what was


def _files(paths: Iterable[str]) -> Iterator[str]:
    """Every file; those that are named themselves come before those of folders."""
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
