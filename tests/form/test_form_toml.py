"""TOML rules in the common form: notices that wait, scripts that are killed."""

from driving import Driven, assert_replays
from forms import CHATMD_POLICY, Check, book, group, insert, rule
from msgspec.structs import replace
from msgspec.structs import replace as changed

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.engine.plan import StepOutcome
from bylaw.model.decision import Match, Need, NeedName, Needs
from bylaw.model.effects import Log, Notify
from bylaw.model.errors import GuardError
from bylaw.model.event import SessionEnd, ToolAfter, ToolBefore, TurnStart
from bylaw.model.facts import Facts, ScriptResult
from bylaw.model.session import Session
from bylaw.model.vocabulary import (
    CallStatus,
    DeliverAt,
    EffectStatus,
    Kind,
    Level,
    Priority,
    Verdict,
)


def notice(text, priority=Priority.NORMAL, deliver_at=DeliverAt.AFTER_TOOL):
    return Notify(text=text, priority=priority, deliver_at=deliver_at)


def toml(*rules):
    return book(group("toml", *rules))


AFTER = ToolAfter(tool="ls", status=CallStatus.OK)


class TestANoticeAfterToolFiredAtTurnStart:
    """TR-081, TR-A23"""

    rules = (
        rule("low", Kind.TURN_START, dialect="toml", once=True, steps=[notice("b", Priority.LOW)]),
        rule(
            "high", Kind.TURN_START, dialect="toml", once=True, steps=[notice("a", Priority.HIGH)]
        ),
    )

    def test_it_waits_for_the_next_tool_and_leaves_with_it(self):
        session = Driven(toml(*self.rules))
        start = session.submit(TurnStart())

        assert [rule_id for rule_id, _ in start.steps] == ["high", "low"]  # by id at equal priority
        assert start.verdict is Verdict.ALLOW
        assert start.trace == [("high", "fired"), ("low", "fired")]
        assert start.done == []
        assert [n.text for n in session.session.notices.waiting] == ["a", "b"]
        before = session.submit(ToolBefore(tool="ls"))
        assert before.steps == []
        after = session.submit(AFTER)
        assert after.verdict is Verdict.ALLOW
        assert after.trace == []  # no rule was asked: the notices speak for their own
        assert after.steps == [("high", insert("a")), ("low", insert("b"))]
        assert [plan.delivers for plan in after.decision.plans] == [1, 2]
        assert session.session.notices.waiting == ()
        assert session.submit(AFTER).steps == []
        assert_replays(session)

    def test_an_important_one_of_the_same_event_comes_first(self):
        urgent = rule(
            "urgent",
            Kind.TOOL_AFTER,
            dialect="toml",
            steps=[notice("now", Priority.CRITICAL, DeliverAt.IMMEDIATE)],
        )
        session = Driven(toml(*self.rules, urgent))
        session.submit(TurnStart())
        after = session.submit(AFTER)

        texts = [step.text for _, step in after.steps]
        assert texts == ["now", "a", "b", "now"]  # the deliveries, then the notify step itself
        assert session.session.notices.waiting == ()
        assert_replays(session)

    def test_what_was_not_delivered_waits_again(self):
        outcomes = iter([EffectStatus.NOT_CARRIED_OUT, EffectStatus.OK])
        session = Driven(toml(*self.rules), perform=lambda step: StepOutcome(next(outcomes)))
        session.submit(TurnStart())
        session.submit(AFTER)

        assert [n.text for n in session.session.notices.waiting] == ["a"]
        session.perform = lambda step: StepOutcome(EffectStatus.OK)
        assert session.submit(AFTER).steps == [("high", insert("a"))]
        assert_replays(session)

    def test_what_a_host_cannot_bring_is_not_tried_for_ever(self):
        """An outcome is no point of delivery, or each failure would cause the next attempt."""
        now = notice("now", deliver_at=DeliverAt.IMMEDIATE)
        once = rule("once", Kind.TURN_START, dialect="toml", once=True, steps=[now])
        refused = StepOutcome(EffectStatus.NOT_CARRIED_OUT)
        session = Driven(toml(once), perform=lambda step: refused)
        session.submit(TurnStart())

        assert [event.kind for event, _ in session.record] == [Kind.TURN_START, Kind.EFFECT]
        assert [n.text for n in session.session.notices.waiting] == ["now"]
        assert session.submit(AFTER).steps == [("once", insert("now"))]
        assert_replays(session)

    def test_what_is_left_at_the_end_is_reported(self):
        session = Driven(toml(self.rules[0]))
        session.submit(TurnStart())
        end = session.submit(SessionEnd())

        assert end.steps == [("low", Log(text="never delivered: b", level=Level.WARNING))]
        assert_replays(session)


DIGEST = "9f2c"


def script(view):
    """A Lua condition: its result comes as a fact."""
    result = view.fact(Need(NeedName.SCRIPTS, DIGEST))
    if result.value is True:
        return Match()
    if result.value is False:
        return None
    raise GuardError("script-failed", "the script was killed" if result.killed else "it failed")


class TestAScriptThatIsKilled:
    """TR-A34, TR-A37"""

    lua = rule("lua", Kind.TURN_START, dialect="toml", when=Check(script), steps=[notice("x")])
    other = rule("other", Kind.TURN_START, dialect="toml", steps=[notice("y")])

    def run(self, result):
        def gather(need, facts):
            assert need == Need(NeedName.SCRIPTS, DIGEST)
            return changed(facts, scripts={DIGEST: result}) if result else None

        return Driven(toml(self.lua, self.other), gather=gather)

    def test_first_it_has_to_be_run(self):
        rules = RuleSet([toml(self.lua, self.other)])

        assert decide(rules, Session(), TurnStart()) == Needs((Need(NeedName.SCRIPTS, DIGEST),))

    def test_a_result_is_a_fact_of_the_event(self):
        session = self.run(ScriptResult(value=True))
        start = session.submit(TurnStart())

        assert start.trace == [("lua", "fired"), ("other", "fired")]
        assert start.event.facts == Facts(scripts={DIGEST: ScriptResult(value=True)})
        assert_replays(session)

    def test_killed_is_a_guard_error_and_only_recorded(self):
        session = self.run(ScriptResult(killed=True))
        start = session.submit(TurnStart())

        assert start.verdict is Verdict.ALLOW
        assert start.trace == [("lua", "guard_error"), ("other", "fired")]
        assert start.details == ["script-failed: the script was killed"]
        assert [rule_id for rule_id, _ in start.steps] == ["other"]
        assert self.lua.uid not in session.session.firings
        assert_replays(session)

    def test_a_script_that_cannot_be_run_is_a_guard_error(self):
        session = self.run(None)
        start = session.submit(TurnStart())

        assert start.trace == [("lua", "guard_error"), ("other", "fired")]
        assert start.details == [f"fact-unknown: fact `scripts` for `{DIGEST}` is not available"]
        assert start.event.facts == Facts(unknown=(f"scripts:{DIGEST}",))
        assert_replays(session)

    def test_what_it_means_is_up_to_the_procedure(self):
        """The same rule in a group that fails closed denies."""
        gate = replace(self.lua, plan=type(self.lua.plan)())
        facts = Facts(scripts={DIGEST: ScriptResult(killed=True)})
        session = Driven(book(group("policy", gate)))
        start = session.submit(TurnStart(facts=facts))

        assert group("policy").procedure == CHATMD_POLICY
        assert start.verdict is Verdict.DENY
        assert start.reasons == [("lua", "guard error in lua")]
        assert start.trace == [("lua", "guard_error")]
        assert_replays(session)
