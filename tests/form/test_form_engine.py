"""What holds for every language: answers that must not change by a shortcut, and bounds."""

import msgspec
import pytest
from driving import Driven
from forms import CHATMD_RULES, PATHS, Check, Makes, Sets, book, group, insert, rule
from msgspec.structs import replace
from test_form_chatmd import chat

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.engine.plan import StepOutcome
from bylaw.hosts.python import Engine
from bylaw.model.calls import MAX_WAITING
from bylaw.model.decision import Match, Needs, TraceResult
from bylaw.model.effects import Log, Notify, StateSet
from bylaw.model.event import Message, Prompt, ToolAfter, ToolBefore, TurnStart
from bylaw.model.history import WINDOW_CHARS
from bylaw.model.session import Session, variable_space
from bylaw.model.vocabulary import CallStatus, DeliverAt, EffectStatus, Kind, Op, Role, Verdict

STEP = Kind.TOOL_BEFORE
WIDE = replace(CHATMD_RULES, budget=9)


def deciding(*rules, fast=True):
    return RuleSet([chat(*rules)], fast=fast)


@pytest.mark.parametrize("fast", [True, False])
def test_a_written_variable_is_read_by_later_guards_on_both_paths(fast):
    """CM-A53: both guards hold at the end, the second only because of the first."""
    writes = rule("writes", STEP, when="turn_index >= 1", steps=[Sets("n", "1")], line=1)
    reads = rule("reads", STEP, when="n == 1", verdict=Verdict.DENY, because="written", line=2)
    decision = decide(deciding(writes, reads, fast=fast), Session(), ToolBefore(tool="X"))

    assert decision.verdict is Verdict.DENY


def test_a_note_on_a_failed_guard_is_no_storm():
    """CM-A32: the note is a message, on which the same guard fails again."""
    failing = rule("failing", Kind.MESSAGE, when="n > 1", steps=[insert("never")])
    happened = Driven(chat(failing), most=50).submit(Message(role=Role.USER, text="hi"))

    assert len(happened.caused) == 1
    assert happened.caused[0].caused == []


def test_a_note_stands_in_the_trace():
    """P6: every effect has a line in the trace, and the reverse."""
    failing = rule("failing", STEP, when="n > 1", steps=[insert("never")])
    decision = decide(deciding(failing), Session(), ToolBefore(tool="X"))

    acted = {plan.uid for plan in decision.plans}
    assert acted == {line.uid for line in decision.trace if line.result is TraceResult.FIRED}
    assert set(decision.fired) == acted


def test_a_language_writes_to_its_own_variables_only():
    """P7"""
    foreign = Makes(Op.STATE_SET, lambda v, m: StateSet(space="toml:", name="n", value=1))
    decision = decide(deciding(rule("spy", STEP, steps=[foreign])), Session(), ToolBefore(tool="X"))

    assert not any(plan.uid.endswith("#spy") for plan in decision.plans)
    assert "foreign-variable" in decision.trace[0].detail


@pytest.mark.parametrize(
    "made",
    [lambda v, m: 5, lambda v, m: [Log(text="declared as a message")], lambda v, m: 1 / 0],
    ids=["no step", "another step", "crash"],
)
def test_a_maker_that_breaks_is_a_failed_step(made):
    broken = rule("broken", STEP, steps=[Makes(Op.MESSAGE_INSERT, made)])
    denies = rule("denies", STEP, verdict=Verdict.DENY, because="no", line=2)
    decision = decide(deciding(broken, denies), Session(), ToolBefore(tool="X"))

    assert decision.verdict is Verdict.DENY
    assert "step 1 failed" in decision.trace[0].detail


def test_a_check_that_asks_for_nothing_has_failed():
    empty = Check(lambda view: Needs(()))
    rules = deciding(rule("gate", STEP, when=empty, verdict=Verdict.DENY, because="no"))

    assert decide(rules, Session(), ToolBefore(tool="X")).verdict is Verdict.DENY


