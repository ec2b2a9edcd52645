"""Decide which approvals in files apply, although agents can write files.

An approval that appears while a call of an agent runs may be its own, so it does not apply until a
person confirms it. A revocation always applies. A token is dated by the time of its last change,
which a process cannot set; lines of a file are recorded when a call begins. Tokens are recorded at
both ends of a call: one that is older than such a scan and was not in it had been hidden.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.store.state_folder import existing_state_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FILE = "approvals-watched.json"
MAX_BYTES = 16 << 20
MAX_DOUBTED = 10_000
MAX_CONFIRMED = 1_000
MAX_OPEN = 1_000
# The clock of files lags behind the system clock for a moment.
_CLOCK_LAG_NS = 50_000_000


class ApprovalKey(NamedTuple):
    """The key of an approval. `changed_ns` is None for a line; `where` is for people."""

    key: str
    changed_ns: int | None
    msg_id: str = ""
    where: str = ""


UNKNOWN_KEY = ApprovalKey("", None)  # the key of a token that cannot be read, which grants nothing


class RunningCall(Struct, frozen=True, array_like=True):
    """A running call: when it began, and the lines that existed then.

    Some clients give their calls no ids. Then this is the first of `calls` running calls.
    """

    at_ns: int
    lines: list[str] = []
    calls: int = 1

    def started_before(self, mark: ApprovalKey) -> bool:
        """Check whether an approval did not exist before the call."""
        if mark.changed_ns is None:
            return mark.key not in self.lines
        return mark.changed_ns >= self.at_ns


class ApprovalWatch(Struct, frozen=True, omit_defaults=True):
    """The recorded state: running calls, doubted approvals, and confirmed ones.

    `tokens` existed at the last scan, at `looked_ns`. With `nothing_counts`, no approval applies
    unless it is confirmed, because the state is too large or cannot be read.
    """

    running: dict[str, RunningCall] = {}
    doubted: list[str] = []
    confirmed: list[str] = []
    nothing_counts: bool = False
    looked_ns: int = 0
    tokens: list[str] = []

    def counts(self, mark: ApprovalKey) -> bool:
        """Check whether an approval was given by a person."""
        if mark.key in self.confirmed:
            return True
        if self.nothing_counts or mark.key in self.doubted:
            return False
        if _is_older(mark, self.looked_ns) and mark.key not in self.tokens:
            return False
        return not any(call.started_before(mark) for call in self.running.values())

    def after_scan(self, look: ApprovalScan) -> ApprovalWatch:
        """Record what exists now, and doubt tokens that had been hidden."""
        seen = set(self.tokens)
        tokens = [one for one in look.marks if one.changed_ns is not None]
        hidden = [one for one in tokens if _is_older(one, self.looked_ns) and one.key not in seen]
        keys = [one.key for one in tokens]
        return replace(self._with_doubted(hidden), looked_ns=look.at_ns, tokens=keys)

    def after(self, names: Iterable[str], marks: Iterable[ApprovalKey]) -> ApprovalWatch:
        """End all calls of these names, and doubt the approvals that appeared meanwhile."""
        ended = set(names)
        running = {name: call for name, call in self.running.items() if name not in ended}
        calls = [call for name, call in self.running.items() if name in ended]
        return replace(self._with_doubted(_appeared_during(calls, marks)), running=running)

    def after_call(self, name: str, marks: Iterable[ApprovalKey]) -> ApprovalWatch:
        """End one call of a name. It is unknown which one, so the earliest start stays."""
        calls = [call for call in (self.running.get(name),) if call is not None]
        return self._with_doubted(_appeared_during(calls, marks)).without_call(name)

    def without_call(self, name: str) -> ApprovalWatch:
        """Remove one call of a name, as if it had not begun."""
        running = dict(self.running)
        call = running.pop(name, None)
        if call is not None and call.calls > 1:
            running[name] = replace(call, calls=call.calls - 1)
        return replace(self, running=running)

    def _with_doubted(self, marks: Iterable[ApprovalKey]) -> ApprovalWatch:
        known = {*self.doubted, *self.confirmed}
        doubted = [*self.doubted, *(one.key for one in marks if one.key not in known)]
        return replace(
            self,
            doubted=doubted[:MAX_DOUBTED],
            nothing_counts=self.nothing_counts or len(doubted) > MAX_DOUBTED,
        )


class ApprovalScan(NamedTuple):
    """The approvals that exist, and the time when the scan began."""

    at_ns: int
    marks: list[ApprovalKey]

    @classmethod
    def of(cls, marks: Iterable[ApprovalKey]) -> ApprovalScan:
        """Scan them now."""
        return cls(time_ns() - _CLOCK_LAG_NS, list(marks))


def _is_older(mark: ApprovalKey, moment_ns: int) -> bool:
    return mark.changed_ns is not None and mark.changed_ns < moment_ns


def _appeared_during(
    calls: list[RunningCall], marks: Iterable[ApprovalKey]
) -> Iterator[ApprovalKey]:
    return (one for one in marks if any(call.started_before(one) for call in calls))


def read_approval_watch(root: str) -> ApprovalWatch:
    """Return the state of a root; if it cannot be read, no approval applies."""
    try:
        with existing_state_folder(root) as folder:
            return ApprovalWatch() if folder is None else _decode(folder.read(FILE, MAX_BYTES))
    except (OSError, ValueError):
        return ApprovalWatch(nothing_counts=True)


def record_call_start(root: str, name: str, marks: Iterable[ApprovalKey]) -> list[ApprovalKey]:
    """Record that an agent's call begins; return the approvals that had been hidden before."""
    look = ApprovalScan.of(marks)
    lines = [one.key for one in look.marks if one.changed_ns is None]
    new = RunningCall(look.at_ns, lines)

    def added(watch: ApprovalWatch) -> ApprovalWatch:
        watch = watch.after_scan(look)
        known = watch.running.get(name)
        if known is None and len(watch.running) >= MAX_OPEN:
            watch = watch.after([next(iter(watch.running))], look.marks)
        begun = new if known is None else replace(known, calls=known.calls + 1)
        return replace(watch, running={**watch.running, name: begun})

    return _newly_doubted(*_update(root, added), look.marks)


