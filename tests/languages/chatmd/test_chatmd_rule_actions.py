"""ChatMD rules: what each action decides, and how rules share an event."""

import json

import pytest
from chat_rules import PATH, UID, call, messages, on, session, turn

from bylaw.engine.plan import StepOutcome
from bylaw.model.effects import AgentRun, HistoryCompact, MessageInsert, StateSet, ToolCall
from bylaw.model.event import Message, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.session import variable_space
from bylaw.model.vocabulary import CallStatus, EffectStatus, Role, Verdict

NOTE = '<insert role="developer">note</insert>'
SPACE = variable_space("chatmd", PATH)
TEN = ' max_actions_per_event="10" max_calls_per_event="10"'


def said(text, role=Role.USER):
    return Message(role=role, text=text)


def rule(rule_id, actions, event="turn_start", more=""):
    return f'<on id="{rule_id}" event="{event}" {more}>{actions}</on>'


def rules(*written, attributes=""):
    return f"<rules{attributes}>{''.join(written)}</rules>"


def variables(chat):
    return dict(chat.session.slate.space(SPACE))


class TestInsert:
    """CM-071 to CM-073, CM-138, CM-A45"""

    @pytest.mark.parametrize("role", ["user", "assistant", "developer", "system"])
    def test_each_role(self, role):
        start = session(on(f'<insert role="{role}">x</insert>')).submit(TurnStart())

        assert messages(start) == [(role, "x")]
        assert start.caused[0].event.cause == (f"{UID}rule-1",)

    @pytest.mark.parametrize(
        ("body", "text"),
        [
            ("\n      example reminder\n    ", "example reminder"),
            ("{{ x }} $y {z} &lt; <b>", "{{ x }} $y {z} &lt; <b>"),
            ("\n    - a\n      - b\n\n    c\n", "- a\n  - b\n\nc"),
            ("\n\tone\n\t\ttwo\n", "one\n\ttwo"),
            ("\n  \t a\n  b\n", "\t a\nb"),
            ("first\n    second\n", "first\n    second"),
            ("\n   \n  a  \n  \n", "a  "),
            ("\r\n  a\r\n\r\n  b\r\n", "a\r\n\r\nb"),
            ("a <!-- b --> c", "a  c"),
            ("\n  RAW|\n  a\n<!-- b -->\n|RAW\n", "  a\n<!-- b -->"),
            ("\n  a\n \n  b", "a\n\nb"),
        ],
    )
    def test_the_text_is_as_it_is_written(self, body, text):
        chat = session(on(f'<insert role="user">{body}</insert>'))

        assert messages(chat.submit(TurnStart())) == [("user", text)]

    def test_provenance_may_be_repeated(self):
        insert = '<insert role="user" synthetic="true" via_rule="r">x</insert>'

        assert messages(session(rules(rule("r", insert))).submit(TurnStart())) == [("user", "x")]


class TestDeny:
    """CM-074 to CM-078, CM-A38"""

    def test_deny_and_hint_under_the_default_limits(self):
        chat = session(on(f'<deny reason="no"/>{NOTE}', 'event="pre_tool_call" tool="X"'))
        denied = call(chat, "X")

        assert denied.verdict is Verdict.DENY
        assert messages(denied) == [("tool", "no"), ("developer", "note")]
        assert chat.session.count_used("X") == 0
        assert call(chat, "X2").verdict is Verdict.ALLOW

    @pytest.mark.parametrize("tool", ["", 'tool="*"'])
    def test_every_tool(self, tool):
        """CM-094"""
        chat = session(on('<deny reason="no"/>', f'event="pre_tool_call" {tool}'))

        assert call(chat, "X").verdict is call(chat, "Y").verdict is Verdict.DENY

    def test_two_reasons_of_one_rule(self):
        chat = session(on('<deny reason="a"/><deny reason="b"/>', 'event="pre_tool_call"'))

        assert messages(call(chat, "X")) == [("tool", "a\nb")]

    def test_a_guard_that_fails_denies(self):
        """CM-A20"""
        denying = rule("d", '<deny reason="no"/>', "pre_tool_call", "if=\"arg('n') > 1\"")
        noting = rule("n", NOTE, "pre_tool_call", "if=\"arg('n') > 1\"")
        denied = call(session(rules(denying, noting)), "X")

        assert denied.reasons == [("d", "guard error in d")]
        assert messages(denied)[0] == ("tool", "guard error in d")
        role, text = messages(denied)[1]
        assert role == "developer"
        assert text.startswith("guard error in n: in `arg('n') > 1`: ")

    def test_an_argument_that_is_not_there_is_no_guard_error(self):
        """CM-A19"""
        force = on('<deny reason="no"/>', 'event="pre_tool_call" if="arg(\'force\') == true"')

        assert call(session(force), "X").verdict is Verdict.ALLOW
        assert call(session(force), "X", {"force": True}).verdict is Verdict.DENY


