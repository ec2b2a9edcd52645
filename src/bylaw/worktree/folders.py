"""Open the folders in which file policies keep their state, and write their summary.

    .deepwork/policy_state.json                       a summary for people, never read by Bylaw
                                                      (DW-122, DW-A37)
    .deepwork/tmp/.gitignore                          `*`: git ignores the folder (DW-A36)
    .deepwork/tmp/policy/queue, baselines             mode 700 (DW-120, DW-133)

The folder `cache` of DW-120 would stay empty, so it is not created. Folders are opened one level at
a time, so that no link can lead out of the root.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from stat import S_IMODE
from typing import TYPE_CHECKING

from msgspec import Struct, json

from bylaw.model.display import iso_time
from bylaw.model.errors import BylawError
from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.store.files import os_error_text, write_atomic
from bylaw.store.paths import as_bytes
from bylaw.store.safe_paths import PUBLIC_MODE, enter, open_safe_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.worktree.queue import Queue

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
            folder = _open_with_retries(root, which, opened)
        except (OSError, ValueError) as wrong:
            raise _unusable_error(f"{POLICY}/{which}", _error_text(wrong)) from None
        yield folder


@contextmanager
def existing_policy_folder(root: str, which: PolicyFolder) -> Iterator[OpenFolder | None]:
    """Open a state folder, None if it is missing. Raise BylawError if it cannot be used."""
    try:
        with open_safe_path(root, f"{POLICY}/{which}") as place:
            os.stat(as_bytes(place.name), dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        yield None
        return
    except (OSError, ValueError) as wrong:
        raise _unusable_error(f"{POLICY}/{which}", _error_text(wrong)) from None
    with policy_folder(root, which) as folder:
        yield folder


def _open_with_retries(root: str, which: PolicyFolder, opened: ExitStack) -> OpenFolder:
    """Try again if a folder is removed while it is opened or created (DW-072)."""
    for _ in range(MAX_TRIES - 1):
        with suppress(FileNotFoundError):
            return _open_folder(root, which, opened)
        opened.close()
    return _open_folder(root, which, opened)


def _open_folder(root: str, which: PolicyFolder, opened: ExitStack) -> OpenFolder:
    transient = _open_transient(root, opened)
    _write_gitignore(transient)
    policy = enter(transient, "policy", opened, make=FOLDER_MODE)
    folder = enter(policy, which, opened, make=FOLDER_MODE)
    notes = (*_restrict_access(policy, POLICY), *_restrict_access(folder, f"{POLICY}/{which}"))
    return OpenFolder(folder, notes)


def _open_transient(root: str, opened: ExitStack) -> int:
    with open_safe_path(root, TRANSIENT, new=True) as place:
        folder = place.folder
        for part in place.missing:
            folder = enter(folder, part, opened, make=PUBLIC_MODE)  # like the policies in it
        return enter(folder, place.name, opened, make=FOLDER_MODE)


def _write_gitignore(folder: int) -> None:
    try:
        os.stat(_IGNORE, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        write_atomic(folder, _IGNORE, b"*\n", lasting=False, mode=0o666)


def _restrict_access(folder: int, path: str) -> Iterator[str]:
    """Correct wrong permissions and report them; reject a folder of another user (DW-A45)."""
    found = os.fstat(folder)
    if found.st_uid != os.geteuid():
        raise _unusable_error(path, "it belongs to another user")
    mode = S_IMODE(found.st_mode)
    if mode != FOLDER_MODE:
        os.fchmod(folder, FOLDER_MODE)
        # Missing rights of the user, for example from a umask, are not reported.
        if mode & ~FOLDER_MODE:
            yield f"`{path}` was open to other users (mode {mode:o}); this was corrected"


def _unusable_error(path: str, why: str) -> BylawError:
    return BylawError(f"cannot use `{path}`: {why}")


def _error_text(wrong: OSError | ValueError) -> str:
    if isinstance(wrong, NotADirectoryError):
        return "a file or a link is where a folder is expected"
    return os_error_text(wrong)


SUMMARY_FOLDER = ".deepwork"
SUMMARY_PATH = f"{SUMMARY_FOLDER}/policy_state.json"
SUMMARY_VERSION = 1


def write_summary(
    root: str,
    queue: Queue,
    policies: Callable[[], Iterable[str]],
    now: int,
    note: Callable[[str], None],
) -> None:
    """Write the summary atomically. `now` is in milliseconds.

    `policies` returns the names of the policies. An error is only passed to `note`, because the
    summary is not essential.
    """
    try:
        _write_summary(root, queue, policies(), now)
    except BylawError as problem:
        note(f"cannot write `{SUMMARY_PATH}`: {problem}")
    except (OSError, ValueError) as wrong:
        note(f"cannot write `{SUMMARY_PATH}`: {os_error_text(wrong)}")


def _write_summary(root: str, queue: Queue, policies: Iterable[str], now: int) -> None:
    said = {
        "version": SUMMARY_VERSION,
        "updated_at": iso_time(now),
        "counts": {status.value: count for status, count in queue.counts().items()},
        "policies": sorted(policies),
    }
    data = json.format(json.encode(said), indent=2) + b"\n"
    with open_safe_path(root, SUMMARY_PATH, new=True) as place:
        if place.missing:  # the policies may be in another folder
            os.mkdir(SUMMARY_FOLDER, dir_fd=place.folder)
    with open_safe_path(root, SUMMARY_PATH) as place:
        write_atomic(place.folder, place.name, data, lasting=False)
