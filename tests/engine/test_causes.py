"""What decisions bring about."""

import pytest

from bylaw.engine.plan import (
    MAX_CHAIN,
    TOO_DEEP,
    DueStep,
    caused_event,
    chain,
    denial_message,
    is_too_deep,
    second_round,
)
from bylaw.model.decision import Decision, Plan, Reason
from bylaw.model.effects import (
    AgentRun,
    EventEmit,
    HistoryCompact,
    Log,
    MessageInsert,
    Notify,
    ToolCall,
)
from bylaw.model.event import UNSTAMPED, AgentStop, Bus, Custom, Message, ToolBefore, TurnStart
from bylaw.model.facts import Approval, Changes, LawFacts, Principal, ToolFacts, WorkFacts
from bylaw.model.vocabulary import ApprovalState, EffectStatus, Op, Role, Verdict

RULE = "chatmd:a.chatmd#r"
OTHER = "chatmd:a.chatmd#s"
CAUSING = ["message.insert", "event.emit", "tool.call", "agent.run", "history.compact"]


def due(step, number=3):
    return DueStep(number, Plan(uid=RULE, rule="r", steps=(step,)), step)


def denied(*reasons, verdict=Verdict.DENY):
    made = [
        Reason(rule="r", uid=uid, file="a.chatmd", line=1, verdict=each, text=text)
        for uid, each, text in reasons
    ]
    return Decision(verdict=verdict, reasons=tuple(made))


class TestCausedEvent:
    event = TurnStart(seq=7, at=5, session="s", agent="sub", actor="me", cause=(OTHER,))

    def test_an_insert_causes_a_message(self):
        caused = caused_event(self.event, due(MessageInsert(role=Role.DEVELOPER, text="{x}")))

        assert caused == Message(
            session="s", agent="sub", cause=(OTHER, RULE), role=Role.DEVELOPER, text="{x}"
        )

    def test_an_emit_causes_a_custom_event(self):
        """TR-090"""
        caused = caused_event(self.event, due(EventEmit(type="t", payload={"a": [1]})))

        assert caused == Custom(
            session="s", agent="sub", cause=(OTHER, RULE), type="t", payload={"a": [1]}
        )

    def test_a_call_is_judged_like_one_of_the_model(self):
        """CM-142"""
        caused = caused_event(self.event, due(ToolCall(tool="Bash", args={"command": "ls"})))

        assert isinstance(caused, ToolBefore)
        assert (caused.tool, caused.args) == ("Bash", {"command": "ls"})
        assert caused.call == "rule-7-3"
        assert caused.cause == (OTHER, RULE)

    @pytest.mark.parametrize(
        "step",
        [
            HistoryCompact(keep="system", strategy="summary"),
            AgentRun(src="a.chatmd"),
            Log(text="x"),
            Notify(text="x"),
        ],
        ids=lambda step: step.op,
    )
    def test_other_steps_cause_nothing_by_themselves(self, step):
        assert caused_event(self.event, due(step)) is None

    def test_it_is_not_stamped_and_starts_with_round_1(self):
        event = TurnStart(seq=7, at=5, round=2, tokens=9)
        caused = caused_event(event, due(MessageInsert(role=Role.USER, text="x")))

        assert caused == Message(cause=(RULE,), role=Role.USER, text="x")

    def test_facts_that_no_plan_changes_go_with_it(self):
        """A rule that is switched off stays off on caused events."""
        facts = WorkFacts(
            disabled=("toml:a.toml#a",),
            token_budget=5,
            user=Principal(id="u"),
            changes=Changes(),
            entries={"h": None},
            unknown=("changes:base",),
        )
        kept = {"disabled": ("toml:a.toml#a",), "token_budget": 5, "user": Principal(id="u")}
        event = AgentStop(facts=facts)

        message = caused_event(event, due(MessageInsert(role=Role.USER, text="x")))
        assert message.facts == WorkFacts(**kept)
        assert caused_event(event, due(ToolCall(tool="x"))).facts == ToolFacts(**kept)


class TestChain:
    @pytest.mark.parametrize("op", [op for op in Op if op != "answer"])
    def test_a_step_may_cause_an_event_at_depth_8_and_not_at_9(self, op):
        """CM-A32, CM-107"""
        seventh = TurnStart(cause=tuple("abcdefg"))
        eighth = TurnStart(cause=tuple("abcdefgh"))

        assert len(chain(seventh, "h")) == MAX_CHAIN == 8
        assert not is_too_deep(seventh, op)
        assert is_too_deep(eighth, op) == (op in CAUSING)

    def test_a_step_that_is_too_deep_is_refused(self):
        assert TOO_DEEP.status is EffectStatus.REFUSED
        assert TOO_DEEP.failed

    def test_no_rule_stands_in_a_chain_twice(self):
        assert chain(TurnStart(cause=("a", "b")), "b", "c") == ("a", "b", "c")


class TestDenial:
    call = ToolBefore(tool="Bash", call="c1", session="s", agent="sub", cause=("x",))

    def test_the_reasons_are_the_answer_and_the_denying_rules_its_cause(self):
        """CM-120, CM-A37"""
        decision = denied(
            (RULE, Verdict.DENY, "first"),
            (OTHER, Verdict.WARN, "only a note"),
            (OTHER, Verdict.DENY, "second"),
        )

        assert denial_message(self.call, decision) == Message(
            session="s",
            agent="sub",
            role=Role.TOOL,
            text="first\nsecond",
            cause=("x", RULE, OTHER),
        )

    def test_a_rule_that_denies_a_call_which_it_caused_stands_in_the_chain_once(self):
        call = ToolBefore(tool="Bash", cause=(RULE,))

        assert denial_message(call, denied((RULE, Verdict.DENY, "no"))).cause == (RULE,)

    def test_a_denied_call_is_answered_at_any_depth(self):
        call = ToolBefore(tool="Bash", cause=tuple("abcdefgh"))
        message = denial_message(call, denied((RULE, Verdict.DENY, "no")))

        assert message.text == "no"
        assert is_too_deep(message, Op.MESSAGE_INSERT)

    @pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.DENY])
    def test_no_other_verdict_has_such_an_answer(self, verdict):
        assert denial_message(self.call, denied((RULE, verdict, "r"), verdict=verdict)) is None

    def test_only_calls_are_answered(self):
        assert denial_message(AgentStop(), denied((RULE, Verdict.DENY, "r"))) is None


class TestSecondRound:
    again = Decision(plans=(Plan(uid=RULE, rule="r", steps=(), again=True),))

    def test_the_same_event_comes_again_with_facts_to_gather_anew(self):
        facts = WorkFacts(changes=Changes(), entries={}, disabled=("a",), unknown=("changes:base",))
        event = AgentStop(seq=3, at=9, text="bye", cause=("x",), facts=facts)

        assert second_round(event, self.again) == AgentStop(
            seq=UNSTAMPED, text="bye", cause=("x",), round=2, facts=WorkFacts(disabled=("a",))
        )

    def test_approvals_are_looked_up_again(self):
        approval = Approval(id="m", authority="human", state=ApprovalState.GRANTED)
        event = Bus(message={}, facts=LawFacts(approvals=(approval,), phase=2))

        assert second_round(event, self.again).facts == LawFacts(phase=2)

    def test_there_is_no_third_round(self):
        assert second_round(AgentStop(round=2), self.again) is None

    def test_nobody_asked_for_it(self):
        assert second_round(AgentStop(), Decision()) is None

    def test_events_of_every_kind_can_come_again(self):
        assert second_round(TurnStart(), self.again) == TurnStart(round=2)
