"""Claim messages: move them from `input` to `processing`, where each belongs to one process.

    processing/NAME.BOOT_SPACE_PID_STARTED_RANDOM

A message is claimed by renaming it, which only one process can do. The new name is unique and names
the process, so that others can check whether it is dead.

Folders are not synced to disk here. After a power failure a file may be in its old folder; the
ledger knows what happened to the message. A rename is atomic in either case.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.hosts.bus.messages.folders import ERROR, PROCESSING
from bylaw.hosts.bus.messages.moving import (
    OWNER_TAG,
    owner_of,
    owner_tag,
    split_ending,
    with_tail,
)
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.writing import move_new

if TYPE_CHECKING:
    from bylaw.hosts.bus.messages.folders import BusFolders

MAX_TRIES = 1000  # names that are tried for a file that is moved back

_CLAIM = re.compile(rf"(?P<name>.+)\.(?P<owner>{OWNER_TAG})_[0-9a-f]{{16}}", re.DOTALL)


class Stamp(NamedTuple):
    """Identifies a file and its content. Writing changes it, renaming does not."""

    device: int
    inode: int
    size: int
    written_ns: int


class Claim(Struct, frozen=True):
    """A message in `processing`: `name` was its name in `input`, `file` is its present name."""

    name: str
    file: str

    @property
    def owner(self) -> str:
        """The process that claimed it, in the form of `runtime/owner`."""
        found = _CLAIM.fullmatch(self.file)
        return owner_of(found["owner"]) if found else ""


def stamp_of(found: os.stat_result) -> Stamp:
    """Make the stamp of a file."""
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def claim(bus: BusFolders, name: str, stamp: Stamp) -> Claim | None:
    """Claim a message for this process; None if it is gone or has changed since `stamp`."""
    got = _move(bus, bus.input, name, name)
    if got is not None and not _is_same(bus, got, stamp):
        give_back(bus, got)
        return None
    return got


def take_over(bus: BusFolders, of: Claim) -> Claim | None:
    """Take over the claim of a dead process; None if another process was faster."""
    return _move(bus, bus.processing, of.file, of.name)


def give_back(bus: BusFolders, of: Claim) -> str | None:
    """Move a message back to `input`. Return its name there, or None if the claim is gone.

    If its name is taken, the message gets a new one with the same ending.
    """
    stem, ending = split_ending(of.name)
    for n in range(1, MAX_TRIES + 1):
        back = of.name if n == 1 else with_tail(stem, f"-{n}{ending}")
        try:
            move_new(bus.processing, of.file, bus.input, back)
        except FileExistsError:
            continue
        except FileNotFoundError:
            return None
        return back
    raise FileExistsError(f"`{of.name}` and {MAX_TRIES} names like it are taken")


def finish(bus: BusFolders, of: Claim) -> None:
    """Remove a message that has ended and whose evidence contains it."""
    with suppress(FileNotFoundError):
        os.unlink(as_bytes(of.file), dir_fd=bus.processing)


def keep(bus: BusFolders, of: Claim) -> str:
    """Move a message that evidence cannot contain to `error`. Return its path from the root."""
    os.rename(
        as_bytes(of.file),
        as_bytes(of.file),
        src_dir_fd=bus.processing,
        dst_dir_fd=bus.folder(ERROR),
    )
    return bus.shown(ERROR, of.file)


def claims(bus: BusFolders) -> list[Claim]:
    """The claims in `processing`."""
    found = map(_CLAIM.fullmatch, bus.names(PROCESSING))
    return [Claim(one["name"], one[0]) for one in found if one is not None]


def _move(bus: BusFolders, folder: int, file: str, name: str) -> Claim | None:
    token = f"{owner_tag()}_{os.urandom(8).hex()}"
    stem, ending = split_ending(name)
    got = Claim(name, with_tail(stem, f"{ending}.{token}"))
    try:
        os.rename(as_bytes(file), as_bytes(got.file), src_dir_fd=folder, dst_dir_fd=bus.processing)
    except FileNotFoundError:
        return None
    return got


def _is_same(bus: BusFolders, of: Claim, stamp: Stamp) -> bool:
    found = os.stat(as_bytes(of.file), dir_fd=bus.processing, follow_symlinks=False)
    return stamp_of(found) == stamp
