"""A root → the open folders in which file policies keep their state, for this user alone.

    .deepwork/tmp/.gitignore                          `*`: nothing in it is for git (DW-A36)
    .deepwork/tmp/policy/queue, baselines             mode 700 (DW-120, DW-133)

The `cache` of DW-120 stays empty, so there is none: every check asks git anew, which takes few
processes, see `work_tree`.

They are opened part by part, and no link leads out of the root.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from stat import S_IMODE
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.errors import BylawError
from bylaw.runtime.beneath import beneath
from bylaw.runtime.entering import FOR_ALL, enter
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

POLICY = f"{TRANSIENT}/policy"

MAX_TRIES = 20
FOLDER_MODE = 0o700

_IGNORE = ".gitignore"


class PolicyFolder(StrEnum):
    """What a folder of the state is for; its name."""

    QUEUE = "queue"
    BASELINES = "baselines"


class OpenFolder(Struct, frozen=True):
    """An open folder; `notes` say what had to be set right."""

    descriptor: int
    notes: tuple[str, ...] = ()


@contextmanager
def policy_folder(root: str, which: PolicyFolder) -> Iterator[OpenFolder]:
    """A folder of the state, made if need be; BylawError if it cannot be used."""
    with ExitStack() as opened:
        try:
            folder = _opened_at_last(root, which, opened)
        except (OSError, ValueError) as wrong:
            raise _unusable(f"{POLICY}/{which}", _why(wrong)) from None
        yield folder


@contextmanager
def existing_policy_folder(root: str, which: PolicyFolder) -> Iterator[OpenFolder | None]:
    """A folder of the state, None if there is none; BylawError if it cannot be used."""
    try:
        with beneath(root, f"{POLICY}/{which}") as place:
            os.stat(as_bytes(place.name), dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        yield None
        return
    except (OSError, ValueError) as wrong:
        raise _unusable(f"{POLICY}/{which}", _why(wrong)) from None
    with policy_folder(root, which) as folder:
        yield folder


def _opened_at_last(root: str, which: PolicyFolder, opened: ExitStack) -> OpenFolder:
    """They may be removed at any time, also while they are made (DW-072)."""
    for _ in range(MAX_TRIES - 1):
        with suppress(FileNotFoundError):
            return _opened(root, which, opened)
        opened.close()
    return _opened(root, which, opened)


def _opened(root: str, which: PolicyFolder, opened: ExitStack) -> OpenFolder:
    transient = _transient(root, opened)
    _keep_from_git(transient)
    policy = enter(transient, "policy", opened, make=FOLDER_MODE)
    folder = enter(policy, which, opened, make=FOLDER_MODE)
    notes = (*_to_ourselves(policy, POLICY), *_to_ourselves(folder, f"{POLICY}/{which}"))
    return OpenFolder(folder, notes)


def _transient(root: str, opened: ExitStack) -> int:
    with beneath(root, TRANSIENT, new=True) as place:
        folder = place.folder
        for part in place.missing:
            folder = enter(folder, part, opened, make=FOR_ALL)  # as the policies in it are
        return enter(folder, place.name, opened, make=FOLDER_MODE)


def _keep_from_git(folder: int) -> None:
    try:
        os.stat(_IGNORE, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        write_whole(folder, _IGNORE, b"*\n", lasting=False, mode=0o666)


def _to_ourselves(folder: int, path: str) -> Iterator[str]:
    """DW-A45: wrong permissions are corrected and told, another owner is refused."""
    found = os.fstat(folder)
    if found.st_uid != os.geteuid():
        raise _unusable(path, "it belongs to another user")
    mode = S_IMODE(found.st_mode)
    if mode != FOLDER_MODE:
        os.fchmod(folder, FOLDER_MODE)
        # An umask that took rights from ourselves is nothing to tell.
        if mode & ~FOLDER_MODE:
            yield f"`{path}` was open to others (mode {mode:o}) and is not any more"


def _unusable(path: str, why: str) -> BylawError:
    return BylawError(f"cannot use `{path}`: {why}")


def _why(wrong: OSError | ValueError) -> str:
    if isinstance(wrong, NotADirectoryError):
        return "a file or a link is in the place of a folder"
    return in_plain_words(wrong)
