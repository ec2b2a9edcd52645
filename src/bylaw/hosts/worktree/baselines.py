"""A prompt is submitted → what the work tree is then, as a file; and back (DW-123…DW-127).

    .deepwork/tmp/policy/baselines/prompt_1705406400.json

Each prompt has a file of its own; of those that count for a session (see `prompt_files`) the latest
does. Nobody writes to a file that exists, so sessions that capture at once do not meet.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, MsgspecError, Struct, json

from bylaw.hosts.worktree.policy_folders import (
    POLICY,
    PolicyFolder,
    existing_policy_folder,
    policy_folder,
)
from bylaw.hosts.worktree.prompt_files import (
    SHARED,
    next_file,
    outdated,
    prompt_files,
    those_that_count,
    times_of_others,
)
from bylaw.model.errors import BylawError
from bylaw.runtime.brief_lock import wait_for_lock
from bylaw.runtime.clock import now_ms
from bylaw.runtime.reading import in_plain_words, regular_bytes
from bylaw.runtime.writing import clear_away, write_new

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.worktree.prompt_files import PromptFile

MAX_BASELINE_BYTES = 64 << 20
MAX_TRIED = 4  # of those that cannot be read
MAX_REMOVED = 100  # with one capture
_FOLDER = f"{POLICY}/{PolicyFolder.BASELINES}"


class Baseline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The work tree when a prompt was submitted.

    `commit` is empty if there was none. `digests` are those of all files that were not as in the
    commit, the empty text for one that was gone (DW-A39); `staged` those of what the index had and
    the work tree had not.
    """

    timestamp: Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9:T-]{14}Z\Z")]
    commit: Annotated[str, Meta(pattern=r"\A([0-9a-f]{40}([0-9a-f]{24})?)?\Z")]
    staged_files: list[str]
    untracked_files: list[str]
    digests: dict[str, str]
    staged: dict[str, str] = {}


def write_baseline(
    root: str,
    *,
    commit: str,
    staged: Iterable[str],
    untracked: Iterable[str],
    digests: dict[str, str],
    staged_alone: dict[str, str],
    now: float | None = None,
    owner: str = SHARED,
) -> str:
    """Keep what the work tree is now; gives the path of the file from the root. BylawError."""
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        try:
            wait_for_lock(folder.descriptor, _FOLDER)  # it goes with the descriptor
            moment = now_ms() // 1_000 if now is None else int(now)
            new = next_file(_files(folder.descriptor), owner, moment)
            baseline = Baseline(
                timestamp=new.timestamp,
                commit=commit,
                staged_files=sorted(staged),
                untracked_files=sorted(untracked),
                digests=dict(sorted(digests.items())),
                staged=dict(sorted(staged_alone.items())),
            )
            write_new(folder.descriptor, new.name, json.encode(baseline))
            _tidy(folder.descriptor, new.second)
        except OSError as wrong:
            raise BylawError(f"cannot keep a baseline: {in_plain_words(wrong)}") from None
    return f"{_FOLDER}/{new.name}"


def latest_baseline(root: str, notes: list[str], owner: str = SHARED) -> Baseline | None:
    """That of the last prompt; None if there is none. What cannot be read is noted."""
    with existing_policy_folder(root, PolicyFolder.BASELINES) as folder:
        if folder is None:
            return None
        for file in those_that_count(_files(folder.descriptor), owner)[:MAX_TRIED]:
            baseline = _read(folder.descriptor, file.name)
            if baseline is not None:
                return baseline
            notes.append(f"the baseline `{file.name}` cannot be read: an older one counts")
    return None


def prompts_of_others(root: str, owner: str) -> frozenset[str]:
    """The times of prompts with which only other sessions compare."""
    with existing_policy_folder(root, PolicyFolder.BASELINES) as folder:
        found = [] if folder is None else _files(folder.descriptor)
    return times_of_others(found, owner)


def read_baseline(root: str, path: str) -> Baseline:
    """The baseline that `write_baseline` has put there; BylawError if it is gone."""
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        found = _read(folder.descriptor, path.rpartition("/")[2])
    if found is None:
        raise BylawError(f"`{path}` was removed")
    return found


def _tidy(folder: int, now: int) -> None:
    for file in islice(outdated(_files(folder), now), MAX_REMOVED):
        clear_away(folder, file.name)


def _read(folder: int, name: str) -> Baseline | None:
    try:
        data = regular_bytes(name, MAX_BASELINE_BYTES, links=False, folder=folder)
        return json.decode(data, type=Baseline)
    except (OSError, ValueError, MsgspecError):
        return None


def _files(folder: int) -> list[PromptFile]:
    return prompt_files(os.listdir(folder))
