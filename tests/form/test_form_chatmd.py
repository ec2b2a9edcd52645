"""ChatMD in the common form: decisions beside a budget, policy over rule-made calls, quotas."""

import pytest
from driving import Driven, assert_replays
from forms import CHATMD_RULES, Check, Makes, Sets, book, group, insert, rule
from msgspec.structs import replace

from bylaw.engine.plan import StepOutcome
from bylaw.model.decision import Match
from bylaw.model.effects import HistoryCompact, StateSet, ToolCall
from bylaw.model.errors import GuardError, NotNeeded, RenderError
from bylaw.model.event import Message, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.rule import RuleVerdict
from bylaw.model.session import variable_space
from bylaw.model.vocabulary import CallStatus, EffectStatus, Kind, Op, Role, Verdict

QUOTA = "{tool}: per_turn 1 is used up"


def quota(tool, per_turn=1):
    """`<quota per_turn="1"/>`: matches when it is violated."""

    def test(view):
        used = view.session.count_used_in_turn(tool)
        return Match({"tool": tool}) if used >= per_turn else None

    return rule(
        f"policy:{tool}/quota",
        Kind.TOOL_BEFORE,
        tools=(tool,),
        when=Check(test),
        verdict=Verdict.DENY,
        because=QUOTA,
        rank=3,
        free=True,
    )


def chat(*rules, policy=(), procedure=CHATMD_RULES):
    return book(group("policy", *policy), group("rules", *rules, procedure=procedure))


def roles(*caused):
    return [(c.event.role.value, c.event.text) for c in caused]


class TestDenyAndInsertUnderABudgetOfOne:
    """CM-132, CM-A10: a denial is no action, so both blocks of example 2b are there."""

    prereqs = rule(
        "x-prereqs",
        Kind.TOOL_BEFORE,
        tools=("X",),
        when='not (ever_called("Y") and ever_called("Z"))',
        verdict=Verdict.DENY,
        because="Tool X requires tools Y and Z first",
        steps=[insert("Call tools Y and Z, then retry X.")],
    )
    later = rule("later", Kind.TOOL_BEFORE, line=2, steps=[insert("over the budget")])

    def test_both_blocks_and_nothing_else(self):
        session = Driven(chat(self.prereqs, self.later))
        x = session.submit(ToolBefore(tool="X", call="c1"))

        assert x.verdict is Verdict.DENY
        assert x.reasons == [("x-prereqs", "Tool X requires tools Y and Z first")]
        assert x.steps == [("x-prereqs", insert("Call tools Y and Z, then retry X."))]
        assert x.trace == [("x-prereqs", "fired"), ("later", "budget")]
        assert x.details == ["over budget: step 1 (message.insert)"]
        # The tool's answer comes before the hint (CM-078).
        assert roles(*x.caused) == [
            ("tool", "Tool X requires tools Y and Z first"),
            ("developer", "Call tools Y and Z, then retry X."),
        ]
        assert session.session.history.length == 2
        assert session.session.count_used("X") == 0
        assert list(session.session.firings) == [self.prereqs.uid]
        assert_replays(session)

    def test_after_the_prerequisites_the_call_runs(self):
        session = Driven(chat(self.prereqs, self.later))
        for tool in "YZ":
            session.submit(ToolAfter(tool=tool, call=tool, status=CallStatus.OK))
        x = session.submit(ToolBefore(tool="X", call="c1"))

        assert x.verdict is Verdict.ALLOW
        assert x.trace == [("x-prereqs", "guard_false"), ("later", "fired")]
        assert session.session.count_used("X") == 1
        assert_replays(session)

    def test_a_guard_error_of_a_denying_rule_denies(self):
        """CM-A20"""
        broken = rule(
            "broken",
            Kind.TOOL_BEFORE,
            when="arg('n') > 1",
            verdict=Verdict.DENY,
            because="too many",
        )
        session = Driven(chat(broken, rule("noting", Kind.TOOL_BEFORE, when="arg('n') > 1")))
        x = session.submit(ToolBefore(tool="X"))

        assert x.verdict is Verdict.DENY
        assert x.reasons == [("broken", "guard error in broken")]
        assert x.trace == [
            ("broken", "guard_error"),
            ("noting", "guard_error"),
            ("guard-error", "fired"),
        ]
        [(noted_by, note)] = x.steps
        assert noted_by == "guard-error"
        assert note.text.startswith("guard error in noting: ")
        assert_replays(session)

    def test_a_second_denial_of_the_same_file_stands_only_in_the_trace(self):
        """CM-A37"""
        always = rule("always", Kind.TOOL_BEFORE, verdict=Verdict.DENY, because="no")
        session = Driven(chat(always, policy=[quota("X", per_turn=0)]))
        x = session.submit(ToolBefore(tool="X"))

        assert x.reasons == [("policy:X/quota", "X: per_turn 1 is used up")]
        assert x.trace == [("policy:X/quota", "fired"), ("always", "fired")]
        assert x.details == ["already denied"]
        assert_replays(session)


