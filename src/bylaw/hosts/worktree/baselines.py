"""A prompt is submitted → what the work tree is then, as a file; and back (DW-123…DW-127).

    .deepwork/tmp/policy/baselines/prompt_1705406400.json

Each prompt has a file of its own; the latest is the one that counts. Nobody writes to a file that
exists, so sessions that capture at once do not meet.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from itertools import count
from time import time_ns
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, MsgspecError, Struct, json

from bylaw.hosts.worktree.policy_folders import (
    POLICY,
    PolicyFolder,
    existing_policy_folder,
    policy_folder,
)
from bylaw.model.errors import BylawError
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import in_plain_words, regular_bytes
from bylaw.runtime.writing import remove, write_beside

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_BASELINE_BYTES = 64 << 20
MAX_TRIED = 4  # of those that cannot be read
_NS = 1_000_000_000

_NAME = re.compile(r"prompt_([0-9]{1,12})(?:-([0-9]{1,6}))?\.json")


class Baseline(Struct, frozen=True, kw_only=True):
    """The work tree when a prompt was submitted.

    `commit` is empty if there was none. `digests` are those of all files that were not as in the
    commit, the empty text for one that was gone (DW-A39).
    """

    timestamp: Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9:T-]{14}Z\Z")]
    commit: Annotated[str, Meta(pattern=r"\A([0-9a-f]{40}([0-9a-f]{24})?)?\Z")]
    staged_files: list[str]
    untracked_files: list[str]
    digests: dict[str, str]


def write_baseline(
    root: str,
    *,
    commit: str,
    staged: Iterable[str],
    untracked: Iterable[str],
    digests: dict[str, str],
    now: float | None = None,
) -> str:
    """Keep what the work tree is now; gives the path of the file from the root. BylawError."""
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        try:
            # Where the clock was set back, the new one is the latest all the same.
            moment = time_ns() // _NS if now is None else int(now)
            second = max(moment, *_latest(folder.descriptor))
            baseline = Baseline(
                timestamp=f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}",
                commit=commit,
                staged_files=sorted(staged),
                untracked_files=sorted(untracked),
                digests=dict(sorted(digests.items())),
            )
            name = _write(folder.descriptor, second, json.encode(baseline))
        except OSError as wrong:
            raise BylawError(f"cannot keep a baseline: {in_plain_words(wrong)}") from None
    return f"{POLICY}/{PolicyFolder.BASELINES}/{name}"


def latest_baseline(root: str, notes: list[str]) -> Baseline | None:
    """That of the last prompt; None if there is none. What cannot be read is noted."""
    with existing_policy_folder(root, PolicyFolder.BASELINES) as folder:
        if folder is None:
            return None
        for name in _names(folder.descriptor)[:MAX_TRIED]:
            baseline = _read(folder.descriptor, name)
            if baseline is not None:
                return baseline
            notes.append(f"the baseline `{name}` cannot be read: an older one counts")
    return None


def read_baseline(root: str, path: str) -> Baseline:
    """The baseline that `write_baseline` has put there; BylawError if it is gone."""
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        found = _read(folder.descriptor, path.rpartition("/")[2])
    if found is None:
        raise BylawError(f"`{path}` was removed")
    return found


def _write(folder: int, second: int, data: bytes) -> str:
    names = (f"prompt_{second}{'' if n == 1 else f'-{n}'}.json" for n in count(1))
    temporary = write_beside(folder, f"prompt_{second}", data)
    try:
        # What has another name at once is there whole, and only if nothing was.
        return next(name for name in names if _is_linked(folder, temporary, name))
    finally:
        remove(folder, temporary)


def _is_linked(folder: int, old: str, new: str) -> bool:
    try:
        os.link(as_bytes(old), as_bytes(new), src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return False
    return True


def _read(folder: int, name: str) -> Baseline | None:
    try:
        data = regular_bytes(name, MAX_BASELINE_BYTES, links=False, folder=folder)
        return json.decode(data, type=Baseline)
    except (OSError, ValueError, MsgspecError):
        return None


def _latest(folder: int) -> tuple[int, ...]:
    names = _names(folder)
    return (_order(names[0])[0],) if names else (0,)


def _names(folder: int) -> list[str]:
    """The files, the latest first."""
    found = (name for name in os.listdir(folder) if _NAME.fullmatch(name))
    return sorted(found, key=_order, reverse=True)


def _order(name: str) -> tuple[int, int]:
    found = _NAME.fullmatch(name)
    assert found is not None
    return int(found[1]), int(found[2] or 1)
