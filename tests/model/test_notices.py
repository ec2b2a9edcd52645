"""Notices."""

import pytest
from folding import after

from bylaw.model.decision import Decision, Plan
from bylaw.model.effects import MessageInsert, Notify
from bylaw.model.event import EffectDone, TurnEnd, TurnStart
from bylaw.model.vocabulary import DeliverAt, EffectStatus, Op, Role


class TestNotices:
    def plan(self, *steps, delivers=0):
        return Plan(uid="toml:a.toml#a", rule="a", steps=steps, delivers=delivers)

    def notify(self, deliver_at=DeliverAt.TURN_START):
        return Decision(plans=(self.plan(Notify(text="n", deliver_at=deliver_at)),))

    def deliver(self, number):
        insert = MessageInsert(role=Role.DEVELOPER, text="n")
        return Decision(plans=(self.plan(insert, delivers=number),))

    def test_a_notice_waits_until_it_is_delivered(self):
        """TR-080"""
        session = after(TurnEnd(seq=1), decision=self.notify())
        [notice] = session.notices.waiting

        assert (notice.number, notice.uid, notice.text) == (1, "toml:a.toml#a", "n")
        session = after(TurnStart(seq=2), session=session, decision=self.deliver(1))
        assert session.notices.waiting == ()

    def test_a_notice_can_leave_with_the_decision_that_made_it(self):
        """TR-082, TR-A23"""
        made = self.notify(DeliverAt.IMMEDIATE).plans
        both = Decision(plans=self.deliver(1).plans + made)

        assert after(TurnStart(), decision=both).notices.waiting == ()

    @pytest.mark.parametrize("status", list(EffectStatus))
    def test_a_notice_that_did_not_arrive_waits_again(self, status):
        session = after(TurnEnd(seq=1), TurnEnd(seq=2), decision=self.notify())
        waiting = session.notices.waiting
        session = after(TurnStart(seq=3), session=session, decision=self.deliver(1))
        effect = EffectDone(seq=4, of=3, step=1, op=Op.MESSAGE_INSERT, status=status)
        session = after(effect, session=session)
        back = status is not EffectStatus.OK

        assert session.notices.waiting == (waiting if back else waiting[1:])
        assert after(effect, session=session).notices == session.notices

    def test_numbers_of_notices_are_never_used_again(self):
        session = after(TurnEnd(), decision=self.notify())
        session = after(TurnStart(), session=session, decision=self.deliver(1))
        session = after(TurnEnd(), session=session, decision=self.notify())

        assert [notice.number for notice in session.notices.waiting] == [2]
