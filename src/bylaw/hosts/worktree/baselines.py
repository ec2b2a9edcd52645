"""Write and read baselines: the state of the work tree when a prompt was submitted (DW-123…DW-127).

    .deepwork/tmp/policy/baselines/prompt_1705406400.json

Each prompt has its own file. A session uses the latest of the files that apply to it, see
`prompt_files`. An existing file is never written again, so sessions can capture at the same time.
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
MAX_NOTED = 4  # unreadable files named in notes
MAX_REMOVED = 100  # old files removed with one capture
_FOLDER = f"{POLICY}/{PolicyFolder.BASELINES}"
# The beginning of each file names its session, so that the rest need not be read for that.
_BEGINNING_BYTES = 1_024
_OF_SESSION = re.compile(rb'\{"session":("(?:[^"\\]|\\.)+"),"timestamp":"')
_OF_NONE = b'{"timestamp":"'


class Baseline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The work tree when a prompt was submitted.

    `session` is the session of the prompt, empty if none. `commit` is empty if there was none.
    `digests` are those of all files that differed from the commit, empty for a file that was gone
    (DW-A39). `staged` are the digests of staged versions that the work tree did not have.
    """

    session: str = SHARED
    timestamp: Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9:T-]{14}Z\Z")]
    commit: Annotated[str, Meta(pattern=r"\A([0-9a-f]{40}([0-9a-f]{24})?)?\Z")]
    staged_files: list[str]
    untracked_files: list[str]
    digests: dict[str, str]
    staged: dict[str, str] = {}


class Captured(NamedTuple):
    """A baseline, and the ref by which entries name it."""

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
    """Write a baseline. Return its path below the root. Raise BylawError if it cannot be written.

    `now` is in seconds.
    """
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        try:
            wait_for_lock(folder.descriptor, _FOLDER)  # closing the descriptor unlocks it
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
            raise BylawError(f"cannot write a baseline: {in_plain_words(wrong)}") from None
    return f"{_FOLDER}/{new.name}"


def latest_baseline(root: str, notes: list[str], session: str = "") -> Captured | None:
    """Return the baseline of the last prompt, or None. Add unreadable files to `notes`."""
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
    notes += [f"the baseline `{name}` cannot be read: an older one is used" for name in told]
    return found


def prompts_of_others(root: str, session: str, refs: Iterable[str]) -> frozenset[str]:
    """Return those refs that are prompts of other sessions and do not apply to this one."""
    with existing_policy_folder(root, PolicyFolder.BASELINES) as folder:
        if folder is None:
            return frozenset()
        return _files(folder.descriptor).refs_of_others(owner_of(session), refs)


def read_baseline(root: str, path: str) -> Baseline:
    """Read a baseline that `write_baseline` wrote. Raise BylawError if it is gone."""
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
    """Return the owner that a file names. The beginning of a file that Bylaw wrote is enough."""
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
