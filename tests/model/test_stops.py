"""Blocked stops."""

import pytest
from folding import ALLOW, after
from msgspec.structs import replace

from bylaw.model.decision import Decision, Plan, Reason
from bylaw.model.effects import EntryWrite
from bylaw.model.event import AgentStop, TurnStart
from bylaw.model.facts import Entry, WorkFacts
from bylaw.model.fold import fold
from bylaw.model.session import (
    MAX_BLOCKED,
    MAX_BLOCKED_AS_ONE,
    MAX_VIOLATIONS,
    Session,
    release_record,
    violations,
)
from bylaw.model.vocabulary import EntryStatus, Verdict

# Digests that were made before each violation was counted for itself.
ONE_AS_BEFORE = "fef21149a1c0c772e8ca621adaa55dc16461c3d715b4a0b1106547293e54bd45"
TWO_AS_BEFORE = "ad921a9434b0968d42167a43a55aea38e5b86c896bc1d302bddfb2c16f96c433"


class TestBlockedStops:
    def stop(self, digest="d", shown=0, **fields):
        entry = Entry(policy="p", status=EntryStatus.FAILED, digest=digest, shown=shown)
        return AgentStop(facts=WorkFacts(entries={"aa": entry, "bb": None}), each=True, **fields)

    def deny(self, text="because"):
        reason = Reason(rule="p", uid="u", file="p.md", line=1, verdict=Verdict.DENY, text=text)
        return Decision(verdict=Verdict.DENY, reasons=(reason,))

    def times(self, session, stop, decision):
        [digest] = violations(stop, decision)
        return session.blocked.find(digest).times

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

    def test_one_that_was_let_through_is_no_block(self):
        stop, deny = self.stop(), self.deny()
        session = after(stop, stop, stop, decision=deny)
        session = after(release_record(stop, [*violations(stop, deny)], 2), session=session)

        assert self.times(session, stop, deny) == 2
        assert after(release_record(stop, ["other"], 2), session=session).blocked == session.blocked

    def test_a_record_of_an_older_version_counts_as_it_did(self):
        """It names one violation, and nobody looked at whether it was the first."""
        stop, deny = self.stop(), self.deny()
        [digest] = violations(stop, deny)
        session = after(stop, stop, decision=deny)
        session = after(
            replace(release_record(stop, [], 1), result={"violation": digest}), session=session
        )

        [kept] = session.blocked.stops
        assert (kept.times, kept.let_through) == (1, False)

    def test_in_a_record_of_an_older_version_all_violations_of_a_stop_are_one(self):
        """It must fold to what it folded to when it was made: the digests are of that version."""
        stops = [replace(one, each=False) for one in (self.stop(), self.both("x"))]
        found = [
            violations(*one) for one in zip(stops, (self.deny(), self.deny_both()), strict=True)
        ]

        assert [[*one] for one in found] == [[ONE_AS_BEFORE], [TWO_AS_BEFORE]]
        assert [*violations(self.stop(), self.deny())] == [ONE_AS_BEFORE], "so a single one goes on"
        session = Session()
        for n in range(MAX_BLOCKED_AS_ONE + 5):
            session = fold(session, stops[0], self.deny(str(n)))
        assert len(session.blocked.stops) == MAX_BLOCKED_AS_ONE

    def both(self, digest, *, of="q"):
        """`p` stays as it is, while the entry of `q` changes."""
        entries = {
            "aa": Entry(policy="p", status=EntryStatus.QUEUED, digest="d"),
            "bb": Entry(policy=of, status=EntryStatus.QUEUED, digest=digest),
        }
        return AgentStop(facts=WorkFacts(entries=entries), each=True)

    def deny_both(self):
        p = self.deny().reasons[0]
        return Decision(verdict=Verdict.DENY, reasons=(p, replace(p, rule="q", uid="v")))

    def test_each_violation_is_counted_for_itself(self):
        session = Session()
        for n in range(4):
            session = fold(session, self.both(str(n)), self.deny_both())
        p, q = violations(self.both("3"), self.deny_both())

        assert session.blocked.find(p).times == 4
        assert session.blocked.find(q).times == 1

    def test_one_can_be_let_through_without_the_other(self):
        stop, deny = self.both("0"), self.deny_both()
        p, q = violations(stop, deny)
        session = after(stop, stop, decision=deny)
        session = after(release_record(stop, [p], 1), session=session)

        found = [session.blocked.find(one) for one in (p, q)]
        assert [(one.times, one.let_through) for one in found] == [(1, True), (2, False)]

    def test_an_entry_that_is_closed_with_the_decision_makes_no_difference(self):
        """It is gone at the next stop."""
        closed = EntryWrite(hash="bb", status=EntryStatus.SKIPPED, policy="p", baseline="")
        closing = Plan(uid="u", rule="p", steps=(closed,))
        first = replace(self.deny(), plans=(closing,))
        gone = AgentStop(
            facts=WorkFacts(entries={"aa": self.both("").facts.entries["aa"]}), each=True
        )

        assert [*violations(self.both("x", of="p"), first)] == [*violations(gone, self.deny())]

    def test_those_beyond_a_number_are_counted_together(self):
        """None pushes another out, however many there are."""
        one = self.deny().reasons[0]
        reasons = tuple(replace(one, uid=str(n)) for n in range(MAX_BLOCKED + 9))
        deny = Decision(verdict=Verdict.DENY, reasons=reasons)
        found = violations(self.stop(), deny)
        session = after(self.stop(), self.stop(), decision=deny)

        assert len(found) == MAX_VIOLATIONS + 1
        assert sum(len(of) for of in found.values()) == len(reasons)
        assert {session.blocked.find(digest).times for digest in found} == {2}

    def test_a_violation_that_never_blocked_is_not_kept(self):
        stop, deny = self.stop(), self.deny()
        session = after(stop, decision=deny)
        session = after(release_record(stop, [*violations(stop, deny)], 50), session=session)

        assert session.blocked.stops == ()

    @pytest.mark.parametrize(
        "result", [None, "x", {}, {"violation": 1}, {"violations": [1]}, {"violations": 1}]
    )
    def test_a_record_that_does_not_say_what_was_let_through_changes_nothing(self, result):
        session = after(self.stop(), decision=self.deny())
        effect = replace(release_record(self.stop(), ["d"], 1), result=result)

        assert after(effect, session=session).blocked == session.blocked

    def test_a_blocked_stop_leaves_the_turn_alone(self):
        session = after(TurnStart())

        assert after(self.stop(), session=session, decision=self.deny()).turns == session.turns

    def test_old_violations_are_forgotten(self):
        session = Session()
        for n in range(MAX_BLOCKED + 5):
            session = fold(session, self.stop(), self.deny(str(n)))

        assert len(session.blocked.stops) == MAX_BLOCKED
        assert self.times(session, self.stop(), self.deny("0")) == 0