class TestCall:
    """CM-079 to CM-081, CM-134, CM-A05, CM-A06"""

    @pytest.mark.parametrize(
        ("body", "args"),
        [
            ('{"json": "args"}', {"json": "args"}),
            (" {} <!-- none --> ", {}),
            ('{"q": "<!-- x -->"}', {"q": "<!-- x -->"}),
            (
                '{"q": 1.5e3, "n": null, "l": [true, {"a": []}]}',
                {"q": 1500.0, "n": None, "l": [True, {"a": []}]},
            ),
            ('{"q": "related to " + arg("query")}', {"q": "related to eio"}),
            ("{'q': arg('query'), \"n\": 1 + 2}", {"q": "eio", "n": 3}),
            (
                '{"a": {"b": [arg("query"), {"c": event.tool.name}]}, "d": {}}',
                {"a": {"b": ["eio", {"c": "find"}]}, "d": {}},
            ),
            ('{"q": arg("query") <!-- it\'s "this" -->}', {"q": "eio"}),
            ('{"q": \'<!-- \' + arg("query")}', {"q": "<!-- eio"}),
            ('{"q": "}{" + arg("query")}', {"q": "}{eio"}),
        ],
    )
    def test_arguments(self, body, args):
        chat = session(on(f'<call tool="t">{body}</call>', 'event="post_tool_response"'))
        found = ToolAfter(tool="find", args={"query": "eio"}, call="c", status=CallStatus.OK)

        assert chat.submit(found).steps == [("rule-1", ToolCall(tool="t", args=args))]

    @pytest.mark.parametrize(
        ("read", "name"),
        [
            ('"related to " + arg("query")', "query"),
            ('arg("o.k.1")', "o.k.1"),
            ('jsonpath("$.o.k")', "$.o.k"),
            ('true or arg("other") == 1', "other"),
            ('arg("quer" + "y")', 'arg("quer" + "y")'),
        ],
    )
    def test_an_argument_that_is_missing(self, read, name):
        text = on(f'<call tool="t">{{"q": {read}}}</call>{NOTE}', 'id="r" event="pre_tool_call"')
        asked = call(session(text), "find")

        assert asked.verdict is Verdict.ALLOW
        assert messages(asked) == [("developer", f"action of r failed: argument `{name}` missing")]
        assert asked.details[0] == f"step 1 failed: missing-argument: argument `{name}` missing"

    def test_a_body_that_is_neither(self):
        """CM-080, CM-091, CM-A39: no call, a message, the rest is dropped, the next rule runs."""
        broken = rule("r", f'<call tool="t">{{"a":</call>{NOTE}')
        start = session(rules(broken, rule("next", NOTE))).submit(TurnStart())

        failed, note = messages(start)
        assert failed[1].startswith("action of r failed: the body is neither JSON nor an object")
        assert note == ("developer", "note")

    def test_one_call_an_event(self):
        """CM-081"""
        two = [rule(name, '<call tool="t">{"a":1}</call>') for name in "ab"]
        start = session(rules(*two, attributes=' max_actions_per_event="5"')).submit(TurnStart())

        assert start.steps == [("a", ToolCall(tool="t", args={"a": 1}))]
        assert start.trace == [("a", "fired"), ("b", "budget")]
        assert start.details == ["over the budget of calls: step 1 (tool.call)"]

    def test_two_calls_an_event(self):
        two = [rule(name, '<call tool="t">{}</call>') for name in "ab"]

        assert len(session(rules(*two, attributes=TEN)).submit(TurnStart()).steps) == 2

    def test_a_call_passes_the_gates(self):
        """CM-142"""
        quota = '<policy><tool name="t"><quota per_session="0"/></tool></policy>'
        start = session(quota + on('<call tool="t">{}</call>')).submit(TurnStart())

        (judged, note) = start.caused
        assert judged.verdict is Verdict.DENY
        assert note.event.text == "action of rule-1 failed: denied"

    def test_arguments_that_are_too_large(self):
        body = '{"a": [arg("x"), arg("x")]}'
        chat = session(on(f'<call tool="t">{body}</call>', 'event="pre_tool_call"'))

        assert len(call(chat, "X", {"x": "a" * 400_000}).steps[0][1].args["a"]) == 2
        ((_, note),) = call(chat, "X", {"x": "a" * 600_000}).steps
        assert "would be larger than 1,000,000" in note.text


