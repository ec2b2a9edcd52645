"""Select the baseline files that apply to a session, and those that can be removed.

    prompt_1705406400.json                     captured in that second (DW-125)
    prompt_1705406400-2.json                   the second file of that second, any session (DW-A40)
    prompt_1705406400.3f9a0c12b4d5e6f7.json    from an earlier version, for one session

A file names its session in its content; files of earlier versions have a digest of it in their
name. A session uses its own baselines, so that a prompt of another session is not the start of its
work. A file must be read to learn its session, so as few files as possible are checked.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from bylaw.model.event import DEFAULT_SESSION
from bylaw.runtime.effects import WORKTREE

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


def owner_of(session: str) -> str:
    """Return the owner key of a session: a digest, because a name may contain any character."""
    text = session_text(session)
    return sha256(text.encode()).hexdigest()[:_OWNER_DIGITS] if text else SHARED


def prompt_files(names: Iterable[str]) -> list[PromptFile]:
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

    def those_that_count(self, owner: str) -> Iterator[PromptFile]:
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
        ours = {owner, SHARED, UNREADABLE, *self._owners_that_count(owner)}
        are_ours = {file: self._whose(file) in ours for file in found}
        return wanted.intersection(file.ref for file in found if not are_ours[file]).difference(
            file.ref for file in found if are_ours[file]
        )

    def _owners_that_count(self, owner: str) -> Iterator[str]:
        """Without a session, yield the owner whose files apply."""
        if owner == SHARED:
            counting = (self._whose(file) for file in self.those_that_count(owner))
            yield next((one for one in counting if one != UNREADABLE), SHARED)

    def outdated(self, now: int) -> Iterator[PromptFile]:
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