class TestStop:
    """`last` is a decision as well: CM-A10, CM-A14, CM-089."""

    def test_it_ends_its_own_group_only(self):
        stop = rule("stop", Kind.TOOL_BEFORE, last=True)
        after = rule("after", Kind.TOOL_BEFORE, line=2, verdict=Verdict.DENY)
        other = replace(after, uid="toml:rules#other", id="other")
        session = Driven(chat(stop, after), book(group("toml", other)))
        x = session.submit(ToolBefore(tool="X"))

        assert x.trace == [("stop", "fired"), ("other", "fired")]
        assert x.verdict is Verdict.DENY
        assert_replays(session)

    def test_no_budget_keeps_it_from_stopping(self):
        first = rule("first", Kind.TURN_START, steps=[insert("one")])
        stop = rule("stop", Kind.TURN_START, line=2, steps=[insert("two")], last=True)
        after = rule("after", Kind.TURN_START, line=3)
        session = Driven(chat(first, stop, after))
        start = session.submit(TurnStart())

        assert start.trace == [("first", "fired"), ("stop", "fired")]
        assert start.details == ["over budget: step 1 (message.insert)"]
        assert start.steps == [("first", insert("one"))]
        assert_replays(session)

    def test_a_rule_that_only_stops_has_fired(self):
        stop = rule("stop", Kind.TURN_START, last=True, once=True)
        session = Driven(chat(stop, rule("after", Kind.TURN_START, line=2)))
        first = session.submit(TurnStart())
        second = session.submit(TurnStart())

        assert first.trace == [("stop", "fired")]
        assert second.trace == [("stop", "limited"), ("after", "fired")]
        assert session.session.firings[stop.uid].count == 1
        assert_replays(session)


class TestARuleMadeCallThatPolicyDenies:
    """CM-142"""

    enrich = rule(
        "enrich",
        Kind.TOOL_AFTER,
        tools=("search",),
        steps=[ToolCall(tool="patch", args={"q": 1}), insert("over the budget")],
    )

    def submit(self, *before):
        session = Driven(chat(self.enrich, policy=[quota("patch")]))
        for event in before:
            session.submit(event)
        return session, session.submit(ToolAfter(tool="search", call="s", status=CallStatus.OK))

    def test_within_the_quota_it_runs_and_counts(self):
        session, search = self.submit()
        [before, after] = search.caused

        assert before.event.cause == after.event.cause == (self.enrich.uid,)
        assert before.event.call == after.event.call == f"rule-{search.event.seq}-1"
        assert before.trace == [("policy:patch/quota", "guard_false")]
        assert session.session.count_calls("patch") == 1
        assert search.done == [(ToolCall(tool="patch", args={"q": 1}), "ok")]
        assert_replays(session)

    def test_over_the_quota_its_outcome_is_refused(self):
        session, search = self.submit(ToolBefore(tool="patch", call="p"))
        [before] = search.caused[:1]

        assert before.verdict is Verdict.DENY
        assert before.reasons == [("policy:patch/quota", "patch: per_turn 1 is used up")]
        assert search.done == [(ToolCall(tool="patch", args={"q": 1}), "refused")]
        assert [f.outcome.status for f in search.ending.failures] == [EffectStatus.REFUSED]
        assert search.details == ["over budget: step 2 (message.insert)"]
        [answer] = before.caused
        assert answer.event == replace_stamp(
            Message(
                role=Role.TOOL,
                text="patch: per_turn 1 is used up",
                cause=(self.enrich.uid, "chatmd:main.chatmd#policy:patch/quota"),
            ),
            answer.event,
        )
        assert session.session.count_used("patch") == 1
        assert_replays(session)

    def test_a_second_call_of_one_event_is_over_the_call_budget(self):
        """CM-081, CM-A11"""
        twice = rule("twice", Kind.TURN_START, steps=[ToolCall(tool="a"), ToolCall(tool="b")])
        session = Driven(chat(twice, procedure=replace(CHATMD_RULES, budget=5)))
        start = session.submit(TurnStart())

        assert start.steps == [("twice", ToolCall(tool="a"))]
        assert start.details == ["over the budget of calls: step 2 (tool.call)"]
        assert_replays(session)