class TestAgent:
    """CM-082"""

    def test_the_result_becomes_a_message(self):
        text = on('<agent src="helper.chatmd" local>\n  Look at it.\n</agent>')
        chat = session(text, perform=lambda step: StepOutcome(EffectStatus.OK, {"result": "ok"}))
        start = chat.submit(TurnStart())

        assert start.steps[0] == ("rule-1", AgentRun(src="helper.chatmd", input="Look at it."))
        assert messages(start) == [("user", "ok")]
        assert start.trace == [("rule-1", "fired")]

    def test_an_agent_that_fails(self):
        failed = StepOutcome(EffectStatus.FAILED, {"error": "no such file"})
        chat = session(
            on('<agent src="a.chatmd">x</agent>'),
            perform=lambda step: (
                failed if isinstance(step, AgentRun) else StepOutcome(EffectStatus.OK)
            ),
        )
        assert messages(chat.submit(TurnStart())) == [
            ("developer", "action of rule-1 failed: no such file")
        ]


class TestCompact:
    """CM-083 to CM-086, CM-A31"""

    compact = on(
        '<compact threshold_tokens="40000" keep="system, developer,latest:8" strategy="summary"/>',
        'event="turn_end" once="true"',
    )

    def test_above_the_threshold(self):
        chat = session(self.compact, perform=_shrinks)
        end = chat.submit(TurnStart(), TurnEnd(tokens=40_001))
        _, compact = end.steps[0]

        assert compact == HistoryCompact(
            keep="system,developer,latest:8", strategy="summary", threshold_tokens=40_000
        )
        assert end.steps[1][1].role is Role.DEVELOPER
        assert chat.session.history.tokens == 1

    def test_below_it_nothing_is_done_and_the_rule_has_not_fired(self):
        chat = session(self.compact)
        end = chat.submit(TurnStart(), TurnEnd(tokens=40_000))

        assert end.steps == []
        assert end.trace == [("rule-1", "suppressed")]
        assert end.details == ["step 1 not needed: below threshold"]
        assert chat.session.firings == {}

    def test_without_a_threshold_it_always_happens(self):
        end = session(on("<compact/>", 'event="turn_end"'), perform=_shrinks).submit(TurnEnd())

        assert end.steps[0][1] == HistoryCompact(
            keep="system,developer,latest:6", strategy="relevance+summary"
        )


def _shrinks(step):
    result = {"length": 1, "tokens": 1} if isinstance(step, HistoryCompact) else {}
    return StepOutcome(EffectStatus.OK, result)


