"""Why it was decided so: rules as they were, values that they read, steps with their outcomes."""

import json
import re

import pytest
from journals import BEGIN, JOURNAL, record, write_rules
from msgspec.structs import replace

import bylaw
from bylaw.engine.view import View
from bylaw.expr.evaluation_trace import State
from bylaw.model.decision import Need, NeedName, TraceResult
from bylaw.model.display import width
from bylaw.model.errors import RuleError
from bylaw.model.event import Bus, ToolAfter, ToolBefore, TurnStart
from bylaw.model.facts import Approval, LawFacts
from bylaw.model.rule import (
    ApprovalGate,
    ApprovalMode,
    CategoryGate,
    EnabledGate,
    EnabledSet,
    Filter,
    Limits,
    Origin,
    PhaseGate,
    Rounds,
    Rule,
    Trigger,
)
from bylaw.model.session import EnabledNames, FiringCount, Session, Turns, Variables
from bylaw.model.vocabulary import ApprovalState, Authority, CallStatus, Kind
from bylaw.report.explain import explain
from bylaw.report.explain_rules import (
    GateState,
    LimitState,
    gate_states,
    limit_states,
    reason_inactive,
    reason_not_evaluated,
)
from bylaw.report.printers.explain import explanation_data, render_explanation
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal, Redactor
from bylaw.store.journal.search import JournalReader, session_before
from recording import use_utc

LINES = """\
# nobody needs it twice
deny tool shell if count_calls('shell') >= 1 because once is enough
on prompt say hello
on turn.start set seen = turn_index
on turn.start if seen > 1 say seen twice
on turn.start if seen and true say never
"""
TOML = """\
[rule]
id = "summary"
trigger = "on_session_end"

[condition]
expression = "context.turn.number > 0"

[action]
type = "log"
message = "the end"
"""
SCRIPTED = """\
[rule]
id = "scripted"
trigger = "on_tool_complete"

[condition]
script = "watch.lua"

[action]
type = "notify_self"
message = "look at {{ context.result.tool_name }}"
"""
SCRIPT = "return context.result.tool_name == 'make'\n"
SHELL = {"kind": "tool.before", "tool": "shell", "args": {"command": "ls"}, "call": "1"}
SHELL_ENDED = {"kind": "tool.after", "tool": "shell", "call": "1", "status": "ok", "result": "x"}


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    use_utc(monkeypatch)
    write_rules(tmp_path, a_lines=LINES)
    return tmp_path


def explained(seq=None, rule=""):
    return explain(JOURNAL, seq, rule, lambda _: None)


def shown(seq=None, rule="", limit=80):
    return render_explanation(explained(seq, rule), limit=limit)


def states(part):
    yield part.text, part.value if part.state is State.VALUE else part.state
    for one in part.parts:
        yield from states(one)


class TestRecord:
    def test_the_newest_that_is_not_quiet(self, monkeypatch):
        record(monkeypatch, [SHELL, SHELL_ENDED, SHELL, {"kind": "session.end"}])
        assert explained().stored.header.seq == 3

    def test_a_journal_in_which_all_is_quiet(self, monkeypatch):
        record(monkeypatch, [SHELL])
        with pytest.raises(JournalError) as refused:
            explained()
        assert refused.value.code == "nothing-decided"

    def test_an_unknown_record(self, monkeypatch):
        record(monkeypatch, [SHELL])
        with pytest.raises(JournalError, match="it has records 1 to 1") as refused:
            explained(2)
        assert refused.value.code == "unknown-record"

    def test_an_empty_journal(self, root):
        (root / JOURNAL).touch()
        with pytest.raises(JournalError, match="it has no records yet"):
            explained(1)

    def test_a_quiet_record(self, monkeypatch):
        record(monkeypatch, [SHELL])
        assert shown(1) == (
            "record 1 of session default, 2026-09-21 14:13:20\n"
            '  tool.before shell {"command": "ls"}\n'
            "\n"
            "verdict allow\n"
            "  no rule fired, failed, or was stopped by a limit or gate\n"
        )

    def test_an_effect_leads_to_its_record(self, monkeypatch):
        record(monkeypatch, [{"kind": "prompt"}])
        assert "outcome of step 1 of record 1" in shown(2)


