"""Chains of causes in the common form: no storm, no rule answers itself, nothing below depth 8."""

import pytest
from driving import Driven, assert_replays
from forms import Check, book, group, insert, rule

from bylaw.engine.plan import MAX_CHAIN
from bylaw.model.decision import Match
from bylaw.model.effects import EventEmit, ToolCall
from bylaw.model.event import Custom, Message, ToolBefore
from bylaw.model.vocabulary import Kind, Role, Verdict


def chat(*rules):
    return book(group("rules", *rules))


class TestInsertOnMessage:
    """CM-107, CM-A32"""

    def test_one_insert_for_each_message_from_outside(self):
        echo = rule("echo", Kind.MESSAGE, steps=[insert("noted")])
        session = Driven(chat(echo))
        said = session.submit(Message(role=Role.USER, text="hi"))
        [noted] = said.caused

        assert said.verdict is noted.verdict is Verdict.ALLOW
        assert said.steps == [("echo", insert("noted"))]
        assert said.trace == [("echo", "fired")]
        assert noted.event.cause == (echo.uid,)
        assert noted.trace == [("echo", "suppressed")]
        assert noted.details == ["steps suppressed: the rule caused this event"]
        assert noted.steps == noted.caused == []
        assert session.session.history.length == 2
        assert session.session.firings[echo.uid].count == 1
        session.submit(Message(role=Role.USER, text="again"))
        assert session.session.history.length == 4
        assert_replays(session)

    def test_two_rules_answer_each_other_once(self):
        ping = rule("ping", Kind.MESSAGE, when="last_role == 'user'", steps=[insert("ping")])
        pong = rule("pong", Kind.MESSAGE, when="last_role == 'developer'", steps=[insert("pong")])
        session = Driven(chat(ping, pong))
        said = session.submit(Message(role=Role.USER, text="hi"))
        [first] = said.caused
        [second] = first.caused

        assert second.event.cause == (ping.uid, pong.uid)
        assert second.trace == [("ping", "guard_false"), ("pong", "suppressed")]
        assert second.caused == []
        assert_replays(session)


class TestARuleThatDeniesACallWhichItCausedItself:
    """Invariant 6: its steps are suppressed, its verdict counts."""

    def test_the_caused_call_is_refused(self):
        stubborn = rule(
            "stubborn",
            Kind.TOOL_BEFORE,
            verdict=Verdict.DENY,
            because="not so",
            steps=[ToolCall(tool="safer")],
        )
        session = Driven(chat(stubborn))
        call = session.submit(ToolBefore(tool="rm", call="c1"))
        [safer, *answers] = call.caused

        assert safer.event.tool == "safer"
        assert safer.verdict is Verdict.DENY
        assert safer.reasons == [("stubborn", "not so")]
        assert safer.trace == [("stubborn", "fired")]
        assert safer.details == ["steps suppressed: the rule caused this event"]
        assert safer.steps == []
        assert call.done == [(ToolCall(tool="safer"), "refused")]
        # Each denied call is answered once; the answers have no rule twice in their chains.
        assert [a.event.text for a in (*answers, *safer.caused)] == ["not so", "not so"]
        assert {a.event.cause for a in (*answers, *safer.caused)} == {(stubborn.uid,)}
        assert session.session.count_used("safer") == 0
        assert_replays(session)


class TestACallThatManyRulesDeny:
    """The answer's cause are the denying rules, and still no chain is longer than 8."""

    def test_the_chain_of_the_answer_is_full(self):
        rules = [rule(f"no-{n}", Kind.TOOL_BEFORE, line=n, verdict=Verdict.DENY) for n in range(9)]
        echo = rule("echo", Kind.MESSAGE, steps=[insert("noted")])
        session = Driven(chat(*rules, echo))
        call = session.submit(ToolBefore(tool="rm"))
        [answer] = call.caused

        assert len(call.reasons) == 9
        assert answer.event.text.count("\n") == 8
        assert answer.event.cause == tuple(one.uid for one in rules[:MAX_CHAIN])
        assert answer.done == [(insert("noted"), "refused")]
        assert_replays(session)


def link(number):
    """A rule that answers event `number` with event `number + 1`."""

    def test(view):
        return Match() if view.event.type == str(number) else None

    return rule(
        f"link-{number}",
        Kind.CUSTOM,
        dialect="toml",
        when=Check(test),
        steps=[EventEmit(type=str(number + 1))],
    )


class TestAChainOfDepth9:
    @pytest.mark.parametrize("fast", [True, False])
    def test_the_ninth_step_is_refused(self, fast):
        """TR-A24"""
        session = Driven(book(group("toml", *(link(n) for n in range(12)))), fast=fast)
        happened = session.submit(Custom(type="0"))
        depth = 0
        while happened.caused:
            [happened] = happened.caused
            depth += 1
            assert len(happened.event.cause) == depth

        assert depth == MAX_CHAIN == 8
        # The ninth rule was asked and fired; its step was not performed, and that is on record. So
        # it is not used up (CM-A14).
        assert happened.event.type == "8"
        assert happened.verdict is Verdict.ALLOW
        assert ("link-8", "fired") in happened.trace
        assert len(session.session.firings) == 8
        assert [plan.rule for plan in happened.decision.plans] == ["link-8"]
        assert happened.done == [(EventEmit(type="9"), "refused")]
        assert "at most 8" in happened.ending.failures[0].outcome.result["error"]
        assert [e.type for e, _ in session.record if e.kind is Kind.CUSTOM] == list("012345678")
        assert_replays(session)