class TestSet:
    """CM-087, CM-088, CM-A26 to CM-A28, CM-A53"""

    def test_the_value_and_its_note(self):
        chat = session(on('<set var="n" value="1 + 1"/>'))
        start = chat.submit(TurnStart())

        assert start.steps == [
            ("rule-1", StateSet(space=SPACE, name="n", value=2)),
            ("rule-1", MessageInsert(role=Role.DEVELOPER, text="[set] n = 2")),
        ]
        assert messages(start) == [("developer", "[set] n = 2")]
        assert variables(chat) == {"n": 2}
        assert variables(session(on('<set var="n" value="1"/>'))) == {}

    @pytest.mark.parametrize(
        "value", ["'x'", "[1,'a',[true]]", "1.5", "event.tool.args", "arg('none')", "n"]
    )
    def test_values_of_every_type(self, value):
        chat = session(on(f'<set var="n" value="{value}"/>', 'event="pre_tool_call"'))
        ((_, text),) = messages(call(chat, "X", {"a": {"b": None}}))

        assert json.loads(text.removeprefix("[set] n = ")) == variables(chat)["n"]

    def test_later_rules_see_it_at_once(self):
        reader = rule("reader", NOTE, more='if="n == 1"')
        writer = rule("writer", '<set var="n" value="1"/>')
        chat = session(rules(reader, writer, reader.replace("reader", "again"), attributes=TEN))

        assert chat.submit(TurnStart()).trace == [
            ("reader", "guard_false"),
            ("writer", "fired"),
            ("again", "fired"),
        ]

    def test_a_value_that_cannot_be_had(self):
        start = session(on('<set var="n" value="1 / 0"/>', 'id="r" event="turn_start"')).submit(
            TurnStart()
        )
        ((_, text),) = messages(start)
        assert text.startswith("action of r failed: in `1 / 0`: ")

    def test_a_variable_that_is_put_into_itself_stops_growing(self):
        chat = session(on('<set var="n" value="[n, n]"/>', 'id="r" event="turn_start"'))
        for _ in range(30):
            start = turn(chat)

        assert messages(start) == [
            ("developer", "action of r failed: `n` would be larger than 65,536")
        ]

    def test_a_variable_that_is_nested_ever_deeper(self):
        chat = session(on('<set var="n" value="[n]"/>', 'id="r" event="turn_start"'))
        for _ in range(110):
            start = turn(chat)

        assert messages(start) == [
            ("developer", "action of r failed: `n` would be nested deeper than 100")
        ]


class TestStop:
    """CM-089, CM-A10, CM-A49"""

    def test_later_rules_are_not_asked_for_this_event(self):
        chat = session(rules(rule("a", f"<stop/>{NOTE}"), rule("b", NOTE, more='priority="1"')))

        for _ in range(2):
            start = turn(chat)
            assert start.trace == [("a", "fired")]
            assert messages(start) == [("developer", "note")]

    def test_policy_is_not_stopped(self):
        text = '<policy><tool name="X"><quota per_turn="0"/></tool></policy>'

        assert (
            call(session(text + on("<stop/>", 'event="pre_tool_call"')), "X").verdict
            is Verdict.DENY
        )


