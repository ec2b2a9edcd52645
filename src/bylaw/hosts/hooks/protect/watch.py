"""Find protected files that were changed since a session last saw them.

Between hooks, the state of the files is kept in the state folder of the root. Each session has its
own, so that a change is reported to all of them. A file with the same size and times is not read
again. Of a git configuration, only settings that decide what git runs and sees are compared.
A change counts as seen only after it was reported, so that it is not lost if the report fails. Two
hooks that run at the same time may therefore report the same change.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from bylaw.hosts.hooks.notes import notes_file
from bylaw.store.file_digests import MAX_DEEP, files_in
from bylaw.store.files import read_regular_bytes
from bylaw.store.paths import as_bytes, is_folder
from bylaw.store.state_folder import state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SECTION = re.compile(rb"\s*\[\s*([\w.-]+)")
_KEY = re.compile(rb"\s*([\w-]+)")
# Keys that are daily work, by section. All other keys may decide what git runs or sees.
_DAILY = {
    section: frozenset(keys.split())
    for section, keys in {
        b"remote": b"url pushurl fetch push tagopt prune gh-resolved",
        b"branch": b"remote merge rebase pushremote description",
        b"submodule": b"url active branch",
        b"user": b"name email signingkey useconfigonly",
        b"commit": b"gpgsign verbose status",
        b"tag": b"gpgsign sort",
        b"fetch": b"prune prunetags parallel",
        b"push": b"default autosetupremote followtags",
        b"pull": b"rebase ff",
        b"merge": b"ff conflictstyle",
        b"rebase": b"autosquash autostash",
        b"rerere": b"enabled autoupdate",
        b"init": b"defaultbranch",
        b"color": b"ui branch diff status interactive",
        b"core": b"autocrlf eol safecrlf ignorecase quotepath precomposeunicode",
    }.items()
}


def deciding_settings(text: bytes) -> bytes:
    """Return the lines that are not daily work, each with its section.

    Returns the complete text if a value continues on the next line.
    """
    lines = text.splitlines()
    if any(line.endswith(b"\\") for line in lines):
        return text
    section, kept = b"", []
    for line in lines:
        if _SECTION.match(line):
            section = line.strip().lower()
            if section.endswith(b"]"):
                continue
            kept.append(section)
            section = b""  # text follows the name on this line: trust no line of this section
        elif not _is_daily(section, line):
            kept.append(section + b" " + line)
    return b"\n".join(kept)


def _is_daily(section: bytes, line: bytes) -> bool:
    name, key = _SECTION.match(section), _KEY.match(line)
    keys = _DAILY.get(name[1], frozenset()) if name else frozenset()
    return not line.strip() or (key is not None and key[1].lower() in keys)


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


class FileComparison(NamedTuple):
    """The files as the session last saw them, and as they are now."""

    before: dict[str, KnownFile]
    now: dict[str, KnownFile]

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that were created or removed, or whose content differs."""
        paths = self.before.keys() | self.now.keys()
        return tuple(sorted(path for path in paths if _differ(self.before, self.now, path)))


def compare_files(
    root: str, session: str, paths: Iterable[str], note: Callable[[str], None]
) -> FileComparison:
    """Compare files with what the session last saw; `note` is called if there are too many.

    The first state in a session is stored at once: it has no changes to report, and the next
    comparison needs it.
    """
    name = notes_file(NOTES, session)
    files = list(islice(_files(paths), MAX_WATCHED + 1))
    if len(files) > MAX_WATCHED:
        note(TOO_MANY)
    with state_folder(root) as folder, folder.lock(name):
        before = _decode(folder.read(name, MAX_BYTES))
        now = dict(_current_files(files[:MAX_WATCHED], before or {}))
        if before is None:
            folder.write(name, msgspec.json.encode(now), lasting=False)
    return FileComparison(now if before is None else before, now)


def mark_reported(root: str, session: str, last: FileComparison) -> None:
    """Store the state of the last comparison, so that the next one compares with it."""
    if last.before == last.now:
        return
    name = notes_file(NOTES, session)
    with state_folder(root) as folder, folder.lock(name):
        seen = _decode(folder.read(name, MAX_BYTES)) or {}
        for path in last.before.keys() | last.now.keys():
            if seen.get(path) != last.before.get(path):
                continue  # another hook has compared and reported since
            if path in last.now:
                seen[path] = last.now[path]
            else:
                seen.pop(path, None)
        folder.write(name, msgspec.json.encode(seen), lasting=False)


def has_state(root: str, session: str) -> bool:
    """Whether the session has a state that the next comparison can use."""
    with state_folder(root) as folder:
        return _decode(folder.read(notes_file(NOTES, session), MAX_BYTES)) is not None


def _differ(before: dict[str, KnownFile], now: dict[str, KnownFile], path: str) -> bool:
    one, other = before.get(path), now.get(path)
    return one is None or other is None or one.digest != other.digest


def _decode(data: bytes | None) -> dict[str, KnownFile] | None:
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


def _current_files(
    files: Iterable[str], before: dict[str, KnownFile]
) -> Iterator[tuple[str, KnownFile]]:
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
        data = read_regular_bytes(path, MAX_READ)
        return sha256(deciding_settings(data) if path.endswith(GIT_CONFIG) else data).hexdigest()
    except (OSError, ValueError):
        return f"unreadable {stamp}"
