"""The bus as a host: performs steps as evidence, approval requests, locks and commands.

Each lock is owned by one execution of a plan. An approval request is a message in `input`, which
waits there for its addressee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.plan import StepOutcome
from bylaw.hosts.bus.evidence import (
    evidence_body,
    heading_fields,
    id_time,
    subject,
    subject_fields,
    write_evidence,
    write_message,
)
from bylaw.hosts.bus.statements import REVOKED
from bylaw.languages import law
from bylaw.languages.law.action_reader import WHITELIST
from bylaw.languages.law.messages import COMMAND
from bylaw.languages.law.syntax import Category, CommandType
from bylaw.model.display import clip_text, visible
from bylaw.model.effects import ApprovalRequest, BusWrite, LockAcquire, LockRelease
from bylaw.model.event import File
from bylaw.model.rule import message_field
from bylaw.model.vocabulary import Channel, EffectStatus, Op
from bylaw.runtime.effects import BUS
from bylaw.runtime.needs import NO_GATHERERS
from bylaw.runtime.sandbox.step import CommandLimits, CommandRunner
from bylaw.store.locks import LockRefusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.engine.plan import DueStep
    from bylaw.hosts.bus.active_rules import ActiveRules
    from bylaw.hosts.bus.folders import BusFolders
    from bylaw.hosts.bus.statements import Revocations
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.effects import Performers
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.sandbox.client import Cancellation
    from bylaw.store.journal.journal import Journal
    from bylaw.store.locks import Lock, Locks

    # Called when a lock was taken over from a dead process.
    TakeOverCallback = Callable[[DueStep, Event, str], None]


NOT_HELD = "this execution does not hold the lock; nothing was released"
LEFT_BEHIND = "released a lock that a dead process had left"


class HeldLocks:
    """The locks that this process holds, by event and key."""

    def __init__(self, locks: Locks, tell_taken_over: TakeOverCallback) -> None:
        self._locks = locks
        self._on_taken_over = tell_taken_over
        self._held: dict[tuple[int, str], Lock] = {}

    def acquire(self, due: DueStep, event: Event) -> StepOutcome:
        """Acquire a lock, or fail at once (LD-090)."""
        assert isinstance(due.step, LockAcquire)
        key, name = due.step.key, subject(event)
        got = self._locks.acquire(key, rule=due.plan.uid, msg_id=name)
        if isinstance(got, LockRefusal):
            return StepOutcome(EffectStatus.FAILED, {"error": f"lock `{key}`: {got.why}"})
        self._held[event.seq, key] = got
        told: dict[str, JSON] = {"owner": got.token}
        if got.taken_from is not None:
            who = f"process {got.taken_from.pid} ({got.taken_from.msg_id or 'unknown message'})"
            note = f"took over the lock `{key}` of {who}, which is dead"
            told["note"] = note
            self._on_taken_over(due, event, note)
        return StepOutcome(EffectStatus.OK, told)

    def release(self, due: DueStep, event: Event) -> StepOutcome:
        """Release a lock that this execution holds. Leave all others alone (LD-A25)."""
        assert isinstance(due.step, LockRelease)
        key = due.step.key
        lock = self._held.pop((event.seq, key), None)
        if lock is not None and self._locks.release(lock):
            return StepOutcome(EffectStatus.OK)
        # If the execution began in a process that died, the lock still names rule and message.
        cleared = self._locks.clear(key, rule=due.plan.uid, msg_id=subject(event))
        return StepOutcome(EffectStatus.OK, {"note": LEFT_BEHIND if cleared else NOT_HELD})


CREATED_BY = "bylaw"
MAX_TITLE = 200


def request_message(due: DueStep, event: Event) -> dict[str, JSON]:
    """Build a request with the phase and category of the event, and its id as origin (LD-106)."""
    step = due.step
    assert isinstance(step, ApprovalRequest)
    about = message_field(event, "title")
    title = f"Approval of {subject(event)}" + (f": {about}" if isinstance(about, str) else "")
    targets = message_field(event, "target_paths")
    return {
        "msg_id": _request_id(due, event),
        "msg_type": COMMAND,
        "command_type": CommandType.APPROVAL_REQUEST.value,
        "phase": _phase(event),
        # A file change has no category and runs like category A (LD-A31).
        "category": message_field(event, "category") or Category.A.value,
        "title": clip_text(visible(title), MAX_TITLE),
        "target_paths": [event.path] if isinstance(event, File) else targets or [],
        "approval_by": [step.to.value],
        "origin_ref": subject(event),
        "created_by": CREATED_BY,
        "notes": str(step.text),
    }


def _phase(event: Event) -> JSON:
    own = message_field(event, "phase")
    known = getattr(event.facts, "phase", None)
    return own if isinstance(own, int) else known if isinstance(known, int) else 0


def _request_id(due: DueStep, event: Event) -> str:
    """`YYYYMMDD_HHMMSS_bylaw_request-SEQ-STEP`, unique for each step."""
    return f"{id_time(event.at)}_{CREATED_BY}_request-{event.seq}-{due.number}"


BOUNDS = {law.name: CommandLimits(programs=frozenset(WHITELIST), in_roots=True)}


class BusHost:
    """Perform the steps of RULE_DSL rules. `written` has the evidence paths of one event."""

    name = BUS
    scribe = None

    def __init__(
        self,
        root: str,
        bus: BusFolders,
        journal: Journal,
        in_force: ActiveRules,
        revocations: Revocations,
        locks: Locks,
    ) -> None:
        self._root = root
        self._bus = bus
        self._journal = journal
        self._active_rules = in_force
        self._revocations = revocations
        self._locks = HeldLocks(locks, self._report_taken_over)
        self.written: list[str] = []

    @property
    def gatherers(self) -> Gatherers:
        """Empty: events of the bus carry all their facts."""
        return NO_GATHERERS

    @property
    def performers(self) -> Performers:
        """The function that performs each step."""
        return {
            Op.COMMAND_RUN: self._run,
            Op.LOCK_ACQUIRE: self._locks.acquire,
            Op.LOCK_RELEASE: self._locks.release,
            Op.BUS_WRITE: self._write,
            Op.APPROVAL_REQUEST: self._request,
        }

    def _run(self, due: DueStep, event: Event) -> StepOutcome:
        """Run a command. End it as soon as an approval that its rule needs is revoked."""
        revocations, rules, uid = self._revocations, self._active_rules.rules, due.plan.uid
        if not revocations.may_start(event, rules, uid):
            return StepOutcome(EffectStatus.REFUSED, {"error": REVOKED})
        with revocations.watch(event, rules, uid) as cancellation:
            outcome = self._runner(cancellation).perform(due, event)
        revoked = outcome.failed and not revocations.may_start(event, rules, uid)
        if revoked and isinstance(outcome.result, dict):
            return StepOutcome(outcome.status, outcome.result | {"error": REVOKED})
        return outcome

    def _runner(self, cancellation: Cancellation) -> CommandRunner:
        # Read settings and trust now: they may have changed since the last command.
        settings, trust = self._active_rules.settings.command, self._active_rules.trust
        return CommandRunner(self._root, settings, trust, BOUNDS, cancellation)

    def _write(self, due: DueStep, event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, BusWrite)
        body = evidence_body(event, due, str(step.text), self._root, self._journal)
        path = self._write_evidence(step.channel, due, event, body)
        return StepOutcome(EffectStatus.OK, {"result": path})

    def _request(self, due: DueStep, event: Event) -> StepOutcome:
        assert isinstance(due.step, ApprovalRequest)
        path = write_message(self._bus, request_message(due, event))
        return StepOutcome(EffectStatus.OK, {"result": path})

    def _report_taken_over(self, due: DueStep, event: Event, note: str) -> None:
        """Write evidence that a lock was taken over (LD-093)."""
        body = heading_fields(event, due.plan.rule, due.plan.uid, note) | subject_fields(event)
        self._write_evidence(Channel.ERROR, due, event, body)

    def _write_evidence(
        self, channel: Channel, due: DueStep, event: Event, body: dict[str, JSON]
    ) -> str:
        body["channel"] = channel.value
        path = write_evidence(self._bus, channel, subject(event), due.plan.rule, body)
        self.written.append(path)
        return path
