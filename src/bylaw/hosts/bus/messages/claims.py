"""A message of `input` → the same file in `processing`, which belongs to one process.

    processing/NAME.BOOT_SPACE_PID_STARTED_RANDOM

A message is claimed by renaming it, which only one process can do. The new name says which process
that was, so that others can tell whether it is dead, and nothing else has it.

No folder is made to last here: if the power fails, a file lies where it lay before, and the ledger
knows what became of it. A rename is whole in either case.
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
    """By what a file is known again that nobody wrote to; renaming does not change it."""

    device: int
    inode: int
    size: int
    written_ns: int


class Claim(Struct, frozen=True):
    """A message in `processing`: the name it had in `input`, and the one it has there."""

    name: str
    file: str

    @property
    def owner(self) -> str:
        """Who claimed it, as `runtime/owner` names processes."""
        found = _CLAIM.fullmatch(self.file)
        return owner_of(found["owner"]) if found else ""


def stamp_of(found: os.stat_result) -> Stamp:
    """What a file is known by."""
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def claim(bus: BusFolders, name: str, stamp: Stamp) -> Claim | None:
    """Make a message ours; None if it is gone, or is not any more what was looked at."""
    got = _move(bus, bus.input, name, name)
    if got is not None and not _is_same(bus, got, stamp):
        give_back(bus, got)
        return None
    return got


def take_over(bus: BusFolders, of: Claim) -> Claim | None:
    """Make the claim of a dead process ours; None if somebody else was quicker."""
    return _move(bus, bus.processing, of.file, of.name)


def give_back(bus: BusFolders, of: Claim) -> str | None:
    """Move a message back to `input`, and give its name there; None if the claim is gone.

    If its name is taken meanwhile, it gets another one with the same ending.
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
    """Remove a message that is through: evidence holds it."""
    with suppress(FileNotFoundError):
        os.unlink(as_bytes(of.file), dir_fd=bus.processing)


def keep(bus: BusFolders, of: Claim) -> str:
    """Move a message that no evidence can hold to `error`; its path from the root."""
    os.rename(
        as_bytes(of.file),
        as_bytes(of.file),
        src_dir_fd=bus.processing,
        dst_dir_fd=bus.folder(ERROR),
    )
    return bus.shown(ERROR, of.file)


def claims(bus: BusFolders) -> list[Claim]:
    """What lies in `processing` and was claimed there."""
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
