"""Protected files → which of them were changed since a session last looked.

What they were is kept in the state folder of the root from one hook to the next, for each session:
what one has heard of must not be lost on others. A file whose size and times are the same is the
same: only others are read.
"""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.hosts.hooks.notes import notes_file
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.protection import MAX_DEEP, files_in
from bylaw.runtime.reading import regular_bytes
from bylaw.runtime.state_folder import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NOTES = "hook-protected"
MAX_BYTES = 4 << 20
MAX_WATCHED = 2_000
MAX_READ = 16 << 20


class Seen(Struct, frozen=True, array_like=True):
    """A file as it was: what tells that it is the same, and what it held."""

    stamp: tuple[int, int, int, int, int]
    digest: str


def changed_since_last_look(root: str, session: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The files that came, went or hold something else; from now on they are as they are now."""
    name = notes_file(NOTES, session)
    with state_folder(root) as folder, folder.locked(name):
        before = _decoded(folder.read(name, MAX_BYTES))
        now = dict(_seen(paths, before or {}))
        if now != before:
            folder.write(name, msgspec.json.encode(now), lasting=False)
    if before is None:
        return ()
    differing = (path for path in before.keys() | now.keys() if _differ(before, now, path))
    return tuple(sorted(differing))


def _differ(before: dict[str, Seen], now: dict[str, Seen], path: str) -> bool:
    one, other = before.get(path), now.get(path)
    return one is None or other is None or one.digest != other.digest


def _decoded(data: bytes | None) -> dict[str, Seen] | None:
    try:
        return None if data is None else msgspec.json.decode(data, type=dict[str, Seen])
    except msgspec.MsgspecError:
        return None  # nobody can tell what was


def _seen(paths: Iterable[str], before: dict[str, Seen]) -> Iterator[tuple[str, Seen]]:
    files = (file for path in dict.fromkeys(paths) for file in files_in(path, MAX_DEEP))
    for path in islice(files, MAX_WATCHED):
        try:
            found = os.stat(as_bytes(path))  # noqa: PTH116 - a Path takes no bytes
        except (OSError, ValueError):
            continue
        stamp = (
            *(found.st_dev, found.st_ino, found.st_size),
            *(found.st_mtime_ns, found.st_ctime_ns),
        )
        known = before.get(path)
        same = known is not None and known.stamp == stamp
        name = path.encode("utf-8", "backslashreplace").decode()
        yield name, known if same and known else Seen(stamp, _digest(path, stamp))


def _digest(path: str, stamp: tuple[int, ...]) -> str:
    try:
        return sha256(regular_bytes(path, MAX_READ)).hexdigest()
    except (OSError, ValueError):
        return f"unreadable {stamp}"
