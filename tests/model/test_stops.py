"""Blocked stops."""

from folding import ALLOW, after

from bylaw.model.decision import Decision, Plan, Reason
from bylaw.model.event import (
    AgentStop,
    TurnStart,
)
from bylaw.model.facts import Entry, WorkFacts
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.stops import MAX_BLOCKED, stop_digest
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import EntryStatus


class TestBlockedStops:
    def stop(self, digest="d", shown=0, **fields):
        entry = Entry(policy="p", status=EntryStatus.FAILED, digest=digest, shown=shown)
        return AgentStop(facts=WorkFacts(entries={"aa": entry, "bb": None}), **fields)

    def deny(self, text="because"):
        reason = Reason(rule="p", uid="u", file="p.md", line=1, verdict=Verdict.DENY, text=text)
        return Decision(verdict=Verdict.DENY, reasons=(reason,))

    def times(self, session, stop, decision):
        return session.blocked.times(stop_digest(stop, decision))

    def test_an_unchanged_violation_is_counted(self):
        """`shown` grows with every block and does not make it another violation."""
        session = after(self.stop(shown=0), self.stop(shown=1), decision=self.deny())

        assert self.times(session, self.stop(shown=2), self.deny()) == 2
        assert self.times(session, self.stop(digest="other"), self.deny()) == 0
        assert self.times(session, self.stop(), self.deny("other")) == 0

    def test_a_stop_that_passed_is_not_counted(self):
        assert after(self.stop(), decision=ALLOW).blocked.stops == ()

    def test_both_rounds_of_a_stop_count_once(self):
        again = Plan(uid="u", rule="p", steps=(), again=True)
        first = Decision(verdict=Verdict.DENY, reasons=self.deny().reasons, plans=(again,))
        session = after(self.stop(), decision=first)
        session = after(self.stop(round=2), session=session, decision=self.deny())

        assert self.times(session, self.stop(), self.deny()) == 1

    def test_a_blocked_stop_leaves_the_turn_alone(self):
        session = after(TurnStart())

        assert after(self.stop(), session=session, decision=self.deny()).turns == session.turns

    def test_old_violations_are_forgotten(self):
        session = Session()
        for n in range(MAX_BLOCKED + 5):
            session = fold(session, self.stop(), self.deny(str(n)))

        assert len(session.blocked.stops) == MAX_BLOCKED
        assert self.times(session, self.stop(), self.deny("0")) == 0