class TestWiring:
    """CM-095 to CM-108"""

    def test_order_by_priority_then_source_over_blocks(self):
        blocks = [
            rules(rule("ten", NOTE, more='priority="10"'), rule("b", NOTE), attributes=TEN),
            rules(rule("a", NOTE), rule("first", NOTE, more='priority="-1"')),
        ]
        start = session("".join(blocks)).submit(TurnStart())

        assert [name for name, _ in start.trace] == ["first", "b", "a", "ten"]

    def test_once(self):
        chat = session(on(NOTE, 'event="turn_start" once="true" if="turn_index >= 2"'))

        assert [len(turn(chat).steps) for _ in range(4)] == [1, 0, 0, 0]

    def test_cooldown_in_turns(self):
        """CM-099: fires at t=1, 5, 9."""
        chat = session(on(NOTE, 'event="turn_start" cooldown_turns="3"'))
        fired = [len(chat.submit(TurnStart()).steps)]
        fired += [len(turn(chat).steps) for _ in range(8)]

        assert fired == [1, 0, 0, 0, 1, 0, 0, 0, 1]

    def test_cooldown_in_milliseconds(self):
        """CM-100"""
        chat = session(on(NOTE, 'event="turn_start" cooldown_ms="1000"'))
        fired = [len(chat.submit(TurnStart(at=at)).steps) for at in (1000, 1999, 2000)]

        assert fired == [1, 0, 1]

    def test_a_limited_rule_uses_no_budget(self):
        """CM-102"""
        chat = session(rules(rule("a", NOTE, more='once="true"'), rule("b", NOTE)))
        chat.submit(TurnStart())

        assert turn(chat).trace == [("a", "limited"), ("b", "fired")]

    def test_the_budget_of_every_event(self):
        """CM-103, CM-104, CM-140"""
        events = {
            "turn_start": TurnStart(),
            "turn_end": TurnEnd(),
            "pre_tool_call": ToolBefore(tool="X"),
            "post_tool_response": ToolAfter(tool="X", status=CallStatus.ERROR),
            "message_appended": said("hi"),
        }
        for name, event in events.items():
            three = [rule(f"{name}-{number}", NOTE, name) for number in range(3)]
            chat = session(rules(*three, attributes=' max_actions_per_event="2"'))
            happened = chat.submit(event)
            assert len(happened.steps) == 2
            assert happened.trace[2][1] == "budget"
            assert happened.details == ["over budget: step 1 (message.insert)"]

    def test_no_storm(self):
        """CM-107: it fires once for each outside message."""
        chat = session(on(NOTE, 'event="message_appended"', ' max_actions_per_event="100"'))
        for text in "ab":
            assert messages(chat.submit(said(text))) == [("developer", "note")]
        assert chat.session.history.length == 4

    def test_a_failed_action_drops_the_rest_of_its_rule(self):
        """CM-A39, CM-A14"""
        failing = rule("r", f'<set var="n" value="1 / 0"/>{NOTE}', more='once="true"')
        chat = session(rules(failing, attributes=TEN))

        for _ in range(2):
            assert len(messages(turn(chat))) == 1
        assert UID + "r" not in chat.session.firings

    def test_the_main_agents_turns_and_messages(self):
        chat = session(rules(rule("a", NOTE), rule("b", NOTE, "message_appended"), attributes=TEN))

        assert chat.submit(TurnStart(agent="sub")).steps == []
        assert chat.submit(Message(role=Role.USER, text="x", agent="sub")).steps == []


class TestTrace:
    """CM-108, CM-A13, CM-A48"""

    def test_one_line_for_each_rule_that_fired(self):
        traced = rules(
            rule("r", f'<insert role="user">x</insert><set var="n" value="1"/>{NOTE}'),
            rule("stop", "<stop/>"),
            attributes=' max_actions_per_event="2" trace="true"',
        )
        assert messages(session(traced).submit(TurnStart())) == [
            ("user", "x"),
            ("developer", "[set] n = 1"),
            (
                "developer",
                "[rule r] turn_start: insert(user), set(n); over budget: insert(developer)",
            ),
            ("developer", "[rule stop] turn_start: stop"),
        ]

    def test_a_rule_over_the_budget(self):
        traced = rules(
            rule("a", NOTE), rule("b", NOTE, more='once="true"'), attributes=' trace="true"'
        )
        chat = session(traced)

        assert messages(chat.submit(TurnStart()))[1:] == [
            ("developer", "[rule a] turn_start: insert(developer)"),
            ("developer", "[rule b] turn_start: over budget: insert(developer)"),
        ]
        assert list(chat.session.firings) == [UID + "a"]

    def test_a_denial_and_other_actions(self):
        actions = (
            '<deny reason="no &lt;way&gt;"/><call tool="t">{}</call><agent src="a.chatmd">x</agent>'
            '<compact keep="latest:1" threshold_tokens="9"/>'
        )
        traced = on(actions, 'event="pre_tool_call" tool="X"', f'{TEN} trace="true"')
        chat = session(traced, perform=lambda step: StepOutcome(EffectStatus.OK, {"result": "ok"}))

        assert messages(call(chat, "X"))[-1] == (
            "developer",
            "[rule rule-1] pre_tool_call: deny(no <way>), call(t), agent(a.chatmd)",
        )

    def test_off_by_default(self):
        assert messages(session(on(NOTE)).submit(TurnStart())) == [("developer", "note")]
