"""Calls of one message: side by side where rules let them, answered and told in their order."""

import os
import pty
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import pytest
from open_chats import blocks_of, calling, events, run, saying, session_of

from bylaw.engine.index import RuleSet
from bylaw.hosts.chat import setup
from bylaw.hosts.chat.chat_host import AgentChannel
from bylaw.hosts.chat.resume import INTERRUPTED
from bylaw.hosts.chat.tool_calls import MAX_AT_ONCE
from bylaw.hosts.chat.tools.base import ToolError, ToolTimeoutError
from bylaw.languages.base import FixedReason
from bylaw.model.codes.runtime import JOURNAL_UNUSABLE
from bylaw.model.procedure import Book, Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Filter, Origin, Rule, RuleVerdict, Trigger
from bylaw.model.vocabulary import CallStatus, Kind, Role, Verdict
from bylaw.runtime.answer import unrecorded_answer
from bylaw.store.journal.errors import JournalError
from model_server import model_server, openai_stream

BYLAW = Path(sys.executable).with_name("bylaw")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "bylaw.toml").touch()
    file = tmp_path / "chat.chatmd"
    file.write_text("<user>hi</user>\n")
    return file


def results(path):
    blocks = blocks_of(path.read_text())
    return [(block.call, block.text) for block in blocks if block.role is Role.TOOL]


def order(path):
    """What rules were told of calls, in its order."""
    return [
        (event.kind.value.removeprefix("tool."), event.call)
        for event in events(path, Kind.TOOL_BEFORE, Kind.TOOL_AFTER)
    ]


class TestSideBySide:
    def test_calls_really_run_at_the_same_time(self, path):
        meeting = threading.Barrier(3, timeout=300)
        tools = {"meet": lambda _: f"met {meeting.wait() >= 0}"}
        run(path, saying(calling(*((name, "meet") for name in "abc"))), tools=tools)

        assert results(path) == [(name, "met True") for name in "abc"]

    def test_commands_really_run_at_the_same_time(self, path):
        """Each waits for a file that the other one makes."""
        script = path.parent / "meet.py"
        script.write_text(
            "import pathlib, sys, time\n"
            "mine, other = map(pathlib.Path, sys.argv[1:])\n"
            "mine.touch()\n"
            "until = time.monotonic() + 300\n"
            "while not other.exists() and time.monotonic() < until: time.sleep(0.01)\n"
            "print('met' if other.exists() else 'alone')\n"
        )
        declared = f'<tool name="meet" command="{shlex.quote(sys.executable)} meet.py"/>'
        path.write_text(f"{declared}\n<user>hi</user>\n")
        (path.parent / "bylaw.toml").write_text("[command]\ntimeout_s = 600\n")
        calls = [("a", "meet", {"arguments": ["1", "2"]}), ("b", "meet", {"arguments": ["2", "1"]})]
        run(path, saying(calling(*calls)), trust=True)

        assert results(path) == [("a", "met\n"), ("b", "met\n")]

    def test_responses_are_written_and_told_in_call_order(self, path):
        first = threading.Event()
        tools = {
            "slow": lambda _: first.wait(300) and "slow",
            "quick": lambda _: first.set() or "quick",
        }
        run(path, saying(calling(("a", "slow"), ("b", "quick"))), tools=tools)

        assert results(path) == [("a", "slow"), ("b", "quick")]
        assert order(path) == [("before", "a"), ("before", "b"), ("after", "a"), ("after", "b")]

    def test_no_more_than_so_many_at_once(self, path):
        lock, now, most = threading.Lock(), set(), []
        meeting = threading.Barrier(2, timeout=300)

        def busy(args):
            with lock:
                now.add(args["n"])
                most.append(len(now))
            if args["n"] < 2:
                meeting.wait()
            with lock:
                now.discard(args["n"])
            return args["n"]

        calls = [(f"c{n}", "busy", {"n": n}) for n in range(3 * MAX_AT_ONCE)]
        run(path, saying(calling(*calls)), tools={"busy": busy})

        assert 1 < max(most) <= MAX_AT_ONCE
        assert [text for _, text in results(path)] == [str(n) for n in range(3 * MAX_AT_ONCE)]

    def test_a_hundred_calls_of_one_message(self, path):
        calls = [("same", "t", {"n": n}) for n in range(100)]
        run(path, saying(calling(*calls), "done"), tools={"t": lambda args: args["n"]})

        assert [text for _, text in results(path)] == [str(n) for n in range(100)]
        assert len({call for call, _ in results(path)}) == 100