class TestRules:
    def test_as_they_were_with_the_values_of_then(self, monkeypatch, root):
        record(monkeypatch, [SHELL, SHELL_ENDED, SHELL])
        (root / "rules" / "a.lines").write_text("on prompt say something else\n")
        assert shown() == (
            "record 3 of session default, 2026-09-21 14:13:22\n"
            '  tool.before shell {"command": "ls"}\n'
            "\n"
            "verdict deny\n"
            "  deny line-2 (rules/a.lines:2):\n"
            "    once is enough\n"
            "\n"
            "rule line-2 (rules/a.lines:2)\n"
            "  fired\n"
            "\n"
            " 2 | deny tool shell if count_calls('shell') >= 1 because once is enough\n"
            "\n"
            "  count_calls('shell') >= 1\n"
            "  -------------------- 1\n"
            "  ------------------------- true\n"
        )

    def test_a_rule_sees_what_earlier_rules_wrote(self, monkeypatch):
        record(monkeypatch, [{"kind": "turn.start"}, {"kind": "turn.start"}])
        (rule,) = explained(2, "line-5").rules
        assert dict(states(rule.guard.part))["seen"] == 2
        (rule,) = explained(1, "line-5").rules
        assert (rule.result, dict(states(rule.guard.part))["seen"]) == (
            TraceResult.GUARD_FALSE,
            1,
        )

    def test_a_guard_that_failed(self, monkeypatch):
        record(monkeypatch, [{"kind": "turn.start"}])
        (rule,) = explained(1, "line-6").rules
        assert rule.result is TraceResult.GUARD_ERROR
        text = shown(1, "line-6")
        assert "its condition failed: guard-type: in `seen`: a boolean is needed" in text
        assert "  seen and true\n  ---- 1\n  ------------- failed\n" in text
        assert text.count("a boolean is needed") == 1

    def test_one_rule_of_several(self, monkeypatch):
        record(monkeypatch, [{"kind": "turn.start"}, {"kind": "turn.start"}])
        found = explained(2, "line-4")
        assert [rule.id for rule in found.rules] == ["line-4"]
        assert [step.plan.rule for step in found.steps] == ["line-4"]
        assert len(explained(2).rules) == 3

    def test_a_rule_that_was_not_asked(self, monkeypatch):
        record(monkeypatch, [SHELL])
        (rule,) = explained(1, "line-3").rules
        assert (rule.result, rule.detail) == (
            None,
            "it fires on prompt, and this event is tool.before",
        )
        assert "was not evaluated: it fires on prompt" in shown(1, "line-3")

    def test_a_rule_that_was_switched_off(self, monkeypatch):
        with bylaw.Engine(bylaw.load(), journal=JOURNAL) as engine:
            engine.disable("line-3")
            engine.submit({"kind": "prompt"})
            number = engine._loop().journal.query("SELECT max(seq) FROM records")[0][0]
        (rule,) = explained(number, "line-3").rules
        assert (rule.result, rule.detail) == (TraceResult.NOT_LIVE, "it is disabled")

    def test_an_unknown_rule(self, monkeypatch):
        record(monkeypatch, [SHELL])
        with pytest.raises(RuleError, match="did you mean `line-2`"):
            explained(1, "lin-2")

    def test_a_limit_with_its_counter(self, monkeypatch, root):
        write_rules(root, a_toml=TOML)
        record(monkeypatch, [{"kind": "session.end"}, {"kind": "session.end"}])
        assert "once a session, fired 0 times: does not apply" in shown(1)
        text = shown()
        assert "did not fire because of a limit: once" in text
        assert "once a session, fired 1 time, last at 2026-09-21 14:13:20: applies" in text

    def test_a_script_with_its_input_and_result(self, monkeypatch, root):
        write_rules(root, s_toml=SCRIPTED, watch_lua=SCRIPT)
        record(monkeypatch, [{**SHELL_ENDED, "tool": tool} for tool in ("make", "ls")])
        (root / "rules" / "watch.lua").unlink()
        (rule,) = explained(1, "scripted").rules
        (fact,) = rule.asked
        assert fact.script.path == "watch.lua"
        assert fact.script.lines == (SCRIPT.rstrip(),)
        assert fact.input["result"]["tool_name"] == "make"
        assert fact.found == {"value": True}
        text = shown(1, "scripted")
        assert " 1 | return context.result.tool_name == 'make'" in text
        assert 'returned: {"value": true}' in text
        number = 2 if explained(2).stored.header.kind == "tool.after" else 4
        assert 'returned: {"value": false}' in shown(number, "scripted")

    def test_what_stands_in_for_a_broken_file(self, monkeypatch, root):
        write_rules(root, b_lines="deny everything\n")
        record(monkeypatch, [SHELL])
        text = shown()
        assert "rule does-not-load:rules/b.lines (rules/b.lines:1)\n  fired\n" in text

    def test_rules_without_texts(self, monkeypatch):
        with bylaw.Engine(bylaw.load().in_force(), journal=JOURNAL) as engine:
            engine.submit({"kind": "prompt"})
        text = shown()
        assert "rule line-3\n  fired\n" in text
        assert "note: the rules of this record are not stored" in text
        with pytest.raises(RuleError, match="are not stored"):
            explained(1, "line-2")


