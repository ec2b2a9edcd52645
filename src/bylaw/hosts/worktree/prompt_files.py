"""Names of baselines of prompts → which of them count for a session, and which nobody needs.

    prompt_1705406400.json                      shared: captured by hand, or for no session
    prompt_1705406400.3f9a0c12b4d5e6f7.json     of a session, by a digest of its name
    prompt_1705406400-2.json                    the second within that second (DW-A40)

A session looks at its own ones, so that prompts of others are no beginning of its work.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from bylaw.model.event import DEFAULT_SESSION
from bylaw.runtime.effects import WORKTREE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

SHARED = ""
KEPT_SECONDS = 30 * 24 * 3600
KEPT_SESSIONS = 1_000
KEPT_EACH = 8  # more than are tried where some cannot be read
# The year 9999 begins: no later time can be written, and the next prompts must have room.
END_OF_TIME = 253_370_764_800

_OWNER_DIGITS = 16
_NO_SESSIONS = frozenset({"", DEFAULT_SESSION, WORKTREE})
_NAME = re.compile(
    rf"prompt_([0-9]{{1,12}})(?:-([0-9]{{1,6}}))?(?:\.([0-9a-f]{{{_OWNER_DIGITS}}}))?\.json"
)


class PromptFile(NamedTuple):
    """The name of a baseline; a later one is greater."""

    second: int
    number: int = 1
    owner: str = SHARED

    @property
    def name(self) -> str:
        """As the file is called."""
        number = "" if self.number == 1 else f"-{self.number}"
        owner = f".{self.owner}" if self.owner else ""
        return f"prompt_{self.second}{number}{owner}.json"

    @property
    def timestamp(self) -> str:
        """The time of the prompt, which entries have as their baseline (DW-052)."""
        return f"{datetime.fromtimestamp(self.second, UTC):%Y-%m-%dT%H:%M:%SZ}"


def owner_of(session: str) -> str:
    """Whose baselines those of a session are; a name may hold anything, a digest does not."""
    if session in _NO_SESSIONS:
        return SHARED
    return sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:_OWNER_DIGITS]


def prompt_files(names: Iterable[str]) -> list[PromptFile]:
    """Those names that are baselines; one of no time that there is, is none."""
    matches = filter(None, map(_NAME.fullmatch, names))
    found = (PromptFile(int(one[1]), int(one[2] or 1), one[3] or SHARED) for one in matches)
    return [file for file in found if file.second < END_OF_TIME]


def next_file(files: Collection[PromptFile], owner: str, now: int) -> PromptFile:
    """The name of a new baseline, which is the latest of its owner also if clocks were set back.

    By the second entries of the queue are told apart, so no two owners have the same one.
    """
    taken = {file.second for file in files if file.owner != owner}
    first = max([now, *(file.second for file in files if file.owner == owner)])
    second = next(one for one in count(first) if one not in taken)
    numbers = [file.number for file in files if file.owner == owner and file.second == second]
    return PromptFile(second, max(numbers, default=0) + 1, owner)


def those_that_count(files: Iterable[PromptFile], owner: str) -> list[PromptFile]:
    """Its own ones, else the shared ones, the latest first.

    Who belongs to no session and finds no shared one looks at the session that was prompted last.
    """
    by_owner: dict[str, list[PromptFile]] = {}
    for file in sorted(files, reverse=True):
        by_owner.setdefault(file.owner, []).append(file)
    last = next(iter(by_owner), SHARED)
    owners = (owner, SHARED, owner or last)
    return next((by_owner[one] for one in owners if one in by_owner), [])


def times_of_others(files: Iterable[PromptFile], owner: str) -> frozenset[str]:
    """The times of prompts with which only other sessions compare."""
    known = set(files)
    ours = {file.owner for file in those_that_count(known, owner)} | {SHARED}
    return frozenset(file.timestamp for file in known if file.owner not in ours)


def outdated(files: Iterable[PromptFile], now: int) -> Iterator[PromptFile]:
    """Baselines of sessions that are long gone, and old ones of the others; never a shared one."""
    sessions: dict[str, int] = {}
    for file in sorted(files, reverse=True):
        if file.owner == SHARED:
            continue
        sessions[file.owner] = sessions.get(file.owner, 0) + 1
        is_old = file.second < now - KEPT_SECONDS
        if is_old or sessions[file.owner] > KEPT_EACH or len(sessions) > KEPT_SESSIONS:
            yield file