class TestRules:
    def test_a_call_that_needs_another_one_waits_for_it(self, path):
        path.write_text(
            '<policy><tool name="X"><requires tools="Y"/></tool></policy>\n<user>hi</user>\n'
        )
        tools = {"Y": lambda _: time.sleep(0.05) or "y", "X": lambda _: "x"}
        run(path, saying(calling(("a", "Y"), ("b", "X"))), tools=tools)

        assert results(path) == [("a", "y"), ("b", "x")]
        assert order(path) == [("before", "a"), ("after", "a"), ("before", "b"), ("after", "b")]

    def test_a_call_that_comes_too_early_is_denied(self, path):
        path.write_text(
            '<policy><tool name="X"><requires tools="Y"/></tool></policy>\n<user>hi</user>\n'
        )
        tools = {"Y": lambda _: "y", "X": lambda _: "x"}
        run(path, saying(calling(("a", "X"), ("b", "Y"))), tools=tools)

        assert [text for _, text in results(path)] == [
            "Tool X requires Y first; not yet called: Y",
            "y",
        ]

    @pytest.mark.parametrize("limit", ["per_turn", "per_session"])
    def test_a_quota_is_not_passed_side_by_side(self, path, limit):
        path.write_text(
            f'<policy><tool name="t"><quota {limit}="3"/></tool></policy>\n<user>hi</user>\n'
        )
        done = []
        calls = [(f"c{n}", "t", {"n": n}) for n in range(8)]
        tools = {"t": lambda args: done.append(args["n"]) or "ok"}
        run(path, saying(calling(*calls)), tools=tools)

        assert sorted(done) == [0, 1, 2]
        assert [text == "ok" for _, text in results(path)] == [True] * 3 + [False] * 5
        assert session_of(path).count_calls("t") == 3

    def test_a_cooldown_is_not_passed_side_by_side(self, path):
        path.write_text(
            '<policy><tool name="t"><cooldown turns="1"/></tool></policy>\n<user>hi</user>\n'
        )
        done = []
        calls = [(f"c{n}", "t") for n in range(4)]
        run(path, saying(calling(*calls)), tools={"t": lambda _: done.append(1) or "ok"})

        assert done == [1]
        assert [text == "ok" for _, text in results(path)] == [True, False, False, False]

    def test_what_a_rule_adds_stands_behind_the_response_that_it_answers(self, path):
        path.write_text(
            '<rules><on id="r" event="post_tool_response"><call tool="more">'
            '{"of": arg("n")}</call></on></rules>\n<user>hi</user>\n'
        )
        model = saying(calling(("a", "t", {"n": 1}), ("b", "t", {"n": 2})), "done")
        run(path, model, tools={"t": lambda _: "ok", "more": lambda args: args["of"]})

        blocks = [block for block in blocks_of(path.read_text()) if block.call]
        assert [(block.tool or block.text, block.via_rule) for block in blocks] == [
            *(("t", ""), ("t", "")),
            *(("ok", ""), ("more", "r"), ("1", "r")),
            *(("ok", ""), ("more", "r"), ("2", "r")),
        ]
        sent = model.requests[1].messages
        assert [message.role.value for message in sent] == [
            *("user", "assistant", "tool", "tool"),
            *("assistant", "tool", "assistant", "tool"),
        ]

    def test_calls_that_rules_speak_of_are_judged_one_by_one(self, path):
        """A rule that inserts must not stand between a call and what it says of another."""
        path.write_text(
            '<rules><on id="r" event="pre_tool_call" tool="b"><insert role="developer">of b'
            "</insert></on></rules>\n<user>hi</user>\n"
        )
        tools = {"a": lambda _: time.sleep(0.05) or "a", "b": lambda _: "b"}
        run(path, saying(calling(("1", "a"), ("2", "b"))), tools=tools)

        assert [event[1] for event in order(path)] == ["1", "1", "2", "2"]


