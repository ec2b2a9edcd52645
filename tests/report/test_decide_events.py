"""The engine on a pipe, as data."""

import io
import json

import pytest
from deciding_books import Says, When, rule, rule_set, uid
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bylaw.engine.plan import MAX_CAUSED
from bylaw.model.decision import Match, Need, NeedName, Needs
from bylaw.model.effects import (
    CommandRun,
    EventEmit,
    HistoryCompact,
    Log,
    MessageInsert,
    Notify,
    Outcome,
    OutcomePart,
    OutputReplace,
    RulesEnable,
    StateSet,
    ToolCall,
)
from bylaw.model.event import (
    AgentStop,
    Bus,
    Custom,
    Message,
    Prompt,
    ToolBefore,
    TurnEnd,
    TurnStart,
)
from bylaw.model.facts import LawFacts, ScriptResult
from bylaw.model.rule import Filter, Limits, RuleVerdict
from bylaw.model.vocabulary import DeliverAt, Kind, Role, Verdict
from bylaw.report.decide import MAX_LINE_BYTES, EventDecider, read_lines

START, MESSAGE, CUSTOM = Kind.TURN_START, Kind.MESSAGE, Kind.CUSTOM
BEFORE, AFTER, STOP = Kind.TOOL_BEFORE, Kind.TOOL_AFTER, Kind.AGENT_STOP
SHAPE = ["seq", "kind", "session", "verdict", "reasons", "effects", "trace", "caused"]


def insert(text, role=Role.DEVELOPER):
    return MessageInsert(role=role, text=text)


def put(name, value, space="hand:book"):
    return StateSet(space=space, name=name, value=value)


def decider(*rules, with_state=True, **more):
    return EventDecider(rule_set(*rules), with_state=with_state, **more)


def decided(rules, *events, **more):
    """The line of the last event."""
    deciding = decider(*rules, **more)
    return [deciding.decide(event) for event in events][-1]


def answers(rules, text, **more):
    return list(decider(*rules, **more).decide_stream(io.BytesIO(text)))


class TestShape:
    def test_a_line_has_exactly_the_public_fields_in_order(self):
        rules = [rule("no-rm", BEFORE, deny="never rm", line=7)]

        line = decided(rules, ToolBefore(tool="rm"), with_state=False)

        assert list(line) == SHAPE
        assert {key: line[key] for key in SHAPE[:7]} == {
            "seq": 1,
            "kind": "tool.before",
            "session": "default",
            "verdict": "deny",
            "reasons": [
                {
                    "rule": "no-rm",
                    "uid": uid("no-rm"),
                    "file": "book",
                    "line": 7,
                    "verdict": "deny",
                    "text": "never rm",
                }
            ],
            "effects": [],
            "trace": [{"uid": uid("no-rm"), "result": "fired", "detail": ""}],
        }

    def test_state_is_added_when_it_is_asked_for(self):
        assert list(decided([], TurnStart())) == [*SHAPE, "state"]

    def test_an_effect_is_op_rule_uid_and_all_parameters(self):
        run = CommandRun(argv=("make", "test"), cwd=".", timeout_s=5)

        line = decided([rule("r", STOP, run)], AgentStop())

        assert line["effects"] == [
            {
                "op": "command.run",
                "rule": "r",
                "uid": uid("r"),
                "argv": ["make", "test"],
                "cwd": ".",
                "timeout_s": 5,
                "check_idempotent": False,
                "files": [],
                "root_at": [],
            }
        ]
        assert list(line["effects"][0])[:3] == ["op", "rule", "uid"]

    def test_references_to_outcomes_are_printed_as_they_are(self):
        text = ("it said: ", Outcome(OutcomePart.ERROR))
        rules = [rule("r", STOP, OutputReplace(text=text), OutputReplace(text=text[1]))]

        first, second = decided(rules, AgentStop())["effects"]

        assert first["text"] == ["it said: ", {"outcome": "error"}]
        assert second["text"] == {"outcome": "error"}

    def test_every_rule_that_was_looked_at_is_in_the_trace(self):
        rules = [
            rule("once", START, Log(text="x"), limits=Limits(once=True)),
            rule("never", START, Log(text="x"), guard=When(lambda view: None)),
        ]

        line = decided(rules, TurnStart(), TurnStart())

        assert [(one["uid"], one["result"], one["detail"]) for one in line["trace"]] == [
            (uid("once"), "limited", "once"),
            (uid("never"), "guard_false", ""),
        ]

    def test_a_number_that_json_cannot_say_is_never_stored(self):
        line = decided([rule("r", START, put("n", float("inf")))], TurnStart())

        assert line["effects"] == []
        assert line["state"]["variables"] == {}
        assert "value-not-finite" in line["trace"][0]["detail"]


