"""Open the folders in which file policies keep their state. Only this user can access them.

    .deepwork/tmp/.gitignore                          `*`: git ignores the folder (DW-A36)
    .deepwork/tmp/policy/queue, baselines             mode 700 (DW-120, DW-133)

The folder `cache` of DW-120 would stay empty, so it is not created: every check asks git again,
which takes few processes, see `work_tree`.

Folders are opened one level at a time, so that no link can lead out of the root.
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
    """The state folders, by name."""

    QUEUE = "queue"
    BASELINES = "baselines"


class OpenFolder(Struct, frozen=True):
    """An open folder. `notes` report what was corrected."""

    descriptor: int
    notes: tuple[str, ...] = ()


@contextmanager
def policy_folder(root: str, which: PolicyFolder) -> Iterator[OpenFolder]:
    """Open a state folder; create it if it is missing. Raise BylawError if it cannot be used."""
    with ExitStack() as opened:
        try:
            folder = _opened_at_last(root, which, opened)
        except (OSError, ValueError) as wrong:
            raise _unusable(f"{POLICY}/{which}", _why(wrong)) from None
        yield folder


@contextmanager
def existing_policy_folder(root: str, which: PolicyFolder) -> Iterator[OpenFolder | None]:
    """Open a state folder, None if it is missing. Raise BylawError if it cannot be used."""
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
    """Try again if a folder is removed while it is opened or created (DW-072)."""
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
            folder = enter(folder, part, opened, make=FOR_ALL)  # like the policies in it
        return enter(folder, place.name, opened, make=FOLDER_MODE)


def _keep_from_git(folder: int) -> None:
    try:
        os.stat(_IGNORE, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        write_whole(folder, _IGNORE, b"*\n", lasting=False, mode=0o666)


def _to_ourselves(folder: int, path: str) -> Iterator[str]:
    """Correct wrong permissions and report them; reject a folder of another user (DW-A45)."""
    found = os.fstat(folder)
    if found.st_uid != os.geteuid():
        raise _unusable(path, "it belongs to another user")
    mode = S_IMODE(found.st_mode)
    if mode != FOLDER_MODE:
        os.fchmod(folder, FOLDER_MODE)
        # Missing rights of the user, for example from a umask, are not reported.
        if mode & ~FOLDER_MODE:
            yield f"`{path}` was open to other users (mode {mode:o}); this was corrected"


def _unusable(path: str, why: str) -> BylawError:
    return BylawError(f"cannot use `{path}`: {why}")


def _why(wrong: OSError | ValueError) -> str:
    if isinstance(wrong, NotADirectoryError):
        return "a file or a link is where a folder is expected"
    return in_plain_words(wrong)
