"""A root → the folder of its queue, open and locked."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from bylaw.hosts.worktree.state_folders import (
    POLICY,
    State,
    existing_state_folder,
    state_folder,
)
from bylaw.runtime.brief_lock import wait_for_lock
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUEUE = f"{POLICY}/{State.QUEUE}"


@contextmanager
def locked_queue(root: str, note: Callable[[str], None], *, make: bool) -> Iterator[int | None]:
    """The folder, which no other process uses meanwhile; None if there is none to be looked at.

    The lock is one on the folder itself, so that it goes when that does. BylawError says why it
    cannot be used.
    """
    open_folder = state_folder if make else existing_state_folder
    while True:
        with ExitStack() as stack:
            folder = stack.enter_context(open_folder(root, State.QUEUE))
            if folder is None:
                yield None
                return
            for one in folder.notes:
                note(one)
            wait_for_lock(folder.descriptor, QUEUE)
            if _is_still_there(root, folder.descriptor):
                yield folder.descriptor
                return


def _is_still_there(root: str, folder: int) -> bool:
    try:
        found = os.stat(as_bytes(f"{root}/{QUEUE}"), follow_symlinks=False)  # noqa: PTH116 - bytes
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(folder))