class TestStamps:
    def test_seq_counts_the_events_of_all_sessions(self):
        lines = answers([], b'{"kind":"turn.start","session":"a"}\n{"kind":"turn.start"}\n')

        assert [(line["seq"], line["session"]) for line in lines] == [(1, "a"), (2, "default")]

    def test_a_given_seq_is_kept_and_counting_goes_on_behind_it(self):
        deciding = decider()
        events = TurnStart(), TurnStart(seq=10), TurnStart(seq=4), TurnStart()

        assert [deciding.decide(event)["seq"] for event in events] == [1, 10, 4, 11]

    def test_at_is_one_more_than_before_and_never_goes_back(self):
        seen = []
        spy = When(lambda view: seen.append(view.event.at))
        deciding = decider(rule("spy", START, guard=spy))
        for event in (
            TurnStart(),
            TurnStart(),
            TurnStart(at=1000),
            TurnStart(at=500),
            TurnStart(),
            TurnStart(session="other"),
        ):
            deciding.decide(event)

        assert seen == [1, 2, 1000, 1000, 1001, 1]

    def test_a_caused_event_has_the_time_of_its_parent_and_a_longer_cause(self):
        seen = []

        def spy(view):
            seen.append((view.event.at, view.event.cause, view.event.session))

        rules = [rule("say", START, insert("hi")), rule("spy", MESSAGE, guard=When(spy))]
        decided(rules, TurnStart(at=70, session="s"))

        assert seen == [(70, (uid("say"),), "s")]


class TestSessions:
    rules = (rule("r", START, Log(text="x"), limits=Limits(once=True)),)

    def test_sessions_do_not_touch_each_other(self):
        deciding = decider(*self.rules)
        fired = [
            bool(deciding.decide(TurnStart(session=name))["effects"]) for name in ("a", "b", "a")
        ]

        assert fired == [True, True, False]

    def test_state_is_that_of_the_session_of_the_event(self):
        deciding = decider(*self.rules)
        turns = [
            deciding.decide(TurnStart(session=name))["state"]["turn"] for name in ("a", "a", "b")
        ]

        assert turns == [1, 2, 1]

    def test_one_session_too_many_is_an_error_of_that_line(self, monkeypatch):
        monkeypatch.setattr("bylaw.runtime.submit.MAX_SESSIONS", 2)
        text = b"".join(b'{"kind":"turn.start","session":"%c"}\n' % name for name in b"abca")

        lines = answers([], text)

        assert [line.get("error", {}).get("code") for line in lines] == [
            None,
            None,
            "too-many-sessions",
            None,
        ]


