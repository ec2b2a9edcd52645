"""Decide an event and commit the decision together with the session that results.

stamp → observe → decide (gather missing facts and repeat) → fold → commit
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.engine.causes import denial_message
from bylaw.engine.decide import decide_observed
from bylaw.engine.plan import Due, next_step
from bylaw.model.decision import Decision, Needs
from bylaw.model.fold import conclude, fold, is_told_again, observe
from bylaw.runtime.clock import now_ms
from bylaw.runtime.journal.store import Entry
from bylaw.runtime.needs import Asking, decide_with_facts
from bylaw.runtime.owner import this_process

if TYPE_CHECKING:
    from bylaw.engine.index import RuleSet
    from bylaw.model.event import Event
    from bylaw.model.session import Session
    from bylaw.runtime.journal.redaction import Redactor
    from bylaw.runtime.journal.sources import RulesInForce
    from bylaw.runtime.journal.store import Debt, Journal
    from bylaw.runtime.needs import Gatherers

# The number used in place of a step for the answer to a denied call.
DENIAL = 0
# Other processes may change the session while facts are gathered; then facts are requested again.
MAX_TRIES = 100


class Recorder:
    """The active rules, a journal, and the code that gathers facts."""

    def __init__(
        self, rules: RuleSet, in_force: RulesInForce, journal: Journal, gatherers: Gatherers
    ) -> None:
        # Kept as a pair, so that a record never names other rules than those that decided.
        self._law = (rules, in_force)
        self._journal = journal
        self._gatherers = gatherers

    def renew(self, rules: RuleSet, in_force: RulesInForce) -> None:
        """Use these rules from now on."""
        self._law = (rules, in_force)

    def preview(self, event: Event) -> Decision:
        """Decide an event without recording it; a moment later the decision may differ."""
        session = self._journal.session(event.session)
        stamped = replace(event, seq=session.seq + 1, at=max(session.at, now_ms()))
        return decide_with_facts(self._law[0], session, stamped, self._gatherers)[1]

    def record(
        self, event: Event, owes: Debt | None = None, pays: Debt | None = None
    ) -> tuple[Event, Decision]:
        """Decide an event and commit it; missing facts are gathered outside the transaction.

        `owes` and `pays` change the table `owed` in the same transaction.
        """
        # Set the time once: a script that reads it must not differ with each try.
        event = replace(event, at=now_ms())
        asking, seen = Asking(), -1
        for tries in count(1):
            rules, in_force = self._law
            desk = _Desk(rules, self._journal.redactor, event, owes, pays)
            self._journal.transact(event.session, in_force, desk.judge)
            if desk.decision is not None:
                return desk.event, desk.decision
            if desk.seen != seen and tries < MAX_TRIES:
                # Another process changed the session, so count its requests from zero.
                asking, seen = Asking(), desk.seen
            event = asking.answered(event, desk.missing.needs, self._gatherers)
        raise AssertionError("the number of requests for facts is limited")


def is_open(event: Event, decision: Decision) -> bool:
    """Check whether a recorded decision is unfinished: steps to perform, or a denial to report."""
    if decision.plans and isinstance(next_step(decision), Due):
        return True
    return denial_message(event, decision) is not None


class _Desk:
    """One try to decide an event with the current session."""

    __slots__ = ("_debts", "_redactor", "_rules", "decision", "event", "missing", "seen")

    def __init__(
        self,
        rules: RuleSet,
        redactor: Redactor,
        event: Event,
        owes: Debt | None,
        pays: Debt | None,
    ) -> None:
        self._rules = rules
        self._redactor = redactor
        self._debts = (owes, pays)
        self.event = event
        self.decision: Decision | None = None

    def judge(self, session: Session, seq: int) -> Entry | None:
        event = replace(self.event, seq=seq, at=max(session.at, self.event.at))
        observed = observe(session, event)
        again = is_told_again(session, event)
        answer = Decision() if again else decide_observed(self._rules, observed, event)
        if isinstance(answer, Needs):
            self.missing, self.seen = answer, session.seq
            return None
        self.event, self.decision = event, answer
        owner = this_process() if is_open(event, answer) else ""
        owes, pays = self._debts
        if owes is None and denial_message(event, answer) is not None:
            owes = (seq, DENIAL)
        kept_event, kept_decision = self._redactor.event(event), self._redactor.decision(answer)
        if kept_event is event and kept_decision is answer:
            return Entry(
                event, answer, conclude(observed, event, answer), owner=owner, owes=owes, pays=pays
            )
        folded = fold(session, kept_event, kept_decision)
        return Entry(
            kept_event, kept_decision, folded, redacted=True, owner=owner, owes=owes, pays=pays
        )