ASKS = Rule(
    uid="asking:rules#may",
    id="may",
    origin=Origin("rules", 1, 1, ""),
    on=Trigger(kinds=(Kind.TOOL_BEFORE,)),
    filter=Filter(tools=("t",)),
    judgement=RuleVerdict(Verdict.ASK, FixedReason("may it?")),
)


def test_a_call_that_a_person_would_have_to_allow_is_no_call(path):
    """Nobody is asked in a chat: it is refused, opens no `<requires>` and uses up no quota."""
    path.write_text(
        '<policy><tool name="X"><requires tools="t"/></tool></policy>\n<user>hi</user>\n'
    )
    procedure = Procedure(
        order=(SortKey.FILE,),
        flow=Flow.ALL,
        guard_error=GuardFault.DENY,
        failed_step=StepFault.RECORD,
    )
    asking = Book(
        dialect="asking",
        path="rules",
        files=(),
        digest="",
        groups=(Group("asking", 100, procedure, (ASKS,)),),
    )
    both = mock.patch.object(setup, "RuleSet", lambda books: RuleSet([*books, asking]))
    tools = dict.fromkeys("tX", lambda _: pytest.fail("called"))
    with both:
        run(path, saying(calling(("a", "t")), calling(("b", "X"))), tools=tools)

    assert results(path) == [
        ("a", "Error: may it?"),
        ("b", "Tool X requires t first; not yet called: t"),
    ]
    (ended,) = events(path, Kind.TOOL_AFTER)
    assert (ended.call, ended.status) == ("a", CallStatus.DENIED)
    assert session_of(path).count_used("t") == 0


class TestTrouble:
    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            (ToolError("no such file"), "Error: no such file"),
            (ToolError("Error: twice"), "Error: twice"),
            (KeyError("x"), "Error: `t` crashed: KeyError: 'x'"),
            (RecursionError("deep"), "Error: `t` crashed: RecursionError: deep"),
        ],
    )
    def test_a_tool_that_breaks_is_an_error_and_the_chat_goes_on(self, path, wrong, text):
        def breaks(_):
            raise wrong

        model = saying(calling(("a", "t"), ("b", "fine")), "done")
        run(path, model, tools={"t": breaks, "fine": lambda _: "ok"})

        assert results(path) == [("a", text), ("b", "ok")]
        assert [event.status for event in events(path, Kind.TOOL_AFTER)] == [
            CallStatus.ERROR,
            CallStatus.OK,
        ]
        assert len(model.requests) == 2

    def test_a_result_that_is_no_text(self, path):
        values = [{"a": [1, None, True]}, [], 1.5, None, "", False]
        calls = [(f"c{n}", "t", {"n": n}) for n in range(len(values))]
        run(path, saying(calling(*calls)), tools={"t": lambda args: values[args["n"]]})

        texts = [text for _, text in results(path)]
        assert texts == ['{"a":[1,null,true]}', "[]", "1.5", "", "", "false"]

    def test_a_tool_that_takes_too_long(self, path):
        def late(_):
            raise ToolTimeoutError("took longer than 1 s")

        run(path, saying(calling(("a", "t"))), tools={"t": late})

        assert results(path) == [("a", "Error: took longer than 1 s")]
        assert [event.status for event in events(path, Kind.TOOL_AFTER)] == [CallStatus.TIMEOUT]

    def test_a_command_that_takes_too_long(self, path):
        path.write_text('<tool name="nap" command="sleep 100"/>\n<user>hi</user>\n')
        (path.parent / "bylaw.toml").write_text("[command]\ntimeout_s = 1\n")
        run(path, saying(calling(("a", "nap"), ("b", "nap"))), trust=True)

        assert results(path) == [
            (call, "Error: `sleep 100`: took longer than 1 s") for call in "ab"
        ]

    @pytest.mark.usefixtures("a_person")
    def test_a_command_that_nobody_trusts(self, path):
        path.write_text('<tool name="nap" command="sleep 100"/>\n<user>hi</user>\n')
        run(path, saying(calling(("a", "nap"))))

        ((_, text),) = results(path)
        assert text.startswith("Error: `sleep 100`: ")
        assert "trust" in text

    def test_a_call_that_cannot_be_recorded_is_answered_in_its_place(self, path):
        """While another one runs; the journal fails just then."""
        late = threading.Event()

        def submit(channel, event):
            if event.kind is Kind.TOOL_BEFORE and event.call == "b":
                late.set()
                return unrecorded_answer(event, JournalError(JOURNAL_UNUSABLE, "the disk is full"))
            return whole(channel, event)

        whole = AgentChannel.submit
        tools = {"t": lambda _: late.wait(300) and "a"}
        with mock.patch.object(AgentChannel, "submit", submit):
            run(path, saying(calling(("a", "t"), ("b", "t"))), tools=tools)

        assert results(path) == [("a", "a"), ("b", "Error: not recorded: the disk is full")]

    @pytest.mark.parametrize("arguments", ["", "{", "[]", '"x"', "null", '{"a": 1, "a": 2}', "NaN"])
    def test_arguments_that_are_no_object(self, path, arguments):
        done = []
        model = saying(calling(("a", "t")), "done")
        first = model.say(None)
        call = type(first.calls[0])("a", "t", arguments)
        turns = [type(first)(calls=(call,)), "done"]
        model.say = lambda _: turns.pop(0)
        run(path, model, tools={"t": lambda args: done.append(args) or "ok"})

        if arguments:
            assert done == []
            assert results(path)[0][1].startswith("Error: the arguments are not ")
            assert order(path) == []
        else:
            assert done == [{}]


