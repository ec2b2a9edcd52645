"""The state of a bus as plain values: waiting, held, running and finished messages, requests.

Texts come from messages and are not escaped: printers make them visible. Reasons may be escaped
already. Times are in milliseconds, 0 if unknown.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping


class Arrival(StrEnum):
    """State of a file in `input` that is not handled yet."""

    NEW = "new"
    UNFINISHED = "unfinished"  # a process may still be writing it
    REFUSED = "refused"  # will be refused


class Letter(Struct, frozen=True, kw_only=True):
    """The fields of a message file. `msg_id` is empty if the id is not valid."""

    file: str
    msg_id: str = ""
    title: str = ""
    category: str = ""
    created_by: str = ""


class Waiting(Struct, frozen=True):
    """A message that is not handled yet. `why` says why it is not ready or will be refused."""

    letter: Letter
    state: Arrival
    why: str = ""


class Vote(Struct, frozen=True):
    """The current statement of an authority about a message, and its place.

    `other_text`: the statement is for an earlier text of the message and does not apply.
    """

    authority: str
    state: str
    where: str
    other_text: bool = False


class Held(Struct, frozen=True, kw_only=True):
    """A message that lacks an approval. `note` says what changed since the last attempt."""

    letter: Letter
    since: int
    why: str
    note: str = ""
    said: tuple[Vote, ...] = ()


class Asking(Struct, frozen=True, kw_only=True):
    """An approval request that waits for its addressees. `about` is the id of its subject."""

    letter: Letter
    about: str
    to: tuple[str, ...]
    text: str
    since: int
    said: tuple[Vote, ...] = ()


class Running(Struct, frozen=True, kw_only=True):
    """A message that a process has claimed. `dead` is None if that is unknown."""

    letter: Letter
    pid: int
    since: int
    dead: bool | None


class Ended(Struct, frozen=True, kw_only=True):
    """A finished message and its result."""

    name: str
    state: str
    at: int
    why: str


class BusReport(Struct, frozen=True, kw_only=True):
    """The complete report. `left_out` counts the waiting, held and requests that it omits."""

    root: str
    bus: str
    exists: bool
    phase: int | None
    phase_problem: str = ""
    waiting: tuple[Waiting, ...] = ()
    held: tuple[Held, ...] = ()
    requests: tuple[Asking, ...] = ()
    running: tuple[Running, ...] = ()
    ended: tuple[Ended, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