class TestState:
    def test_all_that_rules_may_read(self):
        rules = [
            rule("vars", START, put("n", 1), put("n", 2), put("m", [1], space="hand:other")),
            rule("on", START, RulesEnable(responses=("short",), workflows=("w",))),
            rule("later", START, Notify(text="soon", deliver_at=DeliverAt.AFTER_TOOL)),
        ]
        deciding = decider(*rules)
        for event in (
            TurnStart(),
            Message(role=Role.USER, text="12345678"),
            ToolBefore(tool="ls", call="c"),
        ):
            line = deciding.decide(event)

        assert line["state"] == {
            "turn": 1,
            "variables": {"hand:book": {"n": 2}, "hand:other": {"m": [1]}},
            "enabled": {"responses": ["short"], "workflows": ["w"], "protocols": []},
            "response": "",
            "calls": {},
            "pending": [{"tool": "ls", "call": "c"}],
            "history": {"length": 1, "tokens": 2, "last_role": "user"},
            "firings": {uid("vars"): 1, uid("on"): 1, uid("later"): 1},
            "notices": 1,
        }

    def test_is_that_after_all_caused_events(self):
        rules = [rule("say", START, insert("hi")), rule("note", MESSAGE, put("seen", True))]

        line = decided(rules, TurnStart())

        assert line["state"]["history"]["length"] == 1
        assert line["state"]["variables"] == {"hand:book": {"seen": True}}

    def test_an_effect_event_is_folded(self):
        rules = [rule("later", START, Notify(text="soon", deliver_at=DeliverAt.AFTER_TOOL))]
        text = b"\n".join(
            [
                b'{"kind": "turn.start"}',
                b'{"kind": "tool.after", "tool": "ls", "status": "ok"}',
                b'{"kind": "effect", "of": 2, "step": 1, "op": "log", "status": "failed"}',
            ]
        )

        lines = answers(rules, text)

        assert [line["state"]["notices"] for line in lines] == [1, 0, 1]
        assert [one["text"] for one in lines[1]["effects"]] == ["soon"]


class TestCaused:
    def test_an_insert_causes_a_message_without_seq(self):
        line = decided([rule("say", START, insert("hi"))], TurnStart(session="s"))

        assert line["caused"] == [
            {
                "kind": "message",
                "session": "s",
                "cause": [uid("say")],
                "role": "developer",
                "text": "hi",
                "verdict": "allow",
                "reasons": [],
                "effects": [],
                "trace": [],
                "caused": [],
            }
        ]

    def test_an_emit_causes_a_custom_event_that_rules_see(self):
        rules = [
            rule("emit", START, EventEmit(type="t", payload={"n": 1})),
            rule("see", CUSTOM, put("n", 1)),
        ]

        (caused,) = decided(rules, TurnStart())["caused"]

        assert (caused["kind"], caused["type"], caused["payload"]) == ("custom", "t", {"n": 1})
        assert [one["rule"] for one in caused["effects"]] == ["see"]

    def test_each_stands_in_the_event_whose_plan_made_it(self):
        rules = [
            rule("emit", START, EventEmit(type="t")),
            rule("say", CUSTOM, insert("hi")),
        ]

        (custom,) = decided(rules, TurnStart())["caused"]
        (message,) = custom["caused"]

        assert message["cause"] == [uid("emit"), uid("say")]

    def test_first_in_first_out(self):
        order = []
        spy = When(lambda view: order.append(getattr(view.event, "text", None) or "custom"))
        rules = [
            rule("emit", START, EventEmit(type="t"), insert("second")),
            rule("say", CUSTOM, insert("third")),
            rule("spy-m", MESSAGE, guard=spy),
            rule("spy-c", CUSTOM, guard=spy),
        ]

        line = decided(rules, TurnStart())

        assert order == ["custom", "second", "third"]
        assert [one["kind"] for one in line["caused"]] == ["custom", "message"]

    def test_a_rule_does_not_act_on_what_it_caused(self):
        line = decided([rule("echo", MESSAGE, insert("again"))], Message(role=Role.USER, text="x"))

        (caused,) = line["caused"]
        assert [one["result"] for one in caused["trace"]] == ["suppressed"]
        assert caused["caused"] == []

    def test_plans_with_again_are_not_repeated(self):
        rules = [rule("r", STOP, Log(text="x"), again=True)]

        line = decided(rules, AgentStop())
        second = decided(rules, AgentStop(), AgentStop(round=2))

        assert line["caused"] == []
        assert second["seq"] == 2

    def test_compaction_changes_nothing_until_a_history_event(self):
        rules = [rule("r", START, HistoryCompact(keep="latest:1", strategy="summary"))]
        text = b"\n".join(
            [
                b'{"kind": "message", "role": "user", "text": "1"}',
                b'{"kind": "message", "role": "user", "text": "2"}',
                b'{"kind": "turn.start"}',
                b'{"kind": "history", "length": 1, "tokens": 5}',
            ]
        )

        lines = answers(rules, text)

        assert lines[2]["caused"] == []
        assert [line["state"]["history"]["length"] for line in lines] == [1, 2, 2, 1]
        assert lines[3]["state"]["history"]["tokens"] == 5