def begin(path, *options, **settings):
    """`bylaw chat` as a person runs it, on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BYLAW, "chat", path.name, *options],
        cwd=path.parent,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        **settings,
    )
    os.close(theirs)
    return process, ours


def wait_for(condition, seconds=300):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


class TestInterrupt:
    def test_in_a_command(self, path):
        begun = path.parent / "begun"
        declared = '<tool name="work" command="sh -c \'touch begun; sleep 3000\'"/>'
        path.write_text(f"{declared}\n<user>hi</user>\n")
        (path.parent / "t.jsonl").write_text('{"tool_calls": [{"name": "work"}]}\n')
        process, terminal = begin(path, "--model", "script:t.jsonl", "--trust")
        wait_for(begun.exists)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        os.close(terminal)

        assert process.returncode == 130, errors
        assert b"Traceback" not in errors
        model = saying("done")
        run(path, model)
        ((_, text),) = results(path)
        assert INTERRUPTED in text
        assert [message.role.value for message in model.requests[0].messages] == [
            *("user", "assistant", "tool")
        ]

    def test_while_the_model_speaks(self, path):
        path.write_text(
            '<rules><on id="r" event="turn_start"><insert role="developer">once a turn</insert>'
            "</on></rules>\n<user>hi</user>\n"
        )
        with model_server() as server:
            server.answers = [openai_stream("as I was ", "say", stop=None, hangs=True)]
            (path.parent / "bylaw.toml").write_text(f'[model]\nbase_url = "{server.url}"\n')
            env = os.environ | {"OPENAI_API_KEY": "none"}
            process, terminal = begin(path, "--model", "openai:m", "--trust", env=env)
            assert process.stdout.readline() == b"[developer (r)] once a turn\n"
            assert process.stdout.read(8) == b"as I was"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=300)
            os.close(terminal)

        assert process.returncode == 130, errors
        assert b"Traceback" not in errors
        assert [block.text for block in blocks_of(path.read_text())] == ["hi", "once a turn"]
        model = saying("done")
        run(path, model)
        assert [message.text for message in model.requests[0].messages] == ["hi", "once a turn"]
        assert session_of(path).turns.completed == 1

    def test_at_the_question(self, path):
        with model_server() as server:
            server.answers = [openai_stream("said")]
            (path.parent / "bylaw.toml").write_text(f'[model]\nbase_url = "{server.url}"\n')
            env = os.environ | {"OPENAI_API_KEY": "none"}
            process, terminal = begin(path, "--model", "openai:m", "--trust", env=env)
            wait_for(lambda: b"said" in path.read_bytes() and events(path, Kind.AGENT_STOP))
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=300)
            os.close(terminal)

        assert process.returncode == 130
        assert [block.text for block in blocks_of(path.read_text())] == ["hi", "said"]
        assert run(path, saying()).notes == []