def replace_stamp(event, like):
    return type(event)(
        **{name: getattr(event, name) for name in event.__struct_fields__}
        | {"seq": like.seq, "at": like.at}
    )


class TestTwoParallelCallsUnderAQuotaOfOne:
    """Quotas count pending calls: CM-122, CM-127."""

    def test_only_one_passes_until_it_never_happened(self):
        session = Driven(chat(policy=[quota("X")]))
        first = session.submit(ToolBefore(tool="X", call="c1"))
        second = session.submit(ToolBefore(tool="X", call="c2"))

        assert [first.verdict, second.verdict] == [Verdict.ALLOW, Verdict.DENY]
        assert second.reasons == [("policy:X/quota", "X: per_turn 1 is used up")]
        assert first.trace == [("policy:X/quota", "guard_false")]
        assert second.trace == [("policy:X/quota", "fired")]
        assert first.steps == second.steps == []
        assert session.session.calls.count_pending("X") == 1

        session.submit(ToolAfter(tool="X", call="c1", status=CallStatus.CANCELLED))
        third = session.submit(ToolBefore(tool="X", call="c3"))
        assert third.verdict is Verdict.ALLOW
        assert_replays(session)

    def test_an_executed_call_uses_the_quota_of_its_turn(self):
        session = Driven(chat(policy=[quota("X")]))
        session.submit(TurnStart(), ToolBefore(tool="X", call="c1"))
        session.submit(ToolAfter(tool="X", call="c1", status=CallStatus.ERROR))

        assert session.submit(ToolBefore(tool="X", call="c2")).verdict is Verdict.DENY
        session.submit(TurnEnd(), TurnStart())
        assert session.submit(ToolBefore(tool="X", call="c3")).verdict is Verdict.ALLOW
        assert_replays(session)


class TestCompactionAndTheGuardAfterIt:
    """CM-136, CM-A09"""

    compact = HistoryCompact(keep="latest:1", strategy="summary", threshold_tokens=40)
    rules = (
        rule(
            "auto-compact",
            Kind.TURN_END,
            when="context_tokens > 40",
            cooldown_turns=3,
            steps=[compact],
        ),
        rule("small", Kind.TURN_START, when="history_length == 1 and context_tokens < 20"),
    )

    def test_the_next_guard_reads_the_compacted_history(self):
        session = Driven(
            chat(*self.rules),
            perform=lambda step: StepOutcome(EffectStatus.OK, {"length": 1, "tokens": 10}),
        )
        for text in ("a" * 100, "b" * 100):
            session.submit(Message(role=Role.USER, text=text))
        assert session.session.history.tokens == 50
        end = session.submit(TurnStart(), TurnEnd())

        assert end.verdict is Verdict.ALLOW
        assert end.steps == [("auto-compact", self.compact)]
        assert end.trace == [("auto-compact", "fired")]
        [history] = end.caused
        assert history.event.cause == (self.rules[0].uid,)
        assert (session.session.history.length, session.session.history.tokens) == (1, 10)
        start = session.submit(TurnStart())
        assert start.trace == [("small", "fired")]
        assert_replays(session)

    def test_while_it_cools_down_it_is_limited_and_below_it_is_false(self):
        failing = StepOutcome(EffectStatus.FAILED, {"error": "no model"})
        session = Driven(chat(*self.rules), perform=lambda step: failing)
        session.submit(Message(role=Role.USER, text="a" * 200))
        ends = [session.submit(TurnStart(), TurnEnd()) for _ in range(5)]

        found = [end.trace[0][1] for end in ends]
        assert found == ["fired", "limited", "limited", "limited", "fired"]
        assert ends[1].details == ["cooldown_turns=3"]
        session.submit(Message(role=Role.USER, tokens=40))
        assert session.submit(TurnStart(), TurnEnd()).trace == [("auto-compact", "limited")]
        assert_replays(session)


