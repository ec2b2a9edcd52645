"""Decide an event and commit the decision together with the session that results.

stamp → observe → decide (gather missing facts and repeat) → fold → commit

Also finishes plans whose process died. It is not known whether their next step had begun, so the
step has failed as `interrupted`, and the rest is performed.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.engine.decide import decide_observed
from bylaw.engine.plan import (
    INTERRUPTED,
    DueStep,
    StepOutcome,
    caused_event,
    denial_message,
    fill,
    next_step,
)
from bylaw.model.decision import Decision, Needs
from bylaw.model.fold import fold, fold_observed, is_repeated_report, observe
from bylaw.runtime.needs import NeedCounter, decide_with_facts
from bylaw.store.journal.errors import corrupt_journal
from bylaw.store.journal.journal import NO_OWNER, Entry
from bylaw.store.journal.records import MissingPayload, read_effects, read_stored_record
from bylaw.store.system import is_dead, now_ms, own_process_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.model.event import EffectDone, Event
    from bylaw.model.session import Session
    from bylaw.runtime.needs import Gatherers
    from bylaw.store.journal.journal import Debt, Journal, Redactor
    from bylaw.store.journal.records import ActiveRuleTexts

# The number used in place of a step for the answer to a denied call.
DENIAL = 0
# Other processes may change the session while facts are gathered; then facts are requested again.
MAX_TRIES = 100


class Recorder:
    """The active rules, a journal, and the code that gathers facts."""

    def __init__(
        self, rules: RuleSet, in_force: ActiveRuleTexts, journal: Journal, gatherers: Gatherers
    ) -> None:
        # Kept as a pair, so that a record never names other rules than those that decided.
        self._active_rules = (rules, in_force)
        self._journal = journal
        self._gatherers = gatherers

    def renew(self, rules: RuleSet, in_force: ActiveRuleTexts) -> None:
        """Use these rules from now on."""
        self._active_rules = (rules, in_force)

    def preview(self, event: Event) -> Decision:
        """Decide an event without recording it; a moment later the decision may differ."""
        session = self._journal.session(event.session)
        stamped = replace(event, seq=session.seq + 1, at=max(session.at, now_ms()))
        return decide_with_facts(self._active_rules[0], session, stamped, self._gatherers)[1]

    def record(
        self, event: Event, owes: Debt | None = None, pays: Debt | None = None
    ) -> tuple[Event, Decision]:
        """Decide an event and commit it; missing facts are gathered outside the transaction.

        `owes` and `pays` change the table `owed` in the same transaction.
        """
        # Set the time once: a script that reads it must not differ with each try.
        event = replace(event, at=now_ms())
        asking, seen = NeedCounter(), -1
        for tries in count(1):
            rules, in_force = self._active_rules
            desk = _DecisionAttempt(rules, self._journal.redactor, event, owes, pays)
            self._journal.transact(event.session, in_force, desk.judge)
            if desk.decision is not None:
                return desk.event, desk.decision
            if desk.seen != seen and tries < MAX_TRIES:
                # Another process changed the session, so count its requests from zero.
                asking, seen = NeedCounter(), desk.seen
            event = asking.answered(event, desk.missing.needs, self._gatherers)
        raise AssertionError("the number of requests for facts is limited")


def is_unfinished(event: Event, decision: Decision) -> bool:
    """Check whether a recorded decision is unfinished: steps to perform, or a denial to report."""
    if decision.plans and isinstance(next_step(decision), DueStep):
        return True
    return denial_message(event, decision) is not None


class _DecisionAttempt:
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
        again = is_repeated_report(session, event)
        answer = Decision() if again else decide_observed(self._rules, observed, event)
        if isinstance(answer, Needs):
            self.missing, self.seen = answer, session.seq
            return None
        self.event, self.decision = event, answer
        owner = own_process_name() if is_unfinished(event, answer) else ""
        owes, pays = self._debts
        if owes is None and denial_message(event, answer) is not None:
            owes = (seq, DENIAL)
        kept_event, kept_decision = self._redactor.event(event), self._redactor.decision(answer)
        if kept_event is event and kept_decision is answer:
            return Entry(
                event,
                answer,
                fold_observed(observed, event, answer),
                owner=owner,
                owes=owes,
                pays=pays,
            )
        folded = fold(session, kept_event, kept_decision)
        return Entry(
            kept_event, kept_decision, folded, redacted=True, owner=owner, owes=owes, pays=pays
        )


class UnfinishedPlan(Struct):
    """A decision whose plans are not finished, with the known results of its steps.

    Its plans continue only if they are what this machine decided: not if the record was redacted,
    and not if others may have written the journal.
    """

    event: Event
    decision: Decision
    outcomes: dict[int, StepOutcome]
    goes_on: bool

    def interrupted(self) -> DueStep | None:
        """Return the step that may have begun, and mark it as failed."""
        due = next_step(self.decision, self.outcomes)
        if not isinstance(due, DueStep):
            return None
        self.outcomes[due.number] = INTERRUPTED
        return due


def unfinished_plans(
    journal: Journal, session: str, given_up: Container[int]
) -> Iterator[UnfinishedPlan]:
    """Yield every unfinished decision of a session that no process works on, oldest first.

    Its process is dead, or it is this one: `given_up` are the decisions that this process could
    not finish because the journal failed.
    """
    for seq, owner in journal.open_plans(session):
        left = owner == NO_OWNER or seq in given_up or is_dead(owner)
        if not left or not journal.take_over(seq, owner):
            continue
        found = read_stored_record(journal, seq)
        if found is not None and found.lost is MissingPayload.DAMAGED:
            raise corrupt_journal(journal.path, f"record {seq} cannot be read")
        if found is None or found.record is None:  # payload erased: the plans are unknown
            journal.close_plans(seq)
            continue
        record = found.record
        effects = read_effects(journal, session, seq)
        certain = journal.matches_anchor and owner != NO_OWNER and not record.header.redacted
        yield UnfinishedPlan(record.event, record.decision, dict(_outcomes(effects)), certain)


def unrecorded_events(journal: Journal, left: UnfinishedPlan) -> Iterator[tuple[int, Event]]:
    """Yield by step the events that the decision caused and its dead process did not record."""
    owed = journal.owed(left.event.seq) if left.goes_on else set()
    denial = denial_message(left.event, left.decision)
    if denial is not None and DENIAL in owed:
        yield DENIAL, denial
    for plan, steps, _ in left.decision.numbered_plans():
        known: list[StepOutcome] = []
        for number, step in steps:
            event = caused_event(left.event, DueStep(number, plan, fill(step, known)))
            if event is not None and number in owed:
                yield number, event
            known += [left.outcomes[number]] if number in left.outcomes else []


def _outcomes(effects: Iterator[EffectDone]) -> Iterator[tuple[int, StepOutcome]]:
    for effect in effects:
        yield effect.step, StepOutcome(effect.status, effect.result)
