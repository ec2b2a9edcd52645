"""ChatMD rules and policies: what loads, what is refused, and which text is underlined."""

import pytest
from chat_rules import errors, findings, headlines, helps, loaded, on, policy, rules_of

from bylaw.model.source import SourceFile

NOTE = '<insert role="developer">note</insert>'
EVENTS = ("turn_start", "turn_end", "pre_tool_call", "post_tool_response", "message_appended")


def ids(text):
    return [rule.id for rule in rules_of(text)]


class TestBlocks:
    """CM-001 to CM-011"""

    def test_both_blocks_are_read(self):
        assert ids(f'<rules><on id="r1" event="turn_end">{NOTE}</on></rules>') == ["r1"]
        assert ids(policy('<requires tools="Y"/>')) == ["policy:X/requires"]

    def test_other_elements_stay_text(self):
        assert (
            loaded('<ruleset><on id="r1" event="turn_end"><stop/></on></ruleset>').groups[1].rules
            == ()
        )

    @pytest.mark.parametrize(
        "text", ["<rules/>", "<rules></rules>", "<policy/>", "<user>hi</user>", ""]
    )
    def test_a_file_without_rules(self, text):
        assert rules_of(text) == []

    def test_limits_without_rules(self):
        (_, group) = loaded('<rules max_actions_per_event="2" max_calls_per_event="3"/>').groups

        assert (group.procedure.budget, group.procedure.call_budget) == (2, 3)

    @pytest.mark.parametrize("stop", ["<stop/>", "<stop></stop>", "<stop> <!-- so --> </stop>"])
    def test_both_forms_of_an_element(self, stop):
        (rule,) = rules_of(on(stop))

        assert rule.last

    def test_several_blocks_in_source_order(self):
        blocks = [f'<rules><on id="{name}" event="turn_end">{NOTE}</on></rules>' for name in "bac"]

        assert ids("\n<user>x</user>\n".join(blocks)) == ["b", "a", "c"]

    def test_quotes_entities_and_comparisons(self):
        raw, escaped = (
            rules_of(on(NOTE, f"event='turn_end' if='tokens(\"last_user\") {less} 4000'"))
            for less in ("<=", "&lt;=")
        )
        assert raw[0].guard.expression.tree == escaped[0].guard.expression.tree

    def test_comments_count_for_nothing(self):
        assert rules_of('<rules><!-- <on event="turn_end"><stop/></on> --></rules>') == []
        (rule,) = rules_of(policy('<requires tools="Y" mode="enforce"/> <!-- or mode="warn" -->'))
        assert rule.judgement.verdict.value == "deny"

    def test_a_declaration_of_a_tool_is_no_policy(self):
        """CM-006"""
        text = '<tool name="apply_patch"/>' + policy('<quota per_turn="1"/>', "apply_patch")

        assert ids(text) == ["policy:apply_patch/quota"]

    def test_every_attribute_of_on(self):
        (rule,) = rules_of(
            on(
                NOTE,
                'id="a.b-c_1" event="pre_tool_call" tool="X" if="true" priority="-5" once="true"'
                ' cooldown_turns="3" cooldown_ms="1000"',
            )
        )
        assert (rule.id, rule.priority, rule.filter.tools) == ("a.b-c_1", -5, ("X",))
        assert rule.limits.once
        assert (rule.limits.cooldown_turns, rule.limits.cooldown_ms) == (3, 1000)

    @pytest.mark.parametrize("event", EVENTS)
    def test_every_event(self, event):
        assert len(rules_of(on(NOTE, f'event="{event}"'))) == 1

    def test_ids_by_place(self):
        """CM-A01"""
        two = f'<rules><on event="turn_end">{NOTE}</on><on id="x" event="turn_end">{NOTE}</on></rules>'

        assert ids(two + on(NOTE)) == ["rule-1", "x", "rule-3"]

    def test_where_a_rule_stands(self):
        (rule,) = rules_of(
            f'<user>hi</user>\n<rules>\n  <on event="turn_end">\n{NOTE}\n  </on>\n</rules>'
        )

        assert (rule.origin.line, rule.origin.column, rule.origin.last_line) == (3, 3, 5)


