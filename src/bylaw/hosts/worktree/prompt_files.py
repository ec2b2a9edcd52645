"""Baselines of prompts as files → which of them count for a session, and which nobody needs.

    prompt_1705406400.json                     what was captured in that second (DW-125)
    prompt_1705406400-2.json                   the second one within it, of any session (DW-A40)
    prompt_1705406400.3f9a0c12b4d5e6f7.json    by an earlier version, for one session

Whose a baseline is, stands in it; where an earlier version wrote it, in its name, as a digest. A
session looks at its own ones, so that prompts of others are no beginning of its work. A file has to
be read to know whose it is, so as few as can be are asked about.
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
UNREADABLE = "?"  # nobody can tell whose it is
KEPT_SECONDS = 30 * 24 * 3600
KEPT_SESSIONS = 1_000
KEPT_EACH = 8  # if the latest cannot be read, an older one counts
# The year 9999 begins: no later time can be written, and the next prompts must have room.
END_OF_TIME = 253_370_764_800

_OWNER_DIGITS = 16
_NO_SESSIONS = frozenset({"", DEFAULT_SESSION, WORKTREE})
_NAME = re.compile(
    rf"prompt_([0-9]{{1,12}})(?:-([0-9]{{1,6}}))?(?:\.([0-9a-f]{{{_OWNER_DIGITS}}}))?\.json"
)


class PromptFile(NamedTuple):
    """The name of a baseline; a later one is greater. `owner` is set by earlier versions alone."""

    second: int
    number: int = 1
    owner: str = ""

    @property
    def name(self) -> str:
        """As the file is called."""
        number = "" if self.number == 1 else f"-{self.number}"
        owner = f".{self.owner}" if self.owner else ""
        return f"prompt_{self.second}{number}{owner}.json"

    @property
    def timestamp(self) -> str:
        """The time of the prompt."""
        return f"{datetime.fromtimestamp(self.second, UTC):%Y-%m-%dT%H:%M:%SZ}"

    @property
    def ref(self) -> str:
        """What entries have as their baseline: the time, and which one within that second.

        So no two prompts have entries in common (DW-052, DW-A41); in earlier versions they had.
        """
        is_alone = self.number == 1 or self.owner
        return self.timestamp if is_alone else f"{self.timestamp}-{self.number}"


def session_text(session: str) -> str:
    """The name of a session as it stands in a baseline; the empty text if it belongs to none."""
    if session in _NO_SESSIONS:
        return SHARED
    return session.encode("utf-8", "backslashreplace").decode()


def owner_of(session: str) -> str:
    """Whose baselines those of a session are: a name may hold anything, a digest does not."""
    text = session_text(session)
    return sha256(text.encode()).hexdigest()[:_OWNER_DIGITS] if text else SHARED


def prompt_files(names: Iterable[str]) -> list[PromptFile]:
    """Those names that are baselines, the latest first; one of no time that there is, is none."""
    matches = filter(None, map(_NAME.fullmatch, names))
    found = (PromptFile(int(one[1]), int(one[2] or 1), one[3] or "") for one in matches)
    return sorted((file for file in found if file.second < END_OF_TIME), reverse=True)


class PromptFiles:
    """The baselines of a work tree, the latest first; `whose` says whose one is."""

    def __init__(self, files: Sequence[PromptFile], whose: Callable[[PromptFile], str]) -> None:
        self._files, self._whose = files, whose

    def next(self, owner: str, now: int) -> PromptFile:
        """The name of a new one, which is the latest of its owner also if clocks were set back."""
        ahead = (file for file in self._files if file.second > now)
        second = next((file.second for file in ahead if self._whose(file) == owner), now)
        numbers = [file.number for file in self._files if file.second == second]
        return PromptFile(second, max(numbers, default=0) + 1)

    def those_that_count(self, owner: str) -> Iterator[PromptFile]:
        """Its own ones, else the shared ones, the latest first; with them what cannot be read.

        Who belongs to no session and finds no shared one looks at the session prompted last.
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
        """Those refs that are prompts with which only other sessions compare."""
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
        """Only of who belongs to no session it is not known beforehand."""
        if owner == SHARED:
            counting = (self._whose(file) for file in self.those_that_count(owner))
            yield next((one for one in counting if one != UNREADABLE), SHARED)

    def outdated(self, now: int) -> Iterator[PromptFile]:
        """Those of sessions that are long gone, and old ones of the others; never a shared one.

        What cannot be read may be one.
        """
        oldest = self._files[-1].second if self._files else now
        if len(self._files) <= KEPT_EACH and oldest >= now - KEPT_SECONDS:
            return  # nobody has to find out whose they are
        sessions: Counter[str] = Counter()
        for file in self._files:
            owner = self._whose(file)
            if owner in (SHARED, UNREADABLE):
                continue
            sessions[owner] += 1
            is_old = file.second < now - KEPT_SECONDS
            if is_old or sessions[owner] > KEPT_EACH or len(sessions) > KEPT_SESSIONS:
                yield file