class TestSteps:
    def test_outcomes(self, monkeypatch):
        record(monkeypatch, [{"kind": "prompt"}, {"kind": "turn.start"}])
        (step,) = explained(1).steps
        assert (step.number, step.step.text, step.status) == (1, "hello", "ok")
        assert '  1 message.insert developer: "hello" (line-3) → ok\n' in shown(1)
        (step,) = [one for one in explained(4).steps if one.plan.rule == "line-4"]
        assert step.status == "at once"

    def test_a_step_that_the_host_cannot_do(self, monkeypatch, root):
        write_rules(root, a_lines="on prompt run make test\n")
        record(monkeypatch, [{"kind": "prompt"}])
        (step,) = explained(1).steps
        assert step.status in {"not_carried_out", "refused"}

    def test_steps_that_were_never_begun(self, monkeypatch):
        record(monkeypatch, [{"kind": "prompt"}])
        with Journal(JOURNAL) as journal:
            journal.query("DELETE FROM payloads WHERE seq = 2")
        (step,) = explained(1).steps
        assert step.status == "not performed"


class TestDoubts:
    def test_an_erased_payload(self, monkeypatch):
        record(monkeypatch, [{"kind": "prompt"}])
        with Journal(JOURNAL) as journal:
            journal.query("DELETE FROM payloads")
        text = shown()
        assert "note: the payload of this record was erased" in text
        assert explanation_data(explained())["rules"] == []

    def test_erased_records_before(self, monkeypatch):
        record(monkeypatch, [SHELL, SHELL_ENDED, SHELL])
        with Journal(JOURNAL) as journal:
            journal.query("DELETE FROM payloads WHERE seq = 2")
        text = " ".join(shown(3).split())
        assert "payloads of earlier records of the session are gone (1)" in text
        assert "replay gives guard_false for `lines:rules/a.lines#line-2`" in text
        assert "the record says fired" in text

    def test_a_rule_that_would_fire_only_now(self, monkeypatch, root):
        write_rules(root, a_lines="deny tool shell if count_calls('shell') == 0 because test\n")
        record(monkeypatch, [SHELL_ENDED, SHELL])
        with Journal(JOURNAL) as journal:
            journal.query("DELETE FROM payloads WHERE seq = 1")
        found = explained(2, "line-1")
        assert found.rules[0].result is TraceResult.GUARD_FALSE
        replayed = (
            "replay gives fired for `lines:rules/a.lines#line-1`; the record says guard_false"
        )
        assert replayed in found.notes

    def test_a_redacted_record(self, monkeypatch):
        redactor = Redactor([re.compile("token=[a-z]{1,20}")])
        with (
            Journal(JOURNAL, redactor=redactor) as journal,
            bylaw.Engine(bylaw.load(), journal=journal) as engine,
        ):
            engine.submit({"kind": "prompt", "text": "token=abc"})
        text = " ".join(shown(1).split())
        assert "abc" not in text
        assert "note: this record was redacted" in text

    def test_another_version(self, monkeypatch):
        record(monkeypatch, [{"kind": "prompt"}])
        with Journal(JOURNAL) as journal:
            journal.query("UPDATE records SET version = '0.0.1'")
        assert "note: Bylaw 0.0.1 decided this" in shown(1)