class TestRefused:
    """One error each, with the text that is underlined."""

    @pytest.mark.parametrize(
        ("text", "code", "place"),
        [
            ('<rules><tool name="X"/></rules>', "unknown-element", '<tool name="X"/>'),
            (on('<exec cmd="ls"/>', 'event="turn_end"'), "unknown-element", '<exec cmd="ls"/>'),
            (on('<on event="turn_end"/>'), "unknown-element", '<on event="turn_end"/>'),
            (
                on('<stop><insert role="user">x</insert></stop>'),
                "unknown-element",
                '<insert role="user">',
            ),
            (policy('<deny reason="x"/>'), "unknown-element", '<deny reason="x"/>'),
            (
                policy('<validate><quota per_turn="1"/></validate>'),
                "unknown-element",
                '<quota per_turn="1"/>',
            ),
            (on("plain text", 'event="turn_end"'), "text-in-rules", "plain text"),
            ("<policy>\n  one\n  two\n</policy>", "text-in-rules", "one"),
            (on('<deny reason="x">why</deny>', 'event="pre_tool_call"'), "text-in-rules", "why"),
            (on(NOTE, 'event="turn_end" cooldown="3"'), "unknown-element-attribute", "cooldown"),
            ('<rules max_action="1"/>', "unknown-element-attribute", "max_action"),
            ('<policy mode="warn"/>', "unknown-element-attribute", "mode"),
            (on('<stop now="true"/>'), "unknown-element-attribute", "now"),
            (
                on('<deny reason="x" via_rule="rule-1"/>', 'event="pre_tool_call"'),
                "unknown-element-attribute",
                "via_rule",
            ),
            (
                on(NOTE, 'event="turn_end" event="turn_start"'),
                "repeated-attribute",
                'event="turn_start"',
            ),
            (on(NOTE, 'event="turn_end" once=true'), "unquoted-attribute", "once=true"),
            (on(NOTE, 'event="turn_end" once'), "unquoted-attribute", "once"),
            (on(NOTE, 'id="a"'), "missing-attribute", '<on id="a">'),
            (on(NOTE, 'event="pre_tool"'), "unknown-attribute-value", "pre_tool"),
            (on(NOTE, 'event="Turn_Start"'), "unknown-attribute-value", "Turn_Start"),
            (on(NOTE, 'event=""'), "unknown-attribute-value", 'event=""'),
            (on(NOTE, 'event="turn_end" priority="high"'), "wrong-attribute-value", "high"),
            (on(NOTE, 'event="turn_end" priority="1.5"'), "wrong-attribute-value", "1.5"),
            (
                on(NOTE, f'event="turn_end" priority="{"9" * 16}"'),
                "wrong-attribute-value",
                "9" * 16,
            ),
            (on(NOTE, 'event="turn_end" once="yes"'), "wrong-attribute-value", "yes"),
            (on(NOTE, 'event="turn_end" cooldown_turns="-1"'), "wrong-attribute-value", "-1"),
            (on(NOTE, 'event="turn_end" cooldown_ms="1s"'), "wrong-attribute-value", "1s"),
            ('<rules max_actions_per_event="0"/>', "wrong-attribute-value", "0"),
            ('<rules max_actions_per_event="-1"/>', "wrong-attribute-value", "-1"),
            ('<rules max_calls_per_event="many"/>', "wrong-attribute-value", "many"),
            ('<rules trace="on"/>', "wrong-attribute-value", "on"),
            (on(NOTE, 'id="my rule" event="turn_end"'), "invalid-rule-id", "my rule"),
            (on(NOTE, 'id="" event="turn_end"'), "invalid-rule-id", 'id=""'),
            (on(NOTE, 'id="-x" event="turn_end"'), "invalid-rule-id", "-x"),
            (on(NOTE, 'event="turn_end" tool="X"'), "tool-without-call", "X"),
            (on(NOTE, 'event="message_appended" tool="*"'), "tool-without-call", "*"),
            (on(NOTE, 'event="pre_tool_call" tool=""'), "wrong-attribute-value", 'tool=""'),
            (on(NOTE, 'event="pre_tool_call" tool=" X"'), "wrong-attribute-value", " X"),
            (
                on('<deny reason="no"/>', 'event="turn_end"'),
                "deny-without-call",
                '<deny reason="no"/>',
            ),
            (on("<deny/>", 'event="pre_tool_call"'), "missing-attribute", "<deny/>"),
            (on('<deny reason=" "/>', 'event="pre_tool_call"'), "wrong-attribute-value", " "),
            (on('<insert role="tool">x</insert>'), "unknown-attribute-value", "tool"),
            (on("<insert>x</insert>"), "missing-attribute", "<insert>"),
            (on('<insert role="">x</insert>'), "unknown-attribute-value", 'role=""'),
            (on('<insert role="user"> \n </insert>'), "empty-body", '<insert role="user">'),
            (on('<insert role="user" synthetic="false">x</insert>'), "forged-provenance", "false"),
            (
                on('<insert role="user" via_rule="b">x</insert>', 'id="a" event="turn_end"'),
                "forged-provenance",
                "b",
            ),
            (
                on('<call tool="t" via_rule="b">{}</call>', 'id="a" event="turn_end"'),
                "forged-provenance",
                "b",
            ),
            (on("<call>{}</call>"), "missing-attribute", "<call>"),
            (on("<agent>x</agent>"), "missing-attribute", "<agent>"),
            (on('<compact keep="latest:x"/>'), "wrong-attribute-value", "latest:x"),
            (on('<compact keep="tools"/>'), "wrong-attribute-value", "tools"),
            (on('<compact keep="system,,user"/>'), "wrong-attribute-value", "system,,user"),
            (
                on('<compact keep="latest:1,latest:2"/>'),
                "wrong-attribute-value",
                "latest:1,latest:2",
            ),
            (on('<compact strategy="magic"/>'), "wrong-attribute-value", "magic"),
            (
                on('<compact strategy="summary+summary"/>'),
                "wrong-attribute-value",
                "summary+summary",
            ),
            (on('<compact threshold_tokens="x"/>'), "wrong-attribute-value", "x"),
            (on('<set var="turn_index" value="1"/>'), "unusable-variable", "turn_index"),
            (on('<set var="not" value="1"/>'), "unusable-variable", "not"),
            (on('<set var="arg" value="1"/>'), "unusable-variable", "arg"),
            (on('<set var="2x" value="1"/>'), "unusable-variable", "2x"),
            (on('<set var="n"/>'), "missing-attribute", '<set var="n"/>'),
            (on('<set var="n" value=""/>'), "wrong-attribute-value", 'value=""'),
            (on('<set var="n" value="now()"/>'), "time-outside-comparison", "now()"),
            ("<policy><tool/></policy>", "missing-attribute", "<tool/>"),
            (
                '<policy><tool name="*"><quota per_turn="1"/></tool></policy>',
                "wildcard-in-policy",
                "*",
            ),
            (policy("<requires/>"), "missing-attribute", "<requires/>"),
            (policy('<requires tools=""/>'), "wrong-attribute-value", 'tools=""'),
            (policy('<requires tools="Y,,Z"/>'), "wrong-attribute-value", "Y,,Z"),
            (policy('<requires tools="Y" mode="soft"/>'), "unknown-attribute-value", "soft"),
            (
                policy('<validate level="info"><check if="true" message="m"/></validate>'),
                "unknown-attribute-value",
                "info",
            ),
            (
                policy('<validate><check message="m"/></validate>'),
                "missing-attribute",
                '<check message="m"/>',
            ),
            (
                policy('<validate><check if="true"/></validate>'),
                "missing-attribute",
                '<check if="true"/>',
            ),
            (policy("<quota/>"), "missing-attribute", "<quota/>"),
            (policy('<quota per_turn="-1"/>'), "wrong-attribute-value", "-1"),
            (policy("<cooldown/>"), "missing-attribute", "<cooldown/>"),
            (policy('<cooldown turns="x"/>'), "wrong-attribute-value", "x"),
        ],
    )
    def test_one_error(self, text, code, place):
        assert errors(text) == [(code, place)]
        assert not any(group.rules for group in loaded(text).groups)

    @pytest.mark.parametrize(
        ("expression", "code", "place"),
        [
            ("trun_index > 1", "unknown-name", "trun_index"),
            ("True", "unknown-name", "True"),
            ("arg('x') == 1", "no-call-here", "arg('x')"),
            ("text_contains('x', 'last_system')", "unknown-choice", "'last_system'"),
            ("tokens('last_tool') > 1", "unknown-choice", "'last_tool'"),
            ("since_ms('nosuch') > 1", "unknown-rule", "'nosuch'"),
            ("now() % 2 == 0", "time-outside-comparison", "now()"),
            ("ever_called() ", "wrong-arguments", "ever_called()"),
            ("len('x') > 1", "unknown-function", "len"),
            ("__import__('os').system('id') == 0", "unsupported-syntax", "."),
            ("1 &lt; 2 &lt; 3", "chained-comparison", "&lt;"),
            ("'a' &amp;&amp; 'b'", "unsupported-operator", "&amp;&amp;"),
            ("", "wrong-attribute-value", 'if=""'),
        ],
    )
    def test_expressions_are_underlined_where_they_are_written(self, expression, code, place):
        assert errors(on(NOTE, f'event="turn_end" if="{expression}"')) == [(code, place)]

    def test_two_rules_of_one_id(self):
        """CM-105"""
        text = on(NOTE, 'id="a" event="turn_end"') * 2
        (found,) = loaded(text).diagnostics

        assert (found.code, found.underlined) == ("repeated-rule-id", "a")
        (label,) = found.labels
        assert found.span.start > label.span.start
        assert found.source.slice(label.span) == "a"

    def test_an_id_that_another_rule_has_by_its_place(self):
        text = on(NOTE, 'id="rule-2" event="turn_end"') + on(NOTE)

        assert errors(text) == [("repeated-rule-id", '<on event="turn_start">')]

    @pytest.mark.parametrize("name", ["max_actions_per_event", "max_calls_per_event"])
    def test_limits_that_differ(self, name):
        """CM-A12"""
        assert errors(f'<rules {name}="2"/><rules/><rules {name}="3"/>') == [
            ("conflicting-values", "3")
        ]
        assert errors(f'<rules {name}="2"/><rules {name}="2"/>') == []
        assert errors('<rules trace="true"/><rules trace="false"/>') == [
            ("conflicting-values", "false")
        ]

    def test_all_problems_at_once(self):
        text = """<rules max_actions_per_event="0">
  <on event="turn_edn" if="trun_index > 1"><insert role="dev">x</insert></on>
  text
  <off/>
</rules>
<policy><tool name="X"><quota/></tool></policy>"""

        assert errors(text) == [
            ("wrong-attribute-value", "0"),
            ("unknown-attribute-value", "turn_edn"),
            ("unknown-name", "trun_index"),
            ("unknown-attribute-value", "dev"),
            ("text-in-rules", "text"),
            ("unknown-element", "<off/>"),
            ("missing-attribute", "<quota/>"),
        ]

    def test_no_more_than_a_hundred(self):
        assert len(loaded("<rules>" + "<x/>" * 500 + "</rules>").diagnostics) == 100

    @pytest.mark.parametrize(
        ("text", "help_"),
        [
            (on('<insret role="user">x</insret>'), "did you mean `insert`?"),
            (on(NOTE, 'event="turn_end" cooldown_turn="1"'), "did you mean `cooldown_turns`?"),
            (on(NOTE, 'event="turn_end" if="ever_caled(\'x\')"'), "did you mean `ever_called`?"),
            ('<rules><tool name="X"/></rules>', "move it into `<policy>`"),
            (on(NOTE, 'event="x"'), f"use one of {', '.join(f'`{name}`' for name in EVENTS)}"),
            (
                on("<x/>", 'event="turn_end"'),
                "known here: `agent`, `call`, `compact`, `deny`, `insert`, `set`, `stop`",
            ),
            ('<policy mode="warn"/>', "`<policy>` has no attributes"),
        ],
    )
    def test_help(self, text, help_):
        assert helps(text) == [help_]

    def test_an_element_that_is_not_closed(self):
        """CM-004, CM-011: the line of the start tag, and an orderly end."""
        (found, *_) = loaded('<rules>\n<on event="turn_end">\n</rules>').diagnostics

        assert found.source.position(found.span.start).line == 2
        assert loaded("<rules><on event='turn_end'><stop></on></rules>").groups[1].rules == ()

    def test_a_value_without_quotes(self):
        """CM-007"""
        assert ("unquoted-attribute", "if=turn_index") in errors(
            "<rules><on event='turn_end' if=turn_index>1'><stop/></on></rules>"
        )