class TestAVariableSetByOneRuleAndReadByTheNext:
    """CM-087, CM-A53: written in order, within one event and for later ones."""

    rules = (
        rule("count", Kind.TURN_START, steps=[Sets("n", "turn_index * 2")]),
        rule("read", Kind.TURN_START, line=2, when="n == 2", steps=[insert("n is 2")]),
        rule("early", Kind.TURN_START, priority=-1, when="n == 2", steps=[insert("n was 2")]),
    )

    def test_in_order(self):
        session = Driven(chat(*self.rules, procedure=replace(CHATMD_RULES, budget=9)))
        first = session.submit(TurnStart())
        second = session.submit(TurnEnd(), TurnStart())

        assert first.trace == [("early", "guard_false"), ("count", "fired"), ("read", "fired")]
        assert second.trace == [("early", "fired"), ("count", "fired"), ("read", "guard_false")]
        space = variable_space("chatmd", "main.chatmd")
        assert session.session.slate.space(space) == {"n": 4}
        assert_replays(session)

    def test_a_step_over_the_budget_writes_nothing(self):
        eager = rule("eager", Kind.TURN_START, priority=-2, steps=[insert("spent")])
        session = Driven(chat(eager, *self.rules))
        start = session.submit(TurnStart())

        assert start.trace[-2:] == [("count", "budget"), ("read", "guard_false")]
        assert session.session.slate.variables == {}
        assert_replays(session)

    def test_a_maker_that_breaks_has_failed_and_a_verdict_stands_without_its_words(self):
        """Invariant 3: the mistake of a dialect neither opens a gate nor ends the session."""

        def crash(view, match):
            return match.values["nosuch"]

        words = Makes(Op.LOG, crash)
        broken = rule("broken", Kind.TOOL_BEFORE, steps=[Makes(Op.LOG, crash)])
        broken = replace(broken, judgement=RuleVerdict(Verdict.DENY, words))
        session = Driven(chat(broken))
        call = session.submit(ToolBefore(tool="X"))

        assert call.verdict is Verdict.DENY
        [(_, reason)] = call.reasons
        assert reason == "rule broken (its reason could not be written: KeyError: 'nosuch')"
        assert [rule_id for rule_id, _ in call.steps] == ["step-error"]
        assert_replays(session)

    @pytest.mark.parametrize("error", [GuardError, RenderError])
    def test_a_step_that_cannot_be_computed_is_told(self, error):
        """CM-091, CM-134: the steps before it stand, the rest is dropped."""

        def fail(view, match):
            raise error("missing", "argument `query` missing")

        failing = rule(
            "failing",
            Kind.TURN_START,
            steps=[Sets("n", "1"), Makes(Op.TOOL_CALL, fail), insert("x")],
        )
        session = Driven(chat(failing, procedure=replace(CHATMD_RULES, budget=9)))
        start = session.submit(TurnStart())

        assert [rule_id for rule_id, _ in start.steps] == ["failing", "step-error"]
        note = start.steps[1][1]
        assert note == insert("action of failing failed: argument `query` missing")
        assert start.details == [
            "step 2 failed: missing: argument `query` missing",
            "chatmd:main.chatmd#failing",
        ]
        assert_replays(session)


def sets(name):
    """`<set>`: a variable, and the message that tells of it, are one action."""
    step = StateSet(space=variable_space("chatmd", "main.chatmd"), name=name, value=1)
    return Makes(Op.STATE_SET, lambda view, match: [step, insert(f"[set] {name} = 1")])


def says_nothing_to_do(view, match):
    raise NotNeeded("below threshold")


SPARED = Makes(Op.HISTORY_COMPACT, says_nothing_to_do)
TOLD = Makes(
    Op.MESSAGE_INSERT,
    lambda view, match: insert(f"kept {match.values['kept']}, skipped {match.values['skipped']}"),
)


class TestAnActionOfSeveralSteps:
    """CM-A28: the note about a variable is part of setting it."""

    def test_it_costs_the_budget_one_action(self):
        rules = [
            rule("first", Kind.TURN_START, steps=[sets("n")]),
            rule("second", Kind.TURN_START, line=2, steps=[sets("mode")]),
            rule("third", Kind.TURN_START, line=3, steps=[sets("seen")]),
        ]
        session = Driven(chat(*rules, procedure=replace(CHATMD_RULES, budget=2)))
        start = session.submit(TurnStart())

        assert start.trace == [("first", "fired"), ("second", "fired"), ("third", "budget")]
        space = variable_space("chatmd", "main.chatmd")
        assert session.session.slate.space(space) == {"n": 1, "mode": 1}
        assert roles(*start.caused) == [
            ("developer", "[set] n = 1"),
            ("developer", "[set] mode = 1"),
        ]

    def test_only_messages_may_come_with_it(self):
        calls = Makes(Op.MESSAGE_INSERT, lambda view, match: [insert("x"), ToolCall(tool="a")])
        session = Driven(chat(rule("sly", Kind.TURN_START, steps=[calls])))
        start = session.submit(TurnStart())

        assert [rule_id for rule_id, _ in start.steps] == ["step-error"]

    def test_what_it_declared_comes_first(self):
        calls = Makes(Op.TOOL_CALL, lambda view, match: [insert("x"), ToolCall(tool="a")])
        session = Driven(chat(rule("sly", Kind.TURN_START, steps=[calls])))

        assert [rule_id for rule_id, _ in session.submit(TurnStart()).steps] == ["step-error"]