def record_call_denied(root: str, name: str) -> None:
    """Remove a call that was denied and never ran."""
    _update(root, lambda watch: watch.without_call(name))


def record_call_end(root: str, name: str, marks: Iterable[ApprovalKey]) -> list[ApprovalKey]:
    """Record that a call ended; return the approvals that appeared meanwhile and do not apply."""
    look = ApprovalScan.of(marks)

    def ended(watch: ApprovalWatch) -> ApprovalWatch:
        return watch.after_call(name, look.marks).after_scan(look)

    return _newly_doubted(*_update(root, ended), look.marks)


def record_calls_end(root: str, start: str, marks: Iterable[ApprovalKey]) -> list[ApprovalKey]:
    """End all calls whose names start with `start`; return as `call_ended` does."""
    if not read_approval_watch(root).running:
        return []
    look = ApprovalScan.of(marks)

    def ended(watch: ApprovalWatch) -> ApprovalWatch:
        names = [name for name in watch.running if name.startswith(start)]
        return watch.after(names, look.marks).after_scan(look)

    return _newly_doubted(*_update(root, ended), look.marks)


def _newly_doubted(
    before: ApprovalWatch, after: ApprovalWatch, marks: list[ApprovalKey]
) -> list[ApprovalKey]:
    new = set(after.doubted).difference(before.doubted)
    return [one for one in marks if one.key in new]


def confirm_approval(root: str, key: str) -> None:
    """Record that a person confirms an approval."""

    def confirmed(watch: ApprovalWatch) -> ApprovalWatch:
        return replace(watch, confirmed=[*watch.confirmed, key][-MAX_CONFIRMED:])

    _update(root, confirmed)


def _update(
    root: str, change: Callable[[ApprovalWatch], ApprovalWatch]
) -> tuple[ApprovalWatch, ApprovalWatch]:
    """Change the stored state; return the state before and after."""
    with state_folder(root) as folder, folder.lock(FILE):
        before = _decode(folder.read(FILE, MAX_BYTES))
        after = change(before)
        if after != before:
            folder.write(FILE, msgspec.json.encode(after), lasting=False)
        return before, after


def _decode(data: bytes | None) -> ApprovalWatch:
    try:
        return ApprovalWatch() if data is None else msgspec.json.decode(data, type=ApprovalWatch)
    except msgspec.MsgspecError:
        return ApprovalWatch(nothing_counts=True)
