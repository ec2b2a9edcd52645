"""Write `.deepwork/policy_state.json`, a summary of the queue and the active policies for people.

Bylaw never reads it, and it may be deleted (DW-122, DW-A37).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import json

from bylaw.model.errors import BylawError
from bylaw.model.iso_time import iso_time
from bylaw.runtime.beneath import beneath
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.hosts.worktree.queue.queue import Queue

FOLDER = ".deepwork"
PATH = f"{FOLDER}/policy_state.json"
VERSION = 1


def summarise(
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
        _write(root, queue, policies(), now)
    except BylawError as problem:
        note(f"cannot write `{PATH}`: {problem}")
    except (OSError, ValueError) as wrong:
        note(f"cannot write `{PATH}`: {in_plain_words(wrong)}")


def _write(root: str, queue: Queue, policies: Iterable[str], now: int) -> None:
    said = {
        "version": VERSION,
        "updated_at": iso_time(now),
        "counts": {status.value: count for status, count in queue.counts().items()},
        "policies": sorted(policies),
    }
    data = json.format(json.encode(said), indent=2) + b"\n"
    with beneath(root, PATH, new=True) as place:
        if place.missing:  # the policies may be in another folder
            os.mkdir(FOLDER, dir_fd=place.folder)
    with beneath(root, PATH) as place:
        write_whole(place.folder, place.name, data, lasting=False)
