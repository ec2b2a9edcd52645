"""Which calls count, and when."""

import pytest
from folding import ALLOW, DENY, after, call

from bylaw.model.calls import MAX_PENDING
from bylaw.model.decision import Decision
from bylaw.model.event import ToolBefore, TurnEnd, TurnStart
from bylaw.model.fold import observe
from bylaw.model.history import WINDOW
from bylaw.model.session import Session
from bylaw.model.vocabulary import CallStatus, Verdict


class TestCalls:
    def test_executed_calls_count_also_when_they_failed(self):
        """CM-055, CM-056, CM-A18, TR-063"""
        session = after(call("Y"), call("Y", CallStatus.ERROR), call("Y", CallStatus.TIMEOUT))

        assert session.count_calls("Y") == 3
        assert session.ever_called("Y")
        assert not session.ever_called("X")
        assert session.calls.all.count == 3
        assert session.calls.failures == {"Y": 2}
        assert session.calls.total_failures == 2

    @pytest.mark.parametrize("status", [CallStatus.DENIED, CallStatus.CANCELLED])
    def test_what_never_happened_does_not_count(self, status):
        """CM-055, CM-056"""
        session = after(ToolBefore(tool="Y", call="c"), call("Y", status, call="c"))

        assert session.count_used("Y") == 0
        assert not session.ever_called("Y")
        assert session.calls.tools == ()

    def test_the_current_call_is_counted_while_its_end_is_decided(self):
        assert observe(Session(), call("Y")).count_calls("Y") == 1

    def test_called_since(self):
        """CM-057, CM-A17"""
        session = after(*([TurnEnd()] * 3), call("Y"), TurnEnd())

        assert session.turn == 5
        assert session.called_since("Y", 1)
        assert not session.called_since("Y", 0)
        assert not after(TurnEnd(), session=session).called_since("Y", 1)
        assert not session.called_since("X", 99)

    def test_every_name_counts_once(self):
        session = after(call("Bash", also=("shell", "shell", "Bash")))

        assert (session.count_calls("Bash"), session.count_calls("shell")) == (1, 1)
        assert session.calls.all.count == 1

    def test_names_known_at_the_beginning_count_at_the_end(self):
        session = after(ToolBefore(tool="Bash", also=("shell",), call="c"), call("Bash", call="c"))

        assert session.count_calls("shell") == 1

    def test_a_call_is_pending_until_it_ends(self):
        """Quotas count it, `count_calls` does not."""
        session = after(ToolBefore(tool="Y", call="c1"), ToolBefore(tool="Y", call="c2"))

        assert (session.count_calls("Y"), session.count_used("Y")) == (0, 2)
        assert session.count_used_in_turn("Y") == 2
        assert session.used_since("Y", 0)
        session = after(call("Y", call="c1"), session=session)
        assert (session.count_calls("Y"), session.count_used("Y")) == (1, 2)

    @pytest.mark.parametrize("verdict", [Verdict.DENY, Verdict.HALT])
    def test_a_call_that_may_not_run_is_not_pending(self, verdict):
        session = after(ToolBefore(tool="Y"), decision=Decision(verdict=verdict))

        assert session.count_used("Y") == 0

    def test_a_call_that_a_person_decides_on_is_pending(self):
        session = after(ToolBefore(tool="Y"), decision=Decision(verdict=Verdict.ASK))

        assert session.count_used("Y") == 1

    def test_calls_without_an_id_are_matched_by_tool(self):
        session = after(ToolBefore(tool="X"), ToolBefore(tool="Y"), call("Y"))

        assert [pending.tool for pending in session.calls.pending] == ["X"]
        assert session.count_calls("Y") == 1

    def test_a_call_announced_twice_is_one_call(self):
        assert after(*[ToolBefore(tool="Y", call="c")] * 2).count_used("Y") == 1

    def test_the_stronger_verdict_of_both_rounds_stands(self):
        first, second = ToolBefore(tool="Y", call="c"), ToolBefore(tool="Y", call="c", round=2)

        assert after(second, session=after(first), decision=ALLOW).count_used("Y") == 1
        assert after(second, session=after(first), decision=DENY).count_used("Y") == 0
        assert after(second, session=after(first, decision=DENY)).count_used("Y") == 0

    def test_what_is_pending_at_the_end_of_its_turn_is_a_call(self):
        session = after(TurnStart(), ToolBefore(tool="Y", call="c"), TurnEnd())

        assert (session.count_calls("Y"), session.calls.pending) == (1, ())
        assert session.calls.tally("Y").last_turn == 1
        assert session.calls.tools[-1].success is None

    def test_its_late_end_does_not_count_again(self):
        session = after(TurnStart(), ToolBefore(tool="Y", call="c"), TurnStart())
        session = after(call("Y", CallStatus.ERROR, call="c", result="r"), session=session)

        assert session.count_calls("Y") == session.calls.all.count == 1
        assert session.calls.failures == {"Y": 1}
        assert (session.calls.tools[-1].result, session.calls.tools[-1].success) == ("r", False)
        assert after(call("Y", call="other"), session=session).count_calls("Y") == 2

    def test_calls_of_the_current_turn(self):
        """Quotas of a turn begin anew with it."""
        session = after(call("Y"), call("Y"))

        assert session.count_used_in_turn("Y") == 2
        session = after(TurnEnd(), session=session)
        assert session.count_used_in_turn("Y") == 0
        assert after(call("Y"), session=session).count_used_in_turn("Y") == 1

    def test_the_window_of_calls(self):
        """TR-A18: name, arguments, result, success, timestamp; arguments of the beginning."""
        session = after(
            ToolBefore(tool="Y", args={"a": 1}, call="c", at=5),
            call("Y", call="c", result={"b": 2}, at=9),
        )
        [use] = session.calls.tools

        assert (use.name, use.arguments, use.result, use.success, use.timestamp) == (
            "Y",
            {"a": 1},
            {"b": 2},
            True,
            9,
        )

    def test_windows_are_bounded_and_totals_are_not(self):
        session = after(*(call("Y") for _ in range(WINDOW + 10)))

        assert len(session.calls.tools) == WINDOW
        assert session.calls.all.count == WINDOW + 10

    def test_calls_that_never_end_do_not_pile_up(self):
        session = after(*(ToolBefore(tool="Y", call=f"c{n}") for n in range(MAX_PENDING + 5)))

        assert len(session.calls.pending) == MAX_PENDING
        assert session.count_calls("Y") == 5
        assert session.count_used("Y") == MAX_PENDING + 5
