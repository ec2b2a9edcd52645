"""Calls of agents × what people approve in files → which of these approvals count.

An approval must come from outside of the agent. One that comes while a call of an agent runs may be
its own, so it does not count until a person confirms it, as `bylaw approve` does. What takes an
approval back counts whoever wrote it.

A token is told by the time of its last change, which a process cannot set; a line of a file has no
such time, so the lines are noted when a call begins. That time stays if a whole folder is moved
away and back, so the tokens are noted, too, whenever a call begins or ends: one that is older than
that look, and was not there, was hidden from it.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.runtime.state_folder import existing_state_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FILE = "approvals-watched.json"
MAX_BYTES = 16 << 20
MAX_DOUBTED = 10_000
MAX_CONFIRMED = 1_000
MAX_OPEN = 1_000
# The clock of files stands still for a moment, and ours goes on.
_BEHIND_NS = 50_000_000


class Mark(NamedTuple):
    """By what an approval is known: `changed_ns` is None for a line; `where` is for people."""

    key: str
    changed_ns: int | None
    msg_id: str = ""
    where: str = ""


UNKNOWN = Mark("", None)  # of what cannot be read, and grants nothing


class Begun(Struct, frozen=True, array_like=True):
    """A call that runs: when it began, and the lines that stood there.

    Some clients give their calls no ids: then it is the first of so many `calls` that run.
    """

    at_ns: int
    lines: list[str] = []
    calls: int = 1

    def saw_come(self, mark: Mark) -> bool:
        """Whether an approval was not there before."""
        if mark.changed_ns is None:
            return mark.key not in self.lines
        return mark.changed_ns >= self.at_ns


class ApprovalWatch(Struct, frozen=True, omit_defaults=True):
    """What is known: calls that run, approvals that do not count, and those that do in any case.

    `tokens` were there at the last look, at `looked_ns`. If `nothing_counts`, there is too much of
    it to tell.
    """

    running: dict[str, Begun] = {}
    doubted: list[str] = []
    confirmed: list[str] = []
    nothing_counts: bool = False
    looked_ns: int = 0
    tokens: list[str] = []

    def counts(self, mark: Mark) -> bool:
        """Whether an approval is one that a person gave."""
        if mark.key in self.confirmed:
            return True
        if self.nothing_counts or mark.key in self.doubted:
            return False
        if _is_older(mark, self.looked_ns) and mark.key not in self.tokens:
            return False
        return not any(call.saw_come(mark) for call in self.running.values())

    def looking(self, look: Look) -> ApprovalWatch:
        """These are there now: of the tokens, what was hidden is doubted from now on."""
        seen = set(self.tokens)
        tokens = [one for one in look.marks if one.changed_ns is not None]
        hidden = [one for one in tokens if _is_older(one, self.looked_ns) and one.key not in seen]
        keys = [one.key for one in tokens]
        return replace(self._doubting(hidden), looked_ns=look.at_ns, tokens=keys)

    def after(self, names: Iterable[str], marks: Iterable[Mark]) -> ApprovalWatch:
        """All calls of these names have ended: what came meanwhile is doubted from now on."""
        ended = set(names)
        running = {name: call for name, call in self.running.items() if name not in ended}
        calls = [call for name, call in self.running.items() if name in ended]
        return replace(self._doubting(_come(calls, marks)), running=running)

    def after_one(self, name: str, marks: Iterable[Mark]) -> ApprovalWatch:
        """One of the calls of a name has ended: nobody can tell which, so the first stays."""
        calls = [call for call in (self.running.get(name),) if call is not None]
        return self._doubting(_come(calls, marks)).without_one(name)

    def without_one(self, name: str) -> ApprovalWatch:
        """As if one of the calls of a name had not begun."""
        running = dict(self.running)
        call = running.pop(name, None)
        if call is not None and call.calls > 1:
            running[name] = replace(call, calls=call.calls - 1)
        return replace(self, running=running)

    def _doubting(self, marks: Iterable[Mark]) -> ApprovalWatch:
        known = {*self.doubted, *self.confirmed}
        doubted = [*self.doubted, *(one.key for one in marks if one.key not in known)]
        return replace(
            self,
            doubted=doubted[:MAX_DOUBTED],
            nothing_counts=self.nothing_counts or len(doubted) > MAX_DOUBTED,
        )


class Look(NamedTuple):
    """The approvals that are there, and when somebody began to look for them."""

    at_ns: int
    marks: list[Mark]

    @classmethod
    def of(cls, marks: Iterable[Mark]) -> Look:
        """Look for them now."""
        return cls(time_ns() - _BEHIND_NS, list(marks))


def _is_older(mark: Mark, moment_ns: int) -> bool:
    return mark.changed_ns is not None and mark.changed_ns < moment_ns


def _come(calls: list[Begun], marks: Iterable[Mark]) -> Iterator[Mark]:
    return (one for one in marks if any(call.saw_come(one) for call in calls))


def approval_watch(root: str) -> ApprovalWatch:
    """What is known in a root; what cannot be read lets nothing count."""
    try:
        with existing_state_folder(root) as folder:
            return ApprovalWatch() if folder is None else _decoded(folder.read(FILE, MAX_BYTES))
    except (OSError, ValueError):
        return ApprovalWatch(nothing_counts=True)


def call_began(root: str, name: str, marks: Iterable[Mark]) -> list[Mark]:
    """An agent's call begins, with these approvals there; those that were hidden before."""
    look = Look.of(marks)
    lines = [one.key for one in look.marks if one.changed_ns is None]
    new = Begun(look.at_ns, lines)

    def added(watch: ApprovalWatch) -> ApprovalWatch:
        watch = watch.looking(look)
        known = watch.running.get(name)
        if known is None and len(watch.running) >= MAX_OPEN:
            watch = watch.after([next(iter(watch.running))], look.marks)
        begun = new if known is None else replace(known, calls=known.calls + 1)
        return replace(watch, running={**watch.running, name: begun})

    return _newly_doubted(*_change(root, added), look.marks)