class TestDenials:
    def test_a_denied_call_is_answered_before_its_plans(self):
        rules = [
            rule("a", BEFORE, deny="one"),
            rule("b", BEFORE, insert("hint"), deny="two"),
        ]

        answer, hint = decided(rules, ToolBefore(tool="rm"))["caused"]

        assert (answer["role"], answer["text"]) == ("tool", "one\ntwo")
        assert answer["cause"] == [uid("a"), uid("b")]
        assert (hint["role"], hint["text"]) == ("developer", "hint")

    def test_a_denied_call_is_not_under_way(self):
        line = decided([rule("a", BEFORE, deny="no")], ToolBefore(tool="rm"))

        assert line["state"]["pending"] == []


class TestCalls:
    call = ToolCall(tool="search", args={"q": 1})

    def test_a_call_is_judged_and_under_way_until_its_tool_after(self):
        rules = [rule("auto", START, Log(text="x"), self.call)]
        text = b"\n".join(
            [
                b'{"kind": "turn.start"}',
                b'{"kind": "tool.after", "tool": "search", "call": "rule-1-2", "status": "ok"}',
            ]
        )

        first, second = answers(rules, text)
        (before,) = first["caused"]

        assert before["kind"] == "tool.before"
        assert (before["tool"], before["args"], before["call"]) == ("search", {"q": 1}, "rule-1-2")
        assert first["state"]["pending"] == [{"tool": "search", "call": "rule-1-2"}]
        assert (second["state"]["pending"], second["state"]["calls"]) == ([], {"search": 1})

    def test_calls_of_caused_events_have_ids_of_their_own(self):
        rules = [
            rule("auto", START, self.call, insert("hi")),
            rule("more", MESSAGE, self.call, self.call),
        ]

        line = decided(rules, TurnStart())

        assert [one["call"] for one in line["state"]["pending"]] == [
            "rule-1-1",
            "rule-1-3",
            "rule-1-4",
        ]

    def test_a_denied_call_is_refused_and_drops_the_rest_of_its_plan(self):
        rules = [
            rule("auto", START, Log(text="first"), self.call, insert("found it"), put("n", 1)),
            rule("other", START, insert("still here")),
            rule("policy", BEFORE, deny="no", filter=Filter(tools=("search",))),
        ]

        line = decided(rules, TurnStart())
        marks = [(one["op"], one.get("status"), one.get("dropped")) for one in line["effects"]]

        assert marks == [
            ("log", None, None),
            ("tool.call", "refused", None),
            ("message.insert", None, True),
            ("state.set", None, True),
            ("message.insert", None, None),
        ]
        assert line["state"]["variables"] == {}
        before, message = line["caused"]
        assert before["verdict"] == "deny"
        assert [one["text"] for one in before["caused"]] == ["no"]
        assert message["text"] == "still here"

    def test_on_error_steps_of_a_refused_call_follow_at_the_end(self):
        sorry = insert((Outcome(OutcomePart.ERROR), "!"))
        rules = [
            rule("auto", START, self.call, on_error=[sorry]),
            rule("policy", BEFORE, deny="no"),
        ]

        line = decided(rules, TurnStart())

        assert [(one["op"], one.get("status")) for one in line["effects"]] == [
            ("tool.call", "refused"),
            ("message.insert", None),
        ]
        assert line["caused"][-1]["text"] == "the call was denied!"

    def test_a_call_that_a_person_would_have_to_allow_is_refused_and_never_made(self):
        """As when it is carried out: there is nobody to ask inside a plan."""
        asks = RuleVerdict(Verdict.ASK, Says("may I?"))
        rules = [
            rule("auto", START, self.call, insert("found it")),
            rule("policy", BEFORE, judgement=asks, filter=Filter(tools=("search",))),
        ]

        line = decided(rules, TurnStart(), TurnEnd(), TurnStart())

        assert [one.get("status") for one in line["effects"]] == ["refused", None]
        assert line["state"]["pending"] == []
        assert line["state"]["calls"] == {}

    def test_a_step_succeeds_until_somebody_says_otherwise(self):
        run = CommandRun(argv=("make",), cwd=".", timeout_s=5)

        line = decided(
            [rule("r", STOP, run, insert("done"), on_error=[Log(text="!")])], AgentStop()
        )

        assert [one["op"] for one in line["effects"]] == ["command.run", "message.insert"]
        assert [one["text"] for one in line["caused"]] == ["done"]


