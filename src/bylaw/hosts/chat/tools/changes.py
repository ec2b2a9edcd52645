"""Change several files: all changes are made, or none.

Everything that needs disk space is written first, next to the files. Then one rename replaces each
file. The old files are kept until the last rename.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from functools import partial
from stat import S_ISVTX
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.files import (
    CHANGED,
    MAX_EDITED_BYTES,
    cannot,
    is_same,
    shown,
    state_of,
)
from bylaw.runtime.beneath import beneath
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.writing import clear_away, remove, rename, spare_name, write_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.hosts.chat.tools.files import Spot
    from bylaw.runtime.beneath import Place

# Tools run in parallel. No tool may write a file between the read and the write of another.
ONE_AT_A_TIME = Lock()

_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class Change(Struct, frozen=True):
    """The new content of a file, None to delete it. A new file gets the permissions of `like`."""

    spot: Spot
    data: bytes | None
    like: os.stat_result | None = None


def carry_out(root: str, changes: Sequence[Change]) -> None:
    """Make all changes. If one fails, undo the others and raise ToolError."""
    # Deletions come last: a moved file exists twice for a moment and is never missing.
    ordered = sorted(changes, key=lambda change: change.data is None)
    work = _Work(root, keep=len(ordered) > 1)
    with work.opened:
        try:
            steps = [work.prepared(change) for change in ordered]
            for step in steps:
                work.take(step)
        except BaseException as problem:
            if lost := work.put_back():
                raise ToolError(f"{problem}; not restored: {', '.join(lost)}") from None
            raise
        for step in steps:
            if step.kept:
                clear_away(step.folder, step.kept)


class _Step(Struct, frozen=True):
    """A change in its open folder: `fresh` will replace `name`, and `kept` links the old file."""

    change: Change
    folder: int
    name: str
    fresh: str
    kept: str


class _Work:
    """The folders that were opened, and the steps that undo what was done."""

    def __init__(self, root: str, *, keep: bool) -> None:
        self.root = root
        self.keep = keep
        self.opened = ExitStack()
        self._undo: list[tuple[str, Callable[[], None]]] = []

    def prepared(self, change: Change) -> _Step:
        spot, data = change.spot, change.data
        with cannot("write", spot.asked):
            if data is not None and len(data) > MAX_EDITED_BYTES:
                raise ValueError(f"it would be larger than {MAX_EDITED_BYTES:,} bytes")
            with beneath(self.root, spot.path, new=True) as place:
                if place.path != spot.path or not is_same(state_of(place), spot.state):
                    raise ValueError(CHANGED)
                folder = self._folder(place, spot)
            fresh = "" if data is None else self._fresh(folder, place.name, change, data)
            kept = self._kept(folder, place.name, spot) if self.keep and spot.state else ""
            return _Step(change, folder, place.name, fresh, kept)

    def take(self, step: _Step) -> None:
        spot = step.change.spot
        with cannot("write", spot.asked):
            state = None
            with suppress(FileNotFoundError):
                state = os.stat(as_bytes(step.name), dir_fd=step.folder, follow_symlinks=False)
            if not is_same(state, spot.state):
                raise ValueError(CHANGED)
            if step.fresh:
                rename(step.folder, step.fresh, step.name)
            else:
                os.unlink(as_bytes(step.name), dir_fd=step.folder)
            if step.kept:
                self._later(spot, partial(rename, step.folder, step.kept, step.name))
            elif spot.state is None:
                self._later(spot, partial(remove, step.folder, step.name))
            os.fsync(step.folder)

    def put_back(self) -> list[str]:
        """Undo everything. Return the names of the files for which that failed."""
        lost = []
        for path, undo in reversed(self._undo):
            try:
                undo()
            except OSError:
                lost.append(f"`{shown(path)}`")
        return lost

    def _folder(self, place: Place, spot: Spot) -> int:
        # Opened for reading: `place.folder` is opened with O_PATH, and fsync fails on that.
        folder = self._open(b".", _READ, place.folder)
        for part in map(as_bytes, place.missing):
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
                self._later(spot, partial(os.rmdir, part, dir_fd=folder))
            folder = self._open(part, _READ, folder)
        return folder

    def _open(self, name: bytes, flags: int, folder: int) -> int:
        descriptor = os.open(name, flags, dir_fd=folder)
        self.opened.callback(os.close, descriptor)
        return descriptor

    def _fresh(self, folder: int, name: str, change: Change, data: bytes) -> str:
        like = change.spot.state or change.like
        fresh = write_beside(folder, name, data, mode=0o666, like=like)
        self._later(change.spot, partial(remove, folder, fresh))
        return fresh

    def _kept(self, folder: int, name: str, spot: Spot) -> str:
        _refuse_sticky(folder, spot)
        kept = spare_name(name)
        os.link(
            as_bytes(name), as_bytes(kept),
            src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False,
        )  # fmt: skip
        self._later(spot, partial(remove, folder, kept))
        return kept

    def _later(self, spot: Spot, undo: Callable[[], None]) -> None:
        self._undo.append((spot.asked, undo))


def _refuse_sticky(folder: int, spot: Spot) -> None:
    """Raise PermissionError if the folder is sticky and would not let us remove a second link."""
    state = os.fstat(folder)
    owners = {0, state.st_uid, spot.state.st_uid if spot.state else 0}
    if state.st_mode & S_ISVTX and os.geteuid() not in owners:
        raise PermissionError