def test_no_notice_leaves_in_the_second_round_or_to_a_subagent():
    notice = Notify(text="soon", deliver_at=DeliverAt.IMMEDIATE)
    session = Driven(chat(rule("r", Kind.TURN_START, steps=[notice], dialect="chatmd")))
    session.submit(TurnStart(agent="sub"))

    assert len(session.session.notices.waiting) == 1
    later = decide(RuleSet([]), session.session, TurnStart(round=2))
    assert later.plans == ()


def test_no_notice_follows_a_call_that_never_happened():
    notice = Notify(text="then", deliver_at=DeliverAt.AFTER_TOOL)
    session = Driven(chat(rule("r", Kind.TURN_START, steps=[notice])))
    session.submit(TurnStart())
    denied = decide(RuleSet([]), session.session, ToolAfter(tool="X", status=CallStatus.DENIED))
    done = decide(RuleSet([]), session.session, ToolAfter(tool="X", status=CallStatus.OK))

    assert denied.plans == ()
    assert len(done.plans) == 1


def test_a_limit_counts_within_one_text():
    once = rule("once", Kind.PROMPT, dialect="context", once=True,
                when=Check(lambda view: None if view.line != "x" else Match()),
                verdict=Verdict.WARN, because="seen")  # fmt: skip
    decision = decide(RuleSet([book(group("commands", once))]), Session(), Prompt(text="x\nx\nx"))

    assert [reason.text for reason in decision.reasons] == ["seen"]


def test_waiting_notices_and_kept_texts_are_bounded():
    notice = Notify(text="x", deliver_at=DeliverAt.TURN_START)
    session = Driven(chat(rule("r", STEP, steps=[notice])), most=10_000)
    for _ in range(MAX_WAITING + 5):
        session.submit(ToolBefore(tool="X"))
    for _ in range(20):
        session.submit(Message(role=Role.USER, text="y" * (WINDOW_CHARS // 4)))

    assert len(session.session.notices.waiting) == MAX_WAITING
    assert session.session.notices.lost == 5
    assert sum(len(said.content) for said in session.session.history.messages) <= WINDOW_CHARS
    assert session.session.history.length >= 20


def test_the_trace_of_the_public_interface_is_a_tuple():
    decision = Engine([chat(rule("r", STEP, when="turn_index > 5"))]).decide(ToolBefore(tool="X"))

    assert isinstance(decision.trace, tuple)
    assert msgspec.json.decode(msgspec.json.encode(decision), type=type(decision)) == decision


class TestWritesBehindStepsThatMayFail:
    """CM-A39, CM-A53"""

    @staticmethod
    def session(status):
        steps = [insert("first"), Sets("n", "1")]
        outcome = StepOutcome(status)
        rules = (
            rule("writes", STEP, when="turn_index >= 1", steps=steps, line=1),
            rule("reads", STEP, when="n == 1", steps=[Log(text="seen")], line=2),
        )
        return Driven(chat(*rules, procedure=WIDE), perform=lambda step: outcome)

    def test_they_are_kept_when_their_turn_comes(self):
        session = self.session(EffectStatus.OK)
        session.submit(ToolBefore(tool="X"))

        assert session.session.slate.space(variable_space("chatmd", PATHS["chatmd"])) == {"n": 1}
        assert session.session.deferred.waiting == ()

    def test_they_are_dropped_with_the_rest_of_a_plan_that_failed(self):
        session = self.session(EffectStatus.FAILED)
        happened = session.submit(ToolBefore(tool="X"))

        assert ("reads", "fired") in happened.trace  # within the event they can be read at once
        assert session.session.slate.space(variable_space("chatmd", PATHS["chatmd"])) == {}
        assert session.session.deferred.waiting == ()

    def test_a_later_write_is_not_overtaken_by_an_earlier_one(self):
        late = rule("late", STEP, steps=[insert("first"), Sets("n", "1")], line=1)
        early = rule("early", STEP, steps=[Sets("n", "2")], line=2)
        session = Driven(chat(late, early, procedure=WIDE))
        session.submit(ToolBefore(tool="X"))

        assert session.session.slate.space(variable_space("chatmd", PATHS["chatmd"])) == {"n": 2}
