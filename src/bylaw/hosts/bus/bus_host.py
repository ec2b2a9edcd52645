"""The bus as a host: performs steps as evidence, approval requests, locks and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects import law
from bylaw.dialects.law.command_line import WHITELIST
from bylaw.engine.outcome import StepOutcome
from bylaw.hosts.bus.approvals.requests import request_message
from bylaw.hosts.bus.approvals.revoking import REVOKED
from bylaw.hosts.bus.locking import LockKeeper
from bylaw.hosts.bus.messages.evidence import write_evidence, write_message
from bylaw.hosts.bus.messages.evidence_body import evidence_of, heading, matter
from bylaw.hosts.bus.messages.subjects import subject
from bylaw.model.effects import ApprovalRequest, BusWrite
from bylaw.model.vocabulary import Channel, EffectStatus, Op
from bylaw.runtime.effects import BUS
from bylaw.runtime.needs import NO_GATHERERS
from bylaw.runtime.run_command import Bounds, CommandRunner

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.hosts.bus.approvals.revoking import Revocations
    from bylaw.hosts.bus.in_force import InForce
    from bylaw.hosts.bus.messages.folders import BusFolders
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.journal.store import Journal
    from bylaw.runtime.locks import Locks
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performers
    from bylaw.runtime.watched.cancellation import Cancellation

LOCKS = "runtime/locks"
BOUNDS = {law.name: Bounds(programs=frozenset(WHITELIST), in_roots=True)}


class BusHost:
    """Perform the steps of RULE_DSL rules. `written` has the evidence paths of one event."""

    name = BUS
    scribe = None

    def __init__(
        self,
        root: str,
        bus: BusFolders,
        journal: Journal,
        in_force: InForce,
        revocations: Revocations,
        locks: Locks,
    ) -> None:
        self._root = root
        self._bus = bus
        self._journal = journal
        self._in_force = in_force
        self._revocations = revocations
        self._locks = LockKeeper(locks, self._tell_taken_over)
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

    def _run(self, due: Due, event: Event) -> StepOutcome:
        """Run a command. End it as soon as an approval that its rule needs is revoked."""
        revocations, rules, uid = self._revocations, self._in_force.rules, due.plan.uid
        if not revocations.may_start(event, rules, uid):
            return StepOutcome(EffectStatus.REFUSED, {"error": REVOKED})
        with revocations.watching(event, rules, uid) as cancellation:
            outcome = self._runner(cancellation).perform(due, event)
        revoked = outcome.failed and not revocations.may_start(event, rules, uid)
        if revoked and isinstance(outcome.result, dict):
            return StepOutcome(outcome.status, outcome.result | {"error": REVOKED})
        return outcome

    def _runner(self, cancellation: Cancellation) -> CommandRunner:
        # Read settings and trust now: they may have changed since the last command.
        settings, trust = self._in_force.settings.command, self._in_force.trust
        return CommandRunner(self._root, settings, trust, BOUNDS, cancellation)

    def _write(self, due: Due, event: Event) -> StepOutcome:
        step = due.step
        assert isinstance(step, BusWrite)
        body = evidence_of(event, due, str(step.text), self._root, self._journal)
        path = self._evidence(step.channel, due, event, body)
        return StepOutcome(EffectStatus.OK, {"result": path})

    def _request(self, due: Due, event: Event) -> StepOutcome:
        assert isinstance(due.step, ApprovalRequest)
        path = write_message(self._bus, request_message(due, event))
        return StepOutcome(EffectStatus.OK, {"result": path})

    def _tell_taken_over(self, due: Due, event: Event, note: str) -> None:
        """Write evidence that a lock was taken over (LD-093)."""
        body = heading(event, due.plan.rule, due.plan.uid, note) | matter(event)
        self._evidence(Channel.ERROR, due, event, body)

    def _evidence(self, channel: Channel, due: Due, event: Event, body: dict[str, JSON]) -> str:
        body["channel"] = channel.value
        path = write_evidence(self._bus, channel, subject(event), due.plan.rule, body)
        self.written.append(path)
        return path