def test_the_session_is_folded_as_it_was(monkeypatch):
    events = [SHELL, SHELL_ENDED, {"kind": "prompt", "text": "x"}, {"kind": "turn.start"}, SHELL]
    record(monkeypatch, events)
    with Journal(JOURNAL) as journal, JournalReader(JOURNAL) as reader:
        folded = session_before(reader, "default", reader.newest + 1, lambda _: None)
        assert folded == (journal.session("default"), 0)


def test_no_line_of_ours_is_wider_than_the_screen(monkeypatch):
    record(monkeypatch, [{"kind": "prompt", "text": "long " * 100}, SHELL, SHELL_ENDED, SHELL])
    for seq in range(1, 7):
        for limit in (60, 80):
            lines = [line for line in shown(seq, limit=limit).splitlines() if " | " not in line]
            assert max(map(width, lines)) <= limit


def test_foreign_text_is_made_visible(monkeypatch, root):
    write_rules(root, a_lines="deny tool shell because \x1b[31mred\n")
    record(monkeypatch, [{**SHELL, "args": {"a": "\u202e"}}])
    text = shown()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\u{1b}[31mred" in text


def test_data(monkeypatch):
    record(monkeypatch, [SHELL, SHELL_ENDED, SHELL])
    data = json.loads(json.dumps(explanation_data(explained())))
    assert data["record"]["seq"] == 3
    assert data["reasons"][0]["text"] == "once is enough"
    (rule,) = data["rules"]
    assert (rule["uid"], rule["result"]) == ("lines:rules/a.lines#line-2", "fired")
    assert rule["text"]["line"] == 2
    assert rule["guard"] == {
        "text": "count_calls('shell') >= 1",
        "error": "",
        "part": {
            "start": 0,
            "end": 25,
            "text": "count_calls('shell') >= 1",
            "state": "value",
            "value": True,
            "error": "",
            "parts": [
                {
                    "start": 0,
                    "end": 20,
                    "text": "count_calls('shell')",
                    "state": "value",
                    "value": 1,
                    "error": "",
                    "parts": [],
                }
            ],
        },
    }


class TestCircumstances:
    def rule(self, **more):
        return Rule(
            uid="x:a#one",
            id="one",
            origin=Origin("a", 1, 1, ""),
            on=more.pop("on", Trigger(kinds=(Kind.TURN_START,))),
            **more,
        )

    def view(self, event=None, **session):
        return View.of(Session(**session), event or TurnStart(seq=9, at=BEGIN + 700))

    def test_limits_before_the_first_firing(self):
        rule = self.rule(limits=Limits(once=True, cooldown_turns=5, cooldown_ms=1_000))
        found = list(limit_states(rule, self.view()))
        assert [(one.name, one.value, one.closed) for one in found] == [
            ("once", 1, False),
            ("cooldown_turns", 5, False),
            ("cooldown_ms", 1_000, False),
        ]

    def test_limits_with_their_counters(self):
        rule = self.rule(limits=Limits(cooldown_turns=5, cooldown_ms=1_000))
        firings = {"x:a#one": FiringCount(count=2, turn=1, at=BEGIN)}
        view = self.view(firings=firings, turns=Turns(completed=4))
        turns, ms = limit_states(rule, view)
        assert (turns.counted, turns.fired, turns.closed) == (3, 2, True)
        assert (ms.counted, ms.last_at, ms.closed) == (700, BEGIN, True)

    def test_limits_in_words(self, monkeypatch):
        record(monkeypatch, [{"kind": "prompt"}])
        found = explained(1)
        limits = [
            LimitState("cooldown_turns", 5, 2, BEGIN, 1, 3, closed=True),
            LimitState("cooldown_ms", 1_500, 0, 0, 0, 0, closed=False),
        ]
        gate = GateState("phase", "1, 3", "2", open=False)
        rule = replace(found.rules[0], limits=tuple(limits), gates=(gate,))
        text = render_explanation(replace(found, rules=(rule,)), limit=100)
        assert (
            "  cool-down of 5 turns, 3 of them have passed, fired 2 times,"
            " last at 2026-09-21 14:13:20: applies\n"
            "  cool-down of 1,500 ms, fired 0 times: does not apply\n"
            "\n"
            "  gate phase: needs 1, 3, found 2: closed\n"
        ) in text

    def test_a_cool_down_ends_where_the_engine_says(self):
        rule = self.rule(limits=Limits(cooldown_turns=2))
        firings = {"x:a#one": FiringCount(count=1, turn=1, at=BEGIN)}
        closed = [
            next(limit_states(rule, self.view(firings=firings, turns=Turns(completed=done)))).closed
            for done in range(5)
        ]
        assert closed == [True, True, True, False, False]

    def test_gates(self):
        message = {"msg_id": "m", "category": "B"}
        approvals = (Approval(id="m", authority="human", state=ApprovalState.GRANTED),)
        event = Bus(message=message, facts=LawFacts(phase=2, approvals=approvals))
        rule = self.rule(
            gates=(
                EnabledGate(EnabledSet.PROTOCOLS, "p"),
                PhaseGate((1, 3)),
                CategoryGate(("B", "C")),
                ApprovalGate(ApprovalMode.DUAL, (Authority.HUMAN, Authority.ANTIGRAVITY)),
            )
        )
        view = self.view(event, slate=Variables(enabled=EnabledNames(protocols=("p", "q"))))
        assert [(one.name, one.wants, one.found, one.open) for one in gate_states(rule, view)] == [
            ("enabled protocols", "p", "p, q", True),
            ("phase", "1, 3", "2", False),
            ("category", "B, C", "B", True),
            ("approval", "dual of human, antigravity", "human", False),
        ]

    def test_why_a_rule_is_not_live(self):
        assert "in its file" in reason_inactive(self.rule(enabled=False), TurnStart())
        assert "another round" in reason_inactive(self.rule(), TurnStart())

    @pytest.mark.parametrize(
        ("more", "event", "words"),
        [
            ({}, ToolBefore(tool="x"), "it fires on turn.start, and this event is tool.before"),
            ({"status": (CallStatus.OK,)}, ToolAfter(tool="x", status=CallStatus.ERROR), "with ok"),
            ({}, ToolAfter(tool="x", status=CallStatus.DENIED), "did not run"),
            (
                {"rounds": Rounds.FIRST},
                ToolAfter(tool="x", status=CallStatus.OK, round=2),
                "second",
            ),
            ({"tools": ("y",)}, ToolAfter(tool="x", status=CallStatus.OK), "the tool y, not x"),
            ({}, ToolAfter(tool="x", status=CallStatus.OK), "an earlier rule ended its group"),
        ],
    )
    def test_why_a_rule_is_not_asked(self, more, event, words):
        tools = more.pop("tools", ())
        kinds = (Kind.TURN_START,) if isinstance(event, ToolBefore) else (Kind.TOOL_AFTER,)
        rule = self.rule(on=Trigger(kinds=kinds, **more), filter=Filter(tools=tools))
        assert words in reason_not_evaluated(rule, event)


def test_a_fact_that_nobody_has_any_more(monkeypatch, root):
    write_rules(root, s_toml=SCRIPTED, watch_lua=SCRIPT)
    record(monkeypatch, [{**SHELL_ENDED, "tool": "make"}])
    with Journal(JOURNAL) as journal:
        ((data,),) = journal.query("SELECT event FROM payloads WHERE seq = 1")
        event = json.loads(data)
        event["facts"].pop("scripts")
        journal.query("UPDATE payloads SET event = ? WHERE seq = 1", (json.dumps(event).encode(),))
    found = explained(1, "scripted")
    assert any("facts that a rule asked for" in note for note in found.notes)
    assert [fact.known for fact in found.rules[0].asked] == [False]
    assert Need(NeedName.SCRIPTS, found.rules[0].asked[0].key).name == "scripts"
    assert "returned: not in the record" in shown(1, "scripted")
