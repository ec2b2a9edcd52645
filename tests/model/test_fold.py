"""Turns, subagents, and what a decision leaves in the session."""

from folding import after, call, said

from bylaw.model.decision import Decision, Plan
from bylaw.model.effects import RulesEnable, StateSet
from bylaw.model.event import HistoryChanged, SessionEnd, ToolBefore, TurnEnd, TurnStart
from bylaw.model.fold import observe
from bylaw.model.session import Session, variable_space
from bylaw.model.vocabulary import Kind, Role


class TestTurns:
    def test_a_turn_is_completed_by_its_end(self):
        """CM-047, CM-A09, TR-062"""
        session = Session()

        assert session.turn == 1
        session = after(TurnStart(), session=session)
        assert session.turn == 1
        assert session.turns.open
        session = after(TurnEnd(), session=session)
        assert session.turn == 2
        assert not session.turns.open
        assert observe(session, TurnStart()).turn == 2

    def test_during_its_end_a_turn_is_not_yet_complete(self):
        """CM-047: at the first `turn_end` the index is 1."""
        assert observe(after(TurnStart()), TurnEnd()).turn == 1

    def test_a_start_completes_the_turn_that_it_finds_open(self):
        session = after(TurnStart())

        assert observe(session, TurnStart()).turn == 2
        assert after(TurnStart(), session=session).turn == 2

    def test_an_end_without_a_start_completes_a_turn_too(self):
        assert after(TurnEnd(), TurnEnd()).turn == 3

    def test_at_the_end_of_the_session_it_is_the_last_turn(self):
        """TR-A20"""
        assert after(TurnStart(), TurnEnd()).turn_during(Kind.SESSION_END) == 1
        assert after(TurnStart(), TurnEnd(), TurnStart()).turn_during(Kind.SESSION_END) == 2
        assert Session().turn_during(Kind.SESSION_END) == 1
        assert after(TurnStart(), TurnEnd()).turn_during(Kind.PROMPT) == 2

    def test_an_event_of_round_2_happened_in_round_1(self):
        session = after(TurnStart(), TurnStart(round=2))

        assert session.turn == 1
        assert after(TurnEnd(), TurnEnd(round=2), session=session).turn == 2


class TestSubagents:
    def test_its_calls_count_in_the_session(self):
        """A subagent counts its calls in the session, and nothing else."""
        session = after(ToolBefore(tool="Y", call="1", agent="a"), call("Y", agent="a", call="1"))

        assert session.count_calls("Y") == 1

    def test_its_turns_and_texts_are_its_own(self):
        before = after(TurnStart(), said(Role.USER, "mine"), call("t", result="mine"))
        session = after(
            TurnStart(agent="a"),
            said(Role.USER, "other", agent="a", tokens=999),
            HistoryChanged(length=0, tokens=0, agent="a"),
            TurnEnd(agent="a"),
            session=before,
        )

        assert session == before
        assert after(call("t", result="x", agent="a"), session=before).history == before.history


class TestDecisions:
    def plan(self, *steps, delivers=0):
        return Plan(uid="toml:a.toml#a", rule="a", steps=steps, delivers=delivers)

    def test_variables_and_enabled_sets_are_kept(self):
        """CM-087, TR-089"""
        space = variable_space("toml")
        steps = (StateSet(space=space, name="k", value=[1]), RulesEnable(responses=("r",)))
        session = after(TurnEnd(), decision=Decision(plans=(self.plan(*steps),)))

        assert session.slate.space(space) == {"k": [1]}
        assert session.slate.enabled.responses == ("r",)

    def test_a_firing_is_recorded_with_its_turn_and_time(self):
        """CM-067, CM-A15, CM-A16: at the end of turn 2 it fired in turn 2."""
        fired = Decision(fired=("toml:a.toml#a",))
        session = after(TurnEnd(at=10), TurnEnd(at=1000), decision=fired)
        firing = session.firings["toml:a.toml#a"]

        assert (firing.count, firing.turn, firing.at) == (2, 2, 1000)

    def test_time_never_goes_back(self):
        """CM-066"""
        session = after(TurnStart(seq=1, at=500), TurnEnd(seq=2, at=400), SessionEnd())

        assert (session.seq, session.at) == (2, 500)
