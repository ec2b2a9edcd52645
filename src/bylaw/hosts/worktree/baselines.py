"""A prompt is submitted → what the work tree is then, as a file; and back (DW-123…DW-127).

    .deepwork/tmp/policy/baselines/prompt_1705406400.json

Each prompt has a file of its own; of those that count for a session (see `prompt_files`) the latest
does. Nobody writes to a file that exists, so sessions that capture at once do not meet.
"""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, MsgspecError, Struct, json

from bylaw.hosts.worktree.policy_folders import (
    POLICY,
    PolicyFolder,
    existing_policy_folder,
    policy_folder,
)
from bylaw.hosts.worktree.prompt_files import (
    SHARED,
    UNREADABLE,
    PromptFiles,
    owner_of,
    prompt_files,
    session_text,
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
MAX_NOTED = 4  # of those that cannot be read
MAX_REMOVED = 100  # with one capture
_FOLDER = f"{POLICY}/{PolicyFolder.BASELINES}"
# How a file of ours begins: whose it is comes first, so that nobody has to read on to find out.
_BEGINNING_BYTES = 1_024
_OF_SESSION = re.compile(rb'\{"session":("(?:[^"\\]|\\.)+"),"timestamp":"')
_OF_NONE = b'{"timestamp":"'


class Baseline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The work tree when a prompt was submitted.

    `session` is whose prompt it was, if anybody's. `commit` is empty if there was none. `digests`
    are those of all files that were not as in the commit, the empty text for one that was gone
    (DW-A39); `staged` those of what the index had and the work tree had not.
    """

    session: str = SHARED
    timestamp: Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9:T-]{14}Z\Z")]
    commit: Annotated[str, Meta(pattern=r"\A([0-9a-f]{40}([0-9a-f]{24})?)?\Z")]
    staged_files: list[str]
    untracked_files: list[str]
    digests: dict[str, str]
    staged: dict[str, str] = {}


class Captured(NamedTuple):
    """A baseline, and the ref that entries have of it."""

    ref: str
    baseline: Baseline


def write_baseline(
    root: str,
    *,
    commit: str,
    staged: Iterable[str],
    untracked: Iterable[str],
    digests: dict[str, str],
    staged_alone: dict[str, str],
    now: float | None = None,
    session: str = "",
) -> str:
    """Keep what the work tree is now; gives the path of the file from the root. BylawError."""
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        try:
            wait_for_lock(folder.descriptor, _FOLDER)  # it goes with the descriptor
            moment = now_ms() // 1_000 if now is None else int(now)
            new = _files(folder.descriptor).next(owner_of(session), moment)
            baseline = Baseline(
                session=session_text(session),
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


def latest_baseline(root: str, notes: list[str], session: str = "") -> Captured | None:
    """That of the last prompt; None if there is none. What cannot be read is noted."""
    unreadable = []
    found = None
    with existing_policy_folder(root, PolicyFolder.BASELINES) as folder:
        if folder is None:
            return None
        for file in _files(folder.descriptor).those_that_count(owner_of(session)):
            baseline = _read(folder.descriptor, file.name)
            if baseline is not None:
                found = Captured(file.ref, baseline)
                break
            unreadable.append(file.name)
    told = unreadable[:MAX_NOTED]
    notes += [f"the baseline `{name}` cannot be read: an older one counts" for name in told]
    return found


def prompts_of_others(root: str, session: str, refs: Iterable[str]) -> frozenset[str]:
    """Those of some refs that are prompts with which only other sessions compare."""
    with existing_policy_folder(root, PolicyFolder.BASELINES) as folder:
        if folder is None:
            return frozenset()
        return _files(folder.descriptor).refs_of_others(owner_of(session), refs)


def read_baseline(root: str, path: str) -> Baseline:
    """The baseline that `write_baseline` has put there; BylawError if it is gone."""
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        found = _read(folder.descriptor, path.rpartition("/")[2])
    if found is None:
        raise BylawError(f"`{path}` was removed")
    return found


def _tidy(folder: int, now: int) -> None:
    for file in islice(_files(folder).outdated(now), MAX_REMOVED):
        clear_away(folder, file.name)


def _read(folder: int, name: str) -> Baseline | None:
    try:
        data = regular_bytes(name, MAX_BASELINE_BYTES, links=False, folder=folder)
        return json.decode(data, type=Baseline)
    except (OSError, ValueError, MsgspecError):
        return None


def _files(folder: int) -> PromptFiles:
    @cache
    def whose(file: PromptFile) -> str:
        return file.owner or _whose(folder, file.name)

    return PromptFiles(prompt_files(os.listdir(folder)), whose)


def _whose(folder: int, name: str) -> str:
    """The owner that a file names, by its beginning if it is in our own hand."""
    try:
        beginning = regular_bytes(name, _BEGINNING_BYTES, links=False, folder=folder)
        if named := _OF_SESSION.match(beginning):
            return owner_of(json.decode(named[1], type=str))
    except (OSError, ValueError, MsgspecError):
        return UNREADABLE
    if beginning.startswith(_OF_NONE):
        return SHARED
    whole = _read(folder, name)
    return UNREADABLE if whole is None else owner_of(whole.session)
