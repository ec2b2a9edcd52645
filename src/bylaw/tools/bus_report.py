"""How it stands with a bus, as plain values: what waits, is held, asks, runs, and has ended.

Texts are foreign: printers make them visible, but for reasons, which may be so already. Times are
milliseconds, 0 if unknown.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping


class Arrival(StrEnum):
    """What a file of `input` is that nobody has handled yet."""

    NEW = "new"
    UNFINISHED = "unfinished"  # somebody may be writing it
    REFUSED = "refused"  # it will be


class Letter(Struct, frozen=True, kw_only=True):
    """What a file says of itself; without a valid id, `msg_id` is empty."""

    file: str
    msg_id: str = ""
    title: str = ""
    category: str = ""
    created_by: str = ""


class Waiting(Struct, frozen=True):
    """A message that nobody has handled yet; `why` it is not ready, or will be refused."""

    letter: Letter
    state: Arrival
    why: str = ""


class Vote(Struct, frozen=True):
    """What an authority says of a message now, and where it says so.

    `other_text` tells that it does not count: it is for what the message was before.
    """

    authority: str
    state: str
    where: str
    other_text: bool = False


class Held(Struct, frozen=True, kw_only=True):
    """A message that lacks an approval; `note` is what has changed since it was tried."""

    letter: Letter
    since: int
    why: str
    note: str = ""
    said: tuple[Vote, ...] = ()


class Asking(Struct, frozen=True, kw_only=True):
    """A request that waits for its addressees; `about` is the id that they decide about."""

    letter: Letter
    about: str
    to: tuple[str, ...]
    text: str
    since: int
    said: tuple[Vote, ...] = ()


class Running(Struct, frozen=True, kw_only=True):
    """A message that a process has claimed; `dead` is None where that cannot be told."""

    letter: Letter
    pid: int
    since: int
    dead: bool | None


class Ended(Struct, frozen=True, kw_only=True):
    """A message that is through, and how that ended."""

    name: str
    state: str
    at: int
    why: str


class BusReport(Struct, frozen=True, kw_only=True):
    """Everything; `left_out` says how many more there are of waiting, held and requests."""

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