def call_denied(root: str, name: str) -> None:
    """A call that was to begin never ran."""
    _change(root, lambda watch: watch.without_one(name))


def call_ended(root: str, name: str, marks: Iterable[Mark]) -> list[Mark]:
    """A call has ended; the approvals that came meanwhile and do not count."""
    look = Look.of(marks)

    def ended(watch: ApprovalWatch) -> ApprovalWatch:
        return watch.after_one(name, look.marks).looking(look)

    return _newly_doubted(*_change(root, ended), look.marks)


def calls_ended(root: str, start: str, marks: Iterable[Mark]) -> list[Mark]:
    """The same of all calls whose names begin so."""
    if not approval_watch(root).running:
        return []
    look = Look.of(marks)

    def ended(watch: ApprovalWatch) -> ApprovalWatch:
        names = [name for name in watch.running if name.startswith(start)]
        return watch.after(names, look.marks).looking(look)

    return _newly_doubted(*_change(root, ended), look.marks)


def _newly_doubted(before: ApprovalWatch, after: ApprovalWatch, marks: list[Mark]) -> list[Mark]:
    new = set(after.doubted).difference(before.doubted)
    return [one for one in marks if one.key in new]


def confirm(root: str, key: str) -> None:
    """A person stands for an approval."""

    def confirmed(watch: ApprovalWatch) -> ApprovalWatch:
        return replace(watch, confirmed=[*watch.confirmed, key][-MAX_CONFIRMED:])

    _change(root, confirmed)


def _change(
    root: str, change: Callable[[ApprovalWatch], ApprovalWatch]
) -> tuple[ApprovalWatch, ApprovalWatch]:
    """What was known, and what is known from now on."""
    with state_folder(root) as folder, folder.locked(FILE):
        before = _decoded(folder.read(FILE, MAX_BYTES))
        after = change(before)
        if after != before:
            folder.write(FILE, msgspec.json.encode(after), lasting=False)
        return before, after


def _decoded(data: bytes | None) -> ApprovalWatch:
    try:
        return ApprovalWatch() if data is None else msgspec.json.decode(data, type=ApprovalWatch)
    except msgspec.MsgspecError:
        return ApprovalWatch(nothing_counts=True)