class TestAnActionThatIsNotNeeded:
    """CM-085, CM-A14"""

    def test_it_uses_no_budget_and_says_why(self):
        eager = rule("eager", Kind.TURN_END, once=True, steps=[SPARED])
        later = rule("later", Kind.TURN_END, line=2, steps=[insert("x")])
        session = Driven(chat(eager, later))
        end = session.submit(TurnStart(), TurnEnd())

        assert end.trace == [("eager", "suppressed"), ("later", "fired")]
        assert end.details == ["step 1 not needed: below threshold"]
        assert list(session.session.firings) == [later.uid]

    def test_the_actions_behind_it_are_taken(self):
        both = rule("both", Kind.TURN_END, steps=[SPARED, insert("x")])
        session = Driven(chat(both))
        end = session.submit(TurnStart(), TurnEnd())

        assert end.steps == [("both", insert("x"))]
        assert end.trace == [("both", "fired")]

    def test_to_end_the_group_is_a_decision(self):
        stop = rule("stop", Kind.TURN_END, steps=[SPARED], last=True)
        later = rule("later", Kind.TURN_END, line=2, steps=[insert("x")])
        end = Driven(chat(stop, later)).submit(TurnStart(), TurnEnd())

        assert end.trace == [("stop", "fired")]

    def test_a_reason_cannot_say_so(self):
        deny = rule("deny", Kind.TOOL_BEFORE)
        deny = replace(deny, judgement=RuleVerdict(Verdict.DENY, SPARED))
        call = Driven(chat(deny)).submit(ToolBefore(tool="X"))

        assert call.verdict is Verdict.DENY


class TestARuleThatTellsWhatItDid:
    """CM-108, CM-A13, CM-A48"""

    def test_the_line_is_the_last_step_and_costs_nothing(self):
        rules = [
            rule("first", Kind.TURN_START, steps=[insert("one"), insert("two")], summary=TOLD),
            rule("stop", Kind.TURN_START, line=2, last=True, summary=TOLD),
        ]
        session = Driven(chat(*rules))
        start = session.submit(TurnStart())

        assert start.steps == [
            ("first", insert("one")),
            ("first", insert("kept [1], skipped [2]")),
            ("stop", insert("kept [], skipped []")),
        ]
        assert set(session.session.firings) == {rules[0].uid, rules[1].uid}

    def test_a_rule_over_the_budget_tells_and_has_not_fired(self):
        rules = [
            rule("first", Kind.TURN_START, steps=[insert("one")]),
            rule("over", Kind.TURN_START, line=2, once=True, steps=[insert("two")], summary=TOLD),
        ]
        session = Driven(chat(*rules))
        start = session.submit(TurnStart())

        assert start.trace == [("first", "fired"), ("over", "budget")]
        assert start.steps[1] == ("over", insert("kept [], skipped [1]"))
        assert list(session.session.firings) == [rules[0].uid]

    def test_a_denial_is_told(self):
        deny = rule("deny", Kind.TOOL_BEFORE, verdict=Verdict.DENY, summary=TOLD)
        call = Driven(chat(deny)).submit(ToolBefore(tool="X", call="c"))

        assert call.steps == [("deny", insert("kept [], skipped []"))]
        assert roles(*call.caused)[0] == ("tool", "deny")

    def test_nothing_is_told_of_a_rule_that_did_nothing(self):
        spared = rule("spared", Kind.TURN_START, steps=[SPARED], summary=TOLD)
        echo = rule("echo", Kind.MESSAGE, line=2, steps=[insert("echo")], summary=TOLD)
        session = Driven(chat(spared, echo))

        assert session.submit(TurnStart()).steps == []
        said = session.submit(Message(role=Role.USER, text="hi"))
        assert len(said.steps) == 2
        assert [one.trace for one in said.caused] == [[("echo", "suppressed")]] * 2
        assert all(one.steps == [] for one in said.caused)
