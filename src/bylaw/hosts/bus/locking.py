"""Perform `lock.acquire` and `lock.release`. Each lock is owned by one execution of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.outcome import StepOutcome
from bylaw.hosts.bus.messages.subjects import subject
from bylaw.model.effects import LockAcquire, LockRelease
from bylaw.model.vocabulary import EffectStatus
from bylaw.runtime.locks import NotTaken

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.engine.plan import Due
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.locks import Lock, Locks

    # Called when a lock was taken over from a dead process.
    TellTakenOver = Callable[[Due, Event, str], None]

NOT_OURS = "this execution does not hold the lock; nothing was released"
LEFT_BEHIND = "released a lock that a dead process had left"


class LockKeeper:
    """The locks that this process holds, by event and key."""

    def __init__(self, locks: Locks, tell_taken_over: TellTakenOver) -> None:
        self._locks = locks
        self._tell_taken_over = tell_taken_over
        self._held: dict[tuple[int, str], Lock] = {}

    def acquire(self, due: Due, event: Event) -> StepOutcome:
        """Acquire a lock, or fail at once (LD-090)."""
        assert isinstance(due.step, LockAcquire)
        key, name = due.step.key, subject(event)
        got = self._locks.acquire(key, rule=due.plan.uid, msg_id=name)
        if isinstance(got, NotTaken):
            return StepOutcome(EffectStatus.FAILED, {"error": f"lock `{key}`: {got.why}"})
        self._held[event.seq, key] = got
        told: dict[str, JSON] = {"owner": got.token}
        if got.taken_from is not None:
            who = f"process {got.taken_from.pid} ({got.taken_from.msg_id or 'unknown message'})"
            note = f"took over the lock `{key}` of {who}, which is dead"
            told["note"] = note
            self._tell_taken_over(due, event, note)
        return StepOutcome(EffectStatus.OK, told)

    def release(self, due: Due, event: Event) -> StepOutcome:
        """Release a lock that this execution holds. Leave all others alone (LD-A25)."""
        assert isinstance(due.step, LockRelease)
        key = due.step.key
        lock = self._held.pop((event.seq, key), None)
        if lock is not None and self._locks.release(lock):
            return StepOutcome(EffectStatus.OK)
        # If the execution began in a process that died, the lock still names rule and message.
        cleared = self._locks.clear(key, rule=due.plan.uid, msg_id=subject(event))
        return StepOutcome(EffectStatus.OK, {"note": LEFT_BEHIND if cleared else NOT_OURS})