class TestBounds:
    def test_invariant_6_a_chain_of_nine_is_refused_and_says_so(self):
        rules = [rule(f"r{n}", CUSTOM, EventEmit(type=str(n)), line=n) for n in range(12)]
        cause = tuple(uid(f"r{n}") for n in range(8))

        line = decided(rules, Custom(type="t", cause=cause))

        assert line["caused"] == []
        assert {one["status"] for one in line["effects"]} == {"refused"}
        assert len(line["effects"]) == 4

    def test_one_event_causes_a_bounded_number_of_others(self):
        rules = [rule(f"r{n}", CUSTOM, EventEmit(type="t"), line=n) for n in range(12)]

        line = decided(rules, Custom(type="t"), with_state=False)

        assert count_caused(line) == MAX_CAUSED


def count_caused(line):
    return sum(1 + count_caused(one) for one in line["caused"])


class TestFacts:
    def test_a_need_that_nobody_gathers_is_unknown(self):
        rules = [rule("r", Kind.BUS, needs=(Need(NeedName.APPROVALS, "7"),), deny="x")]

        line = decided(rules, Bus(message={}))

        assert line["trace"][0]["result"] == "guard_error"
        assert line["trace"][0]["detail"].startswith("fact-unknown: ")

    def test_a_need_that_the_event_answers_is_not_asked(self):
        rules = [rule("r", Kind.BUS, needs=(Need(NeedName.APPROVALS, "7"),), deny="x")]

        line = decided(rules, Bus(message={}, facts=LawFacts(approvals=())))

        assert line["trace"][0]["result"] == "fired"

    def test_a_script_is_run(self):
        asked = []

        def run(event, need):
            asked.append(need.key)
            return replace(event.facts, scripts={need.key: ScriptResult(value=True)})

        def truth(view):
            return Match() if view.fact(Need(NeedName.SCRIPTS, "d")).value else None

        line = decided(
            [rule("r", START, Log(text="x"), guard=When(truth))],
            TurnStart(),
            gatherers={NeedName.SCRIPTS: run},
        )

        assert asked == ["d"]
        assert line["trace"][0]["result"] == "fired"

    @pytest.mark.parametrize("gathered", [True, False])
    def test_asking_ends_after_four_rounds(self, gathered):
        keys = []

        def gather(event, need):
            return event.facts if gathered else None

        def ask(view):
            keys.append(len(keys))
            return Needs((Need(NeedName.SCRIPTS, str(len(keys))),))

        line = decided(
            [rule("r", START, deny="x", guard=When(ask)), rule("s", START, Log(text="x"))],
            TurnStart(),
            gatherers={NeedName.SCRIPTS: gather},
        )

        assert len(keys) == 6  # four were gathered, the fifth ends it, the sixth fails
        assert line["trace"][0]["detail"].startswith("fact-missing: ")
        assert line["verdict"] == "deny"
        assert line["trace"][1]["result"] == "fired"

    def test_a_check_that_insists_on_an_unknown_fact_fails(self):
        def ask(view):
            return Needs((Need(NeedName.SCRIPTS, "d"),))

        line = decided([rule("r", START, deny="x", guard=When(ask))], TurnStart())

        assert line["trace"][0]["detail"].startswith("fact-unknown: ")


