"""Baselines: the state of the work tree when a prompt was submitted, as files (DW-123…DW-127).

    .deepwork/tmp/policy/baselines/
        prompt_1705406400.json                   captured in that second (DW-125)
        prompt_1705406400-2.json                 the second file of that second (DW-A40)
        prompt_1705406400.3f9a0c12b4d5e6f7.json  from an earlier version, for one session

A file names its session in its content; files of earlier versions have a digest of it in their
name. A session uses the latest of its own baselines, so that a prompt of another session is not the
start of its work. An existing file is never written again, so sessions can capture at the same
time. A file must be read to learn its session, so as few files as possible are checked.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, MsgspecError, Struct, json

from bylaw.model.errors import BylawError
from bylaw.model.event import DEFAULT_SESSION
from bylaw.runtime.effects import WORKTREE
from bylaw.store.files import os_error_text, read_regular_bytes, try_remove, write_new
from bylaw.store.locks import wait_for_lock
from bylaw.store.system import now_ms
from bylaw.worktree.folders import POLICY, PolicyFolder, existing_policy_folder, policy_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SHARED = ""
UNREADABLE = "?"  # the owner is not known
KEPT_SECONDS = 30 * 24 * 3600
KEPT_SESSIONS = 1_000
KEPT_EACH = 8  # for each session: if the latest cannot be read, an older one is used
# The start of the year 9999. Later times cannot be written, and the next prompts need room.
END_OF_TIME = 253_370_764_800

_OWNER_DIGITS = 16
_NO_SESSIONS = frozenset({"", DEFAULT_SESSION, WORKTREE})
_NAME = re.compile(
    rf"prompt_([0-9]{{1,12}})(?:-([0-9]{{1,6}}))?(?:\.([0-9a-f]{{{_OWNER_DIGITS}}}))?\.json"
)


class PromptFile(NamedTuple):
    """The parts of a file name; they sort by time. Only earlier versions set `owner`."""

    second: int
    number: int = 1
    owner: str = ""

    @property
    def name(self) -> str:
        """The file name."""
        number = "" if self.number == 1 else f"-{self.number}"
        owner = f".{self.owner}" if self.owner else ""
        return f"prompt_{self.second}{number}{owner}.json"

    @property
    def timestamp(self) -> str:
        """The time of the prompt, in ISO 8601."""
        return f"{datetime.fromtimestamp(self.second, UTC):%Y-%m-%dT%H:%M:%SZ}"

    @property
    def ref(self) -> str:
        """The baseline ref of entries: the time, and the number within that second.

        So no two prompts share entries (DW-052, DW-A41). In earlier versions they could.
        """
        is_alone = self.number == 1 or self.owner
        return self.timestamp if is_alone else f"{self.timestamp}-{self.number}"


def session_text(session: str) -> str:
    """Return a session name as written in a baseline, empty for an event without a session."""
    if session in _NO_SESSIONS:
        return SHARED
    return session.encode("utf-8", "backslashreplace").decode()


def owner_key(session: str) -> str:
    """Return the owner key of a session: a digest, because a name may contain any character."""
    text = session_text(session)
    return sha256(text.encode()).hexdigest()[:_OWNER_DIGITS] if text else SHARED


def parse_names(names: Iterable[str]) -> list[PromptFile]:
    """Return the names that are baselines, the latest first. Skip times after the year 9998."""
    matches = filter(None, map(_NAME.fullmatch, names))
    found = (PromptFile(int(one[1]), int(one[2] or 1), one[3] or "") for one in matches)
    return sorted((file for file in found if file.second < END_OF_TIME), reverse=True)


class PromptFiles:
    """The baselines of a work tree, the latest first. `whose` returns the owner of a file."""

    def __init__(self, files: Sequence[PromptFile], whose: Callable[[PromptFile], str]) -> None:
        self._files, self._whose = files, whose

    def next(self, owner: str, now: int) -> PromptFile:
        """Return a new name. It is the latest of its owner, even if the clock was set back."""
        ahead = (file for file in self._files if file.second > now)
        second = next((file.second for file in ahead if self._whose(file) == owner), now)
        numbers = [file.number for file in self._files if file.second == second]
        return PromptFile(second, max(numbers, default=0) + 1)

    def applicable_files(self, owner: str) -> Iterator[PromptFile]:
        """Yield the files that apply to an owner, the latest first.

        These are its own files, else the shared ones, always with those that cannot be read.
        Without a session and without shared files, the session with the last prompt applies.
        """
        others: dict[str, list[PromptFile]] = {}
        has_own = False
        for file in self._files:
            whose = self._whose(file)
            if whose in (owner, UNREADABLE):
                has_own = has_own or whose == owner
                yield file
            else:
                others.setdefault(whose, []).append(file)
        if not has_own:
            instead = SHARED if owner != SHARED else next(iter(others), SHARED)
            yield from others.get(instead, [])

    def refs_of_others(self, owner: str, refs: Iterable[str]) -> frozenset[str]:
        """Return those refs that apply only to other sessions."""
        wanted = frozenset(refs)
        found = [file for file in self._files if file.ref in wanted]
        if not found:
            return frozenset()
        ours = {owner, SHARED, UNREADABLE, *self._applicable_owners(owner)}
        are_ours = {file: self._whose(file) in ours for file in found}
        return wanted.intersection(file.ref for file in found if not are_ours[file]).difference(
            file.ref for file in found if are_ours[file]
        )

    def _applicable_owners(self, owner: str) -> Iterator[str]:
        """Without a session, yield the owner whose files apply."""
        if owner == SHARED:
            counting = (self._whose(file) for file in self.applicable_files(owner))
            yield next((one for one in counting if one != UNREADABLE), SHARED)

    def outdated_files(self, now: int) -> Iterator[PromptFile]:
        """Yield files that can be removed: files of old sessions, and surplus files of the others.

        Shared files are kept. So are unreadable files, because they may be shared.
        """
        oldest = self._files[-1].second if self._files else now
        if len(self._files) <= KEPT_EACH and oldest >= now - KEPT_SECONDS:
            return  # no need to read the owners
        sessions: Counter[str] = Counter()
        for file in self._files:
            owner = self._whose(file)
            if owner in (SHARED, UNREADABLE):
                continue
            sessions[owner] += 1
            is_old = file.second < now - KEPT_SECONDS
            if is_old or sessions[owner] > KEPT_EACH or len(sessions) > KEPT_SESSIONS:
                yield file


MAX_BASELINE_BYTES = 64 << 20
MAX_NOTED = 4  # unreadable files named in notes
MAX_REMOVED = 100  # old files removed with one capture
_FOLDER = f"{POLICY}/{PolicyFolder.BASELINES}"
# The beginning of each file names its session, so that the rest need not be read for that.
_START_BYTES = 1_024
_SESSION_START = re.compile(rb'\{"session":("(?:[^"\\]|\\.)+"),"timestamp":"')
_SHARED_START = b'{"timestamp":"'


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


class CapturedBaseline(NamedTuple):
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
            new = _list_files(folder.descriptor).next(owner_key(session), moment)
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
            _remove_outdated(folder.descriptor, new.second)
        except OSError as wrong:
            raise BylawError(f"cannot write a baseline: {os_error_text(wrong)}") from None
    return f"{_FOLDER}/{new.name}"


def latest_baseline(root: str, notes: list[str], session: str = "") -> CapturedBaseline | None:
    """Return the baseline of the last prompt, or None. Add unreadable files to `notes`."""
    unreadable = []
    found = None
    with existing_policy_folder(root, PolicyFolder.BASELINES) as folder:
        if folder is None:
            return None
        for file in _list_files(folder.descriptor).applicable_files(owner_key(session)):
            baseline = _read_file(folder.descriptor, file.name)
            if baseline is not None:
                found = CapturedBaseline(file.ref, baseline)
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
        return _list_files(folder.descriptor).refs_of_others(owner_key(session), refs)


def read_baseline(root: str, path: str) -> Baseline:
    """Read a baseline that `write_baseline` wrote. Raise BylawError if it is gone."""
    with policy_folder(root, PolicyFolder.BASELINES) as folder:
        found = _read_file(folder.descriptor, path.rpartition("/")[2])
    if found is None:
        raise BylawError(f"`{path}` was removed")
    return found


def _remove_outdated(folder: int, now: int) -> None:
    for file in islice(_list_files(folder).outdated_files(now), MAX_REMOVED):
        try_remove(folder, file.name)


def _read_file(folder: int, name: str) -> Baseline | None:
    try:
        data = read_regular_bytes(name, MAX_BASELINE_BYTES, links=False, folder=folder)
        return json.decode(data, type=Baseline)
    except (OSError, ValueError, MsgspecError):
        return None


def _list_files(folder: int) -> PromptFiles:
    @cache
    def whose(file: PromptFile) -> str:
        return file.owner or _read_owner(folder, file.name)

    return PromptFiles(parse_names(os.listdir(folder)), whose)


def _read_owner(folder: int, name: str) -> str:
    """Return the owner that a file names. The beginning of a file that Bylaw wrote is enough."""
    try:
        beginning = read_regular_bytes(name, _START_BYTES, links=False, folder=folder)
        if named := _SESSION_START.match(beginning):
            return owner_key(json.decode(named[1], type=str))
    except (OSError, ValueError, MsgspecError):
        return UNREADABLE
    if beginning.startswith(_SHARED_START):
        return SHARED
    whole = _read_file(folder, name)
    return UNREADABLE if whole is None else owner_key(whole.session)