class TestVariablesAndIds:
    """CM-054, CM-067: names of the whole file, also of later rules."""

    def test_a_variable_of_a_later_rule(self):
        text = on(NOTE, 'event="turn_end" if="n == 1"') + on('<set var="n" value="1"/>')

        assert len(rules_of(text)) == 2

    def test_a_rule_of_another_block(self):
        text = on(NOTE, "event=\"turn_end\" if=\"since_ms('r') > 1 or since_ms('rule-1') > 2\"")

        assert len(rules_of(text + on(NOTE, 'id="r" event="turn_end"'))) == 2

    @pytest.mark.parametrize("event", ["pre_tool_call", "post_tool_response"])
    def test_arguments_where_there_is_a_call(self, event):
        assert rules_of(on(NOTE, f'event="{event}" if="arg(\'x\') == 1"'))


class TestDoubts:
    """What loads with a warning."""

    @pytest.mark.parametrize(
        ("text", "code", "place"),
        [
            (on(""), "rule-without-effect", '<on event="turn_start">'),
            (policy(""), "rule-without-effect", '<tool name="X">'),
            (policy("<validate/>"), "rule-without-effect", "<validate/>"),
            (on(NOTE, 'event="turn_end" if="turn_index"'), "not-boolean", "turn_index"),
            (policy('<validate><check if="1" message="m"/></validate>'), "not-boolean", "1"),
            (on('<call tool="t">{"a":</call>'), "bad-call-body", ":"),
            (on('<call tool="t">[1]</call>'), "bad-call-body", "[1]"),
            (on('<call tool="t"/>'), "bad-call-body", '<call tool="t"/>'),
            (on('<call tool="t">{a: 1}</call>'), "bad-call-body", "a"),
            (on('<call tool="t">{"a": 1 <!-- x --> 2}</call>'), "bad-call-body", "2"),
        ],
    )
    def test_a_warning(self, text, code, place):
        assert findings(text) == [("warning", code, place)]

    @pytest.mark.parametrize(
        ("body", "code", "place"),
        [
            ('{"a": argg("x")}', "unknown-function", "argg"),
            ('{"a": <!-- why --> arg("x")}', "no-call-here", 'arg("x")'),
            ('{"a": [nosuch]}', "unknown-name", "nosuch"),
            ('{"a": null, "b": 1 + 1}', "unknown-name", "null"),
        ],
    )
    def test_a_body_of_expressions_has_closed_names(self, body, code, place):
        assert errors(on(f'<call tool="t">{body}</call>')) == [(code, place)]