class TestLines:
    def test_a_line_that_is_no_event_gives_an_error_in_its_place(self):
        text = b'{"kind": "turn.start"}\n\n  \r\nnope\n{"kind": "turn.strt"}\r\n{"kind": "prompt"}'

        lines = answers([], text)

        assert [line.get("seq") for line in lines] == [1, None, None, 2]
        assert lines[1] == {
            "error": {
                "code": "event-syntax",
                "message": "the line is not JSON: a value is needed here; see column 1",
                "line": 4,
            }
        }
        assert (lines[2]["error"]["code"], lines[2]["error"]["line"]) == ("event-kind", 5)

    @pytest.mark.parametrize(
        "data",
        [
            b"\x00",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"kind": "prompt", "text": "\\ud800"}',
            b'{"kind": "prompt", "kind": "prompt"}',
            b"1",
            b"null",
            b'{"kind": "turn.start", "seq": -5}',
            b'{"kind": "turn.start", "at": 1e400}',
        ],
        ids=lambda data: repr(data[:20]),
    )
    def test_hostile_lines(self, data):
        error, after = answers([], data + b'\n{"kind": "turn.start"}\n')

        assert error["error"]["line"] == 1
        assert after["seq"] == 1

    def test_a_byte_order_mark_is_no_mistake(self):
        (line,) = answers([], b'\xef\xbb\xbf{"kind": "turn.start"}\n')

        assert line["seq"] == 1

    def test_a_line_that_is_too_long_is_skipped_in_pieces(self):
        stream = Endless(b'{"kind": "prompt", "text": "', MAX_LINE_BYTES * 3)

        error, after = decider().decide_stream(stream)

        assert error["error"]["code"] == "event-too-long"
        assert after["kind"] == "turn.start"
        assert stream.largest <= MAX_LINE_BYTES + 1

    def test_the_longest_line_is_read(self):
        head, tail = b'{"kind": "prompt", "text": "', b'"}'
        line = head + b"a" * (MAX_LINE_BYTES - len(head) - len(tail)) + tail

        assert [found.data for found in read_lines(io.BytesIO(line))] == [line]
        assert [found.data for found in read_lines(io.BytesIO(line + b"\n"))] == [line]
        assert [found.data for found in read_lines(io.BytesIO(line + b" "))] == [None]

    def test_only_one_line_is_read_at_a_time(self):
        stream = io.BytesIO(b'{"kind": "turn.start"}\n' * 3)

        next(decider().decide_stream(stream))

        assert stream.tell() == len(stream.getvalue()) // 3


class Endless(io.BytesIO):
    """A long line, then an event; knows the largest piece that was asked for."""

    def __init__(self, head, length):
        super().__init__(head + b"a" * length + b'\n{"kind": "turn.start"}\n')
        self.largest = 0

    def readline(self, size=-1):
        self.largest = max(self.largest, size)
        return super().readline(size)


EVENTS = st.one_of(
    st.builds(TurnStart, session=st.sampled_from("ab")),
    st.builds(Message, role=st.sampled_from(Role), text=st.text(max_size=5)),
    st.builds(ToolBefore, tool=st.sampled_from(["ls", "rm"]), call=st.sampled_from(["", "c"])),
    st.builds(Prompt, at=st.integers(0, 50)),
    st.builds(AgentStop),
    st.builds(Custom, type=st.just("t")),
)
RULES = [
    rule("say", START, insert("hi"), ToolCall(tool="rm")),
    rule("no-rm", BEFORE, insert("hint"), deny="no", filter=Filter(tools=("rm",))),
    rule("emit", MESSAGE, EventEmit(type="t"), Notify(text="n")),
    rule("more", CUSTOM, insert("more"), put("n", [1, {"a": None}])),
    rule("run", STOP, CommandRun(argv=("x",), cwd=".", timeout_s=1), on_error=[Log(text="x")]),
]


@settings(deadline=None, max_examples=60)
@given(st.lists(EVENTS, max_size=8))
def test_deciding_twice_gives_the_same_bytes(events):
    def printed():
        deciding = decider(*RULES)
        return [json.dumps(deciding.decide(event)) for event in events]

    assert printed() == printed()


@settings(deadline=None, max_examples=60)
@given(st.lists(EVENTS, max_size=8))
def test_every_line_is_json_of_the_public_shape(events):
    deciding = decider(*RULES, with_state=False)
    for event in events:
        line = deciding.decide(event)

        assert json.loads(json.dumps(line)) == line
        assert list(line) == SHAPE
        check_caused(line)


def check_caused(line):
    for caused in line["caused"]:
        assert set(SHAPE[1:]) <= set(caused)
        assert "seq" not in caused
        assert 1 <= len(caused["cause"]) <= 9
        check_caused(caused)
