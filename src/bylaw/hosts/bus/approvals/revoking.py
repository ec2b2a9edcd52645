"""Check approvals right before a command starts, and end it if they are revoked while it runs.

The approvals that the rule needs are checked again before its command starts, and whenever a source
of approvals changes during the run (LD-A13, design 7.1).
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.engine.gates import is_open
from bylaw.engine.view import View
from bylaw.hosts.bus.messages.subjects import message_id
from bylaw.model.errors import BylawError
from bylaw.model.event import Bus
from bylaw.model.rule import ApprovalGate, CategoryGate
from bylaw.model.session import Session
from bylaw.model.vocabulary import ApprovalState
from bylaw.runtime.watched.cancellation import Cancellation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.model.event import Event
    from bylaw.model.facts import Approval
    from bylaw.model.rule import Gate, Rule

    # A message and its digest → its approvals now.
    ApprovalsOf = Callable[[str, str], tuple[Approval, ...]]

REVOKED = "its approval was revoked"


class Revocations:
    """The one command that this process runs, and the approvals that it needs."""

    def __init__(self, approvals: ApprovalsOf) -> None:
        self._approvals = approvals
        self._lock = Lock()
        self._running: tuple[Event, list[Rule], Cancellation] | None = None
        self._ending = Cancellation()

    def may_start(self, event: Event, rules: RuleSet, uid: str) -> bool:
        """Whether a rule has the approvals that it needs now."""
        return self._allowed(event, _lowered(rules, uid))

    @contextmanager
    def watching(self, event: Event, rules: RuleSet, uid: str) -> Iterator[Cancellation]:
        """Yield the cancellation that ends the command of the `with` block on revocation."""
        cancellation = Cancellation()
        with self._lock:
            self._running = (event, _lowered(rules, uid), cancellation)
        self.end_if_revoked()  # approvals may have changed since `may_start`
        if self._ending.cancelled:
            cancellation.cancel()
        try:
            yield cancellation
        finally:
            with self._lock:
                self._running = None

    def end_if_revoked(self) -> None:
        """End the running command if its approval is gone. Any thread may call this."""
        with self._lock:
            running = self._running
        if running is not None and not self._still_allowed(running[0], running[1]):
            running[2].cancel()

    def end(self) -> None:
        """End the running command and every later one. Safe in a signal handler."""
        self._ending.cancel()
        running = self._running
        if running is not None:
            running[2].cancel()

    def _still_allowed(self, event: Event, rules: list[Rule]) -> bool:
        try:
            return self._allowed(event, rules)
        except BylawError:
            return False  # approvals that cannot be read do not apply

    def _allowed(self, event: Event, rules: list[Rule]) -> bool:
        name = message_id(event)
        if not isinstance(event, Bus) or not name:
            return True
        approvals = self._approvals(name, event.digest)
        now = replace(event, facts=replace(event.facts, approvals=approvals))
        view = View.of(Session(id=event.session), now)
        rejected = any(one.state is ApprovalState.REVOKED for one in approvals)
        return any(_is_open(rule, view, rejected=rejected) for rule in rules)


def _lowered(rules: RuleSet, uid: str) -> list[Rule]:
    return [rule for rule in rules.rules() if rule.uid == uid]


def _is_open(rule: Rule, view: View, *, rejected: bool) -> bool:
    """Whether the gates of a rule allow the command now.

    A rejection ends even a command that needs no approval, such as an emergency.
    """
    approval = [gate for gate in rule.gates if isinstance(gate, ApprovalGate)]
    category = [gate for gate in rule.gates if isinstance(gate, CategoryGate)]
    if rejected and not approval:
        return False
    gates: list[Gate] = [*category, *approval]
    return all(is_open(gate, view) for gate in gates)