class TestImports:
    """Rules of imported files belong to the chat that imports them."""

    chat = '<user>hi</user>\n<import src="shared.chatmd"/>\n' + on(
        NOTE, 'id="own" event="turn_end"'
    )

    def test_in_source_order_at_the_place_of_the_import(self):
        shared = {"shared.chatmd": "\n\n" + on(NOTE, 'id="shared" event="turn_end"')}
        rules = rules_of(self.chat, shared)

        assert [(rule.id, rule.origin.file, rule.origin.line) for rule in rules] == [
            ("shared", "main.chatmd", 2),
            ("own", "main.chatmd", 3),
        ]

    def test_an_error_there_is_one_of_the_chat(self):
        shared = {"shared.chatmd": "\n<rules>\n<off/></rules>"}

        assert findings(self.chat, shared) == [
            ("error", "unknown-element", '<import src="shared.chatmd"/>')
        ]
        assert headlines(self.chat, shared) == [
            "`shared.chatmd`, line 3: `<off>` is not allowed in `<rules>`"
        ]

    def test_an_error_of_a_file_that_is_imported_there(self):
        files = {
            "shared.chatmd": '<import src="deep/a.chatmd"/>',
            "deep/a.chatmd": "<policy>x</policy>",
        }

        assert findings(self.chat, files) == [
            ("error", "text-in-rules", '<import src="shared.chatmd"/>')
        ]

    def test_ids_are_those_of_one_file(self):
        shared = {"shared.chatmd": on(NOTE, 'id="own" event="turn_end"')}

        assert findings(self.chat, shared) == [("error", "repeated-rule-id", "own")]

    def test_a_file_that_is_not_there(self):
        assert findings(self.chat) == [("error", "chatmd-import", '<import src="shared.chatmd"/>')]


def test_the_text_that_rules_depend_on_gives_the_same_rules():
    from bylaw.languages import chatmd  # noqa: PLC0415 - beside the test that uses it

    text = f"<user>\nhi\n</user>\n{on(NOTE)}\n<assistant>a &lt; b</assistant>\n"
    kept = chatmd.rule_text(SourceFile("main.chatmd", text))

    assert [rule.origin for rule in rules_of(kept)] == [rule.origin for rule in rules_of(text)]
