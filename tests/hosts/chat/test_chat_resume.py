"""A chat that is opened again goes on where it was, whatever became of its file and its journal."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from open_chats import (
    blocks_of,
    calling,
    chat,
    die,
    events,
    killed,
    rebuilt,
    run,
    saying,
    session_of,
    unrecorded,
)

from bylaw.engine.plan import DueStep
from bylaw.hosts.chat import chat_file, resume
from bylaw.hosts.chat.chat_host import ChatHost
from bylaw.hosts.chat.driver import Driver
from bylaw.hosts.chat.models.base import ModelError
from bylaw.hosts.chat.resume import INTERRUPTED, NO_RECORD, NOT_STARTED
from bylaw.model.decision import Plan
from bylaw.model.effects import Log
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.event import Message
from bylaw.model.vocabulary import CallStatus, Kind, Role
from other_user import as_somebody_else

BYLAW = Path(sys.executable).with_name("bylaw")
RULES = """\
<rules max_actions_per_event="3">
  <on id="once" event="turn_start" once="true"><insert role="developer">only once</insert></on>
  <on id="cool" event="turn_end" cooldown_turns="3"><insert role="developer">cool</insert></on>
  <on id="count" event="turn_end"><set var="n" value="turn_index"/></on>
</rules>
<policy><tool name="t"><quota per_session="2"/></tool></policy>
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "bylaw.toml").touch()
    file = tmp_path / "chat.chatmd"
    file.write_text("<user>hi</user>\n")
    return file


def texts(path, *roles):
    """What is said in a file, by these roles or all."""
    blocks = blocks_of(path.read_bytes().decode())
    return [block.text for block in blocks if not roles or block.role in roles]


def append(path, text):
    with path.open("ab") as stream:
        stream.write(text.encode())


NO_FILES = "{type: forbid_block, block_type: FILE}"


def contract(path, enabled="", check=NO_FILES):
    """A context document with a protocol `p`, and a command `c` that enables what is said."""
    context = path.parent / ".bylaw/context/m.md"
    context.parent.mkdir(parents=True)
    context.write_text(
        '[[MODULE]]\nname: m\ndescription: "d"\n'
        "[[PROTOCOL]]\nprotocols:\n  - id: p\n    rules:\n"
        f"      - {{id: r, check: {check}}}\n[[/PROTOCOL]]\n"
        f'[[COMMAND]]\nname: c\ndescription: "d"\neffects:\n  enable: {{{enabled}}}\n'
        "[[/COMMAND]]\n[[/MODULE]]\n"
    )


class TestRecord:
    def test_what_rules_remember_survives(self, path):
        path.write_text(RULES + "<user>hi</user>\n")
        tools = {"t": lambda _: "ok"}
        for number in range(3):
            call = calling((f"c{number}", "t"))
            heard = run(path, saying(call, "said"), ["more"] * bool(number), tools=tools)
            assert heard.notes == []

        said = texts(path, Role.DEVELOPER)
        assert said.count("only once") == 1
        assert [text for text in said if "set" in text] == [f"[set] n = {n}" for n in range(1, 7)]
        assert said.index("cool") < said.index("[set] n = 2")
        assert said.count("cool") == 2  # after turns 1 and 5
        results = texts(path, Role.TOOL)
        assert results[:2] == ["ok", "ok"]
        assert "per_session" in results[2]
        assert session_of(path).turns.completed == 6

    def test_without_a_journal_it_begins_anew_and_says_so(self, path):
        path.write_text(RULES + "<user>hi</user>\n")
        run(path, saying("one"))
        shutil.rmtree(path.parent / ".bylaw")
        model = saying("two")
        heard = run(path, model, ["more"])

        assert heard.notes == [NO_RECORD]
        assert texts(path, Role.DEVELOPER).count("only once") == 2
        (block,) = (block for block in blocks_of(path.read_text()) if block.text == NO_RECORD)
        assert (block.role, block.synthetic, block.via_rule) == (Role.DEVELOPER, True, "resume")
        assert NO_RECORD in [message.text for message in model.requests[0].messages]
        (change,) = events(path, Kind.HISTORY)
        assert (change.why, change.length) == ("resume", 5)
        assert session_of(path).history.length == len(texts(path))

    def test_a_chat_that_never_ran_has_no_record_to_miss(self, path):
        path.write_text("<system>s</system>\n<user>a</user>\n<user>b</user>\n")
        heard = run(path, saying("one"))

        assert heard.notes == []
        said = [(event.role, event.text) for event in events(path, Kind.MESSAGE)]
        assert said[:3] == [(Role.SYSTEM, "s"), (Role.USER, "a"), (Role.USER, "b")]
        assert [event.text for event in events(path, Kind.PROMPT)] == ["a", "b"]

    def test_the_same_file_under_another_name_is_another_session(self, path):
        run(path, saying("one"))
        other = path.rename(path.with_name("other.chatmd"))

        assert run(other, saying("two"), ["more"]).notes == [NO_RECORD]


class TestEdited:
    def test_an_edit_is_noticed_and_told(self, path):
        run(path, saying("one"))
        path.write_text(path.read_text().replace("one", "uno"))
        model = saying("two")
        heard = run(path, model, ["more"])

        assert len(heard.notes) == 1
        assert "edited by hand" in heard.notes[0]
        assert texts(path) == ["hi", "uno", heard.notes[0], "more", "two"]
        (change,) = events(path, Kind.HISTORY)
        assert (change.why, change.length) == ("edited", 2)
        assert [said.content for said in change.newest] == ["hi", "uno"]
        session = session_of(path)
        assert session.history.length == 5
        assert session.turns.completed == 2

    def test_an_edit_is_told_once(self, path):
        run(path, saying("one"))
        path.write_text(path.read_text().replace("one", "uno"))
        for _ in range(2):
            run(path, saying("two"), ["more"])

        assert len(events(path, Kind.HISTORY)) == 1

    def test_a_block_that_an_editor_appends_is_one_prompt_and_one_message(self, path):
        run(path, saying("one"))
        append(path, "\n<user>\nfrom an editor\n</user>\n\n")
        model = saying("two")
        heard = run(path, model)

        assert heard.notes == []
        assert [event.text for event in events(path, Kind.PROMPT)] == ["hi", "from an editor"]
        told = [event.text for event in events(path, Kind.MESSAGE)]
        assert told == ["hi", "one", "from an editor", "two"]
        assert [message.text for message in model.requests[0].messages] == told[:3]
        assert texts(path) == told
        run(path, saying())
        assert len(events(path, Kind.PROMPT)) == 2

    @pytest.mark.parametrize(
        "added", ["<!-- a note -->\n", "<developer>be brief</developer>\n", "\n\n"]
    )
    def test_what_is_no_question_is_not_answered(self, path, added):
        run(path, saying("one"))
        append(path, added)
        model = saying("two")
        run(path, model)

        assert model.requests == []
        assert len(events(path, Kind.PROMPT)) == 1

    def test_a_reply_that_was_taken_out_is_asked_for_again(self, path):
        run(path, saying("one"))
        path.write_text("<user>hi</user>\n")
        model = saying("two")
        run(path, model)

        assert len(model.requests) == 1
        assert texts(path, Role.ASSISTANT) == ["two"]

    def test_a_response_that_answers_nothing_is_refused(self, path):
        before = '<user>hi</user>\n<tool_response tool_call_id="c">x</tool_response>\n'
        path.write_text(before)
        with pytest.raises(BylawError, match="`c` answers no earlier call"):
            run(path, saying("one"))
        assert path.read_text() == before


class TestTorn:
    def test_a_torn_tail_is_cut_and_the_turn_is_asked_for_again(self, path):
        def half(descriptor, data):
            os.write(descriptor, data[: len(data) // 2])
            die()

        def work():
            with mock.patch.object(chat_file, "_write_all", half):
                run(path, saying("one"))

        killed(work)
        assert path.read_text().startswith("<user>hi</user>\n<assist")
        heard = run(path, saying("uno"))

        assert heard.notes == ["the last block was incomplete and was removed"]
        assert texts(path) == ["hi", "uno"]
        assert len(events(path, Kind.TURN_START)) == 1

    @pytest.mark.parametrize("half", ["<user>not closed", "<user>\nRAW|\nnot closed", "<user a='"])
    def test_a_half_written_block_of_a_person_is_refused_with_its_line(self, path, half):
        run(path, saying("one"))
        append(path, half)
        before = path.read_bytes()
        with pytest.raises(LoadError) as refused:
            run(path, saying("two"))

        lines = [one.source.position(one.span.start).line for one in refused.value.diagnostics]
        assert lines[0] == 3
        assert path.read_bytes() == before
        path.write_bytes(before[: before.rindex(b"<user")] + b"<user>closed</user>\n")
        assert run(path, saying("two")).notes == []
        assert texts(path) == ["hi", "one", "closed", "two"]

    @pytest.mark.parametrize(
        "half", ["<assistant>I sa", "<tool_response tool_call_id=", "<assistant"]
    )
    def test_what_a_person_wrote_is_never_cut_whatever_it_looks_like(self, path, half):
        run(path, saying("one"))
        append(path, half)
        before = path.read_bytes()
        if half != "<assistant":  # that is only text
            with pytest.raises(LoadError):
                run(path, saying())
        assert path.read_bytes() == before

    @pytest.mark.parametrize("record", [True, False])
    @pytest.mark.parametrize(
        ("whole", "slip"),
        [
            ("turn 2</assistant>", "turn 2</asistant>"),
            ("turn 2</assistant>", "turn 2<assistant>"),
            ("<b>3\n|RAW\n</assistant>", "<b>3\n|RAW\n</asistant>"),
        ],
    )
    def test_a_slip_in_the_middle_is_refused_and_costs_nothing(self, path, whole, slip, record):
        turns = [f"turn {n}" + "<b>3" * (n == 3) for n in range(8)]
        run(path, saying(*turns), ["go on"] * 7)
        before = path.read_text()
        assert whole in before
        path.write_text(before.replace(whole, slip))
        if not record:
            shutil.rmtree(path.parent / ".bylaw")
        with pytest.raises(LoadError):
            run(path, saying("x"))
        assert path.read_text() == before.replace(whole, slip)

    @pytest.mark.parametrize("end", ["\n", "", "\r\n", "\n\n \n"])
    @pytest.mark.parametrize("begin", ["", "\ufeff"])
    def test_every_byte_of_a_person_stays(self, path, begin, end):
        new_line = "\r\n" if end == "\r\n" else "\n"
        before = f"{begin}<system>é</system>{new_line}<user>a{new_line}b</user>{end}".encode()
        path.write_bytes(before)
        run(path, saying("one"))
        append(path, f"<user>more</user>{end}")
        after = path.read_bytes()
        model = saying("two")
        heard = run(path, model)

        assert heard.notes == []
        assert after.startswith(before)
        assert path.read_bytes().startswith(after)
        assert texts(path) == ["é", f"a{new_line}b", "one", "more", "two"]
        assert model.requests[0].messages == rebuilt(after.decode())
        assert [event.text for event in events(path, Kind.PROMPT)] == [f"a{new_line}b", "more"]
        assert events(path, Kind.HISTORY) == []


class TestOthers:
    def test_two_chats_on_one_file(self, path):
        with chat(path, saying("one")) as driver:
            command = [BYLAW, "chat", path.name, "--model", "script:none.jsonl"]
            (path.parent / "none.jsonl").touch()
            other = subprocess.run(
                command, cwd=path.parent, capture_output=True, check=False, stdin=subprocess.DEVNULL
            )
            driver.run(lambda: None)

        assert other.returncode == 1
        assert other.stderr == b"error: another chat has `chat.chatmd` open; exit it first\n"
        assert texts(path) == ["hi", "one"]

    @pytest.mark.parametrize("how", ["append", "replace"])
    def test_a_file_that_somebody_changes_meanwhile(self, path, how):
        def say(_):
            if how == "append":
                append(path, "<user>mine</user>\n")
            else:
                other = path.with_suffix(".swap")
                other.write_text(path.read_text() + "<user>mine</user>\n")
                other.rename(path)
            return "lost"

        model = saying()
        model.say = say
        with pytest.raises(BylawError, match="changed while the chat was running"):
            run(path, model)
        assert texts(path) == ["hi", "mine"]

        model = saying("two")
        heard = run(path, model)
        assert heard.notes == []
        assert texts(path) == ["hi", "mine", "two"]
        assert [event.text for event in events(path, Kind.PROMPT)] == ["hi", "mine"]
        assert len(events(path, Kind.TURN_START)) == 1

    def test_a_file_that_somebody_removes_meanwhile(self, path):
        def say(_):
            path.unlink()
            return "lost"

        model = saying()
        model.say = say
        with pytest.raises(BylawError, match="cannot find `chat"):
            run(path, model)
        assert not path.exists()


class TestOpenTurns:
    def test_a_model_that_fails_is_asked_again_and_rules_are_not(self, path):
        path.write_text(RULES + "<user>hi</user>\n")
        with pytest.raises(ModelError, match="no answer"):
            run(path, saying(ModelError("no answer")))
        assert texts(path) == ["hi", "only once"]
        model = saying("one")
        run(path, model)

        assert [message.text for message in model.requests[0].messages] == ["hi", "only once"]
        assert len(events(path, Kind.TURN_START)) == len(events(path, Kind.TURN_END)) == 1
        assert session_of(path).turns.completed == 1

    def test_what_a_person_adds_to_an_open_turn_is_in_its_request(self, path):
        with pytest.raises(ModelError):
            run(path, saying(ModelError("no answer")))
        append(path, "<user>quick</user>\n")
        model = saying("one")
        run(path, model)

        assert [message.text for message in model.requests[0].messages] == ["hi", "quick"]
        assert len(events(path, Kind.TURN_START)) == 1

    def test_a_turn_that_was_answered_is_finished(self, path):
        path.write_text(RULES + "<user>hi</user>\n")

        def work():
            with mock.patch.object(ChatHost, "_insert", die):
                run(path, saying("one"))

        # Killed when the first rule inserts, in `turn_start`; then in `turn_end`.
        killed(work)
        with chat(path, saying("one")) as driver:
            assert driver.in_turn
        killed(work)
        model = saying("two")
        run(path, model)

        assert model.requests == []
        assert texts(path, Role.ASSISTANT) == ["one"]
        assert session_of(path).turns.completed == 1

    def test_calls_that_nobody_answered_are_answered_as_interrupted(self, path):
        done = path.parent / "done"

        def slow(_):
            with done.open("a") as stream:
                stream.write("begun ")
            die()

        def work():
            run(path, saying(calling(("a", "slow"), ("b", "slow"))), tools={"slow": slow})

        killed(work)
        model = saying("one")
        heard = run(path, model, tools={"slow": lambda _: pytest.fail("again")})

        assert "begun" in done.read_text()
        assert heard.notes == []
        results = texts(path, Role.TOOL)
        assert INTERRUPTED in results[0]
        assert len(results) == 2
        sent = model.requests[0].messages
        assert [message.role.value for message in sent] == ["user", "assistant", "tool", "tool"]
        assert [message.failed for message in sent[2:]] == [True, True]
        ended = events(path, Kind.TOOL_AFTER)
        begun = events(path, Kind.TOOL_BEFORE)
        assert [event.call for event in ended] == [event.call for event in begun]
        assert {event.status for event in ended} == {CallStatus.ERROR}
        assert session_of(path).count_calls("slow") == len(begun)

    def test_a_call_that_did_not_begin_says_so(self, path):
        def work():
            with mock.patch("bylaw.hosts.chat.tool_calls.ToolBefore", die):
                run(path, saying(calling(("a", "t"))), tools={"t": lambda _: "ok"})

        killed(work)
        run(path, saying("one"), tools={"t": lambda _: "ok"})

        assert texts(path, Role.TOOL) == [f"Error: {NOT_STARTED}"]
        assert events(path, Kind.TOOL_AFTER) == []
        assert session_of(path).count_calls("t") == 0

    def test_a_result_that_is_written_is_told_to_rules_later(self, path):
        path.write_text(
            '<rules><on id="r" event="post_tool_response" tool="t" if=\'arg("x") == 1\'>'
            "<insert role='developer'>after t</insert></on></rules><user>hi</user>\n"
        )

        def work():
            with mock.patch("bylaw.hosts.chat.tool_calls._end_event", die):
                run(path, saying(calling(("a", "t", {"x": 1}))), tools={"t": lambda _: "ok"})

        killed(work)
        assert texts(path, Role.TOOL) == ["ok"]
        run(path, saying("one"), tools={"t": lambda _: "again"})

        assert texts(path, Role.TOOL) == ["ok"]
        assert texts(path, Role.DEVELOPER) == ["after t"]
        (ended,) = events(path, Kind.TOOL_AFTER)
        assert (ended.status, ended.result, ended.args) == (CallStatus.OK, "ok", {"x": 1})

    @pytest.mark.parametrize("when", ["call_denied", "_insert"])
    def test_a_denial_that_was_decided_is_written(self, path, when):
        path.write_text(
            '<rules><on id="r" event="pre_tool_call"><deny reason="never"/>'
            "<insert role='developer'>do not</insert></on></rules><user>hi</user>\n"
        )

        def work():
            with mock.patch.object(ChatHost, when, die):
                run(path, saying(calling(("a", "t"))), tools={"t": lambda _: "ok"})

        killed(work)
        run(path, saying("one"), tools={"t": lambda _: "ok"})

        assert texts(path, Role.TOOL) == ["never"]
        answers = [event for event in events(path, Kind.MESSAGE) if event.role is Role.TOOL]
        assert [event.text for event in answers] == ["never"]

    def test_a_call_of_a_rule_is_interrupted_and_no_rule_acts_on_that(self, path):
        path.write_text(
            '<rules><on id="r" event="post_tool_response"><call tool="more">{}</call></on></rules>'
            "<user>hi</user>\n"
        )

        def work():
            tools = {"t": lambda _: "ok", "more": die}
            run(path, saying(calling(("a", "t"))), tools=tools)

        killed(work)
        run(path, saying("one"), tools={"t": lambda _: "ok", "more": lambda _: "more"})

        calls = [block for block in blocks_of(path.read_text()) if block.tool]
        assert [(block.tool, block.via_rule) for block in calls] == [("t", ""), ("more", "r")]
        results = texts(path, Role.TOOL)
        assert results[0] == "ok"
        assert INTERRUPTED in results[1]
        assert len(results) == 2
        assert session_of(path).count_calls("more") == 1

    def test_a_new_block_is_told_once_though_the_chat_was_killed(self, path):
        path.write_text(
            '<rules><on id="r" event="message_appended" if="last_role == \'user\'">'
            "<insert role='developer'>heard</insert></on></rules>\n<user>hi</user>\n"
        )

        def work():
            with mock.patch.object(chat_file.ChatFile, "settle", die):
                run(path, saying())

        killed(work)
        assert texts(path) == ["hi", "heard"]
        run(path, saying("one"))

        assert texts(path) == ["hi", "heard", "one"]
        assert [event.text for event in events(path, Kind.PROMPT)] == ["hi"]

    def test_a_block_that_was_only_begun_to_be_told_is_told(self, path):
        def work():
            with mock.patch("bylaw.hosts.chat.driver.Message", die):
                run(path, saying())

        killed(work)
        run(path, saying("one"))

        assert [event.text for event in events(path, Kind.MESSAGE)] == ["hi", "one"]

    def test_a_new_block_is_judged_though_resuming_was_killed_before(self, path):
        tools = {"slow": die}
        killed(lambda: run(path, saying(calling(("a", "slow"))), tools=tools))
        append(path, "<user>more</user>\n")
        killed(lambda: dying(resume, "_submit_call_ends", lambda: run(path, saying())))
        assert INTERRUPTED in texts(path)[-1]
        run(path, saying("one"))

        assert [event.text for event in events(path, Kind.PROMPT)] == ["hi", "more"]

    def test_what_is_left_of_an_agent_is_not_done_in_the_chat_that_ran_it(self, path):
        rules = "".join(
            f'<on id="{name}" event="pre_tool_call"><insert role="developer">{name}</insert></on>'
            for name in ("first", "second")
        )
        helper = path.with_name("helper.txt")
        helper.write_text(f'<rules max_actions_per_event="2">{rules}</rules>')
        path.write_text('<user>ask <agent src="helper.txt">do it</agent></user>\n')

        def work():
            with mock.patch.object(ChatHost, "_insert", die):
                run(path, saying(calling(("a", "t"))), tools={"t": lambda _: "ok"})

        killed(work)
        heard = run(path, saying("by the agent", "one"))

        assert heard.notes == []
        assert texts(path)[1:] == ["by the agent", "one"]
        outcomes = [(event.status.value, event.result) for event in events(path, Kind.EFFECT)]
        assert outcomes[:2] == [
            ("failed", {"error": "interrupted"}),
            ("failed", {"error": "the chat of the agent is over"}),
        ]

    def test_a_halted_call_that_is_left_of_an_agent_is_not_answered_there(self, path):
        contract(path, "protocols: [p]", '{type: forbid_tool, tool: "more"}')
        path.with_name("helper.txt").write_text(
            '<rules max_actions_per_event="2">'
            '<on id="first" event="pre_tool_call"><insert role="developer">first</insert></on>'
            '<on id="second" event="pre_tool_call"><call tool="more">{}</call></on></rules>'
        )
        path.write_text('<user>/c()\nask <agent src="helper.txt">do it</agent></user>\n')
        tools = {"t": lambda _: "ok", "more": lambda _: pytest.fail("called")}
        agent = saying(calling(("a", "t")))
        killed(lambda: dying(ChatHost, "_insert", lambda: run(path, agent, tools=tools)))
        run(path, saying("by the agent", "one"), tools=tools)

        assert texts(path, Role.TOOL) == []
        assert texts(path)[-2:] == ["by the agent", "one"]
        outcomes = [event.status.value for event in events(path, Kind.EFFECT)]
        assert "refused" in outcomes
        run(path, saying("two"), ["more"])

    @pytest.mark.parametrize("kept", [True, False])
    def test_only_the_file_of_a_chat_is_told_that_a_chain_is_too_long(self, path, kept):
        event = Message(role=Role.USER, text="hi", agent="" if kept else "helper.txt")
        due = DueStep(1, Plan(rule="r", uid="chatmd:c#r", steps=()), Log(text="x"))
        with chat(path, saying("one")) as driver:
            text = driver.channel._loop.runtime.scribe.too_deep(event, due)

        assert text == "log of rule r was not performed: a chain of rules has at most 8 links"
        assert (text in texts(path)) is kept

    @pytest.mark.parametrize("typed", [True, False])
    def test_a_prompt_that_was_halted_is_not_answered_after_a_kill(self, path, typed):
        contract(path)
        path.write_text("" if typed else "<user>/nosuch()</user>\n")

        def work():
            with mock.patch.object(Driver, "_halt", die):
                run(path, saying("answered"), ["/nosuch()"])

        killed(work)
        model = saying("answered")
        run(path, model)

        assert model.requests == []
        assert texts(path)[0] == "/nosuch()"
        assert typed or "UNKNOWN_ID" in texts(path)[-1]
        run(path, model, ["and now?"])
        assert texts(path)[-2:] == ["and now?", "answered"]


def dying(part, name, work):
    with mock.patch.object(part, name, die):
        work()


def fill(channel):
    """From now on the journal takes nothing more."""
    channel._loop.journal.query("PRAGMA max_page_count = 1")
    for size in (10_000, 1_000, 100, 1):
        while not channel.submit(Message(role=Role.USER, text="x" * size)).problem:
            pass


class TestNoRoom:
    def test_a_file_that_cannot_be_written_to(self, path):
        path.chmod(0o444)
        refused = pytest.raises(
            BylawError, match=r"^cannot write `chat\.chatmd`: permission denied$"
        )
        with as_somebody_else(path.parent), refused:
            chat_file.ChatFile(str(path), str(path.parent), path.name)

    def test_a_full_disk(self, path):
        """As the file cannot grow; what fits is written, the rest is told."""
        path.write_text(f"<user>{'x' * 2_000_000}</user>\n")
        before = path.read_bytes()
        run(path, saying("one"))

        def say(_):
            free = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, free[1]))
            limits.append(free)
            return "two"

        limits, model = [], saying()
        model.say = say
        try:
            with pytest.raises(BylawError, match="cannot write `chat"):
                run(path, model, ["more"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits[0])

        assert path.read_bytes().startswith(before)
        assert texts(path)[1:] == ["one", "more"]
        run(path, saying("three"))
        assert texts(path)[1:] == ["one", "more", "three"]

    def test_a_journal_that_cannot_grow_keeps_gates_closed(self, path):
        done, model = [], saying(calling(("a", "t")), "never sent")
        with chat(path, model, {"t": done.append}) as driver:
            say = model.say
            model.say = lambda request: fill(driver.channel) or say(request)
            driver.run(lambda: None)
            listener = driver.transcript.listener

        assert done == []
        (result,) = texts(path, Role.TOOL)
        assert result.startswith("Error: not recorded: the journal `")
        assert len(model.requests) == 1
        assert driver.stopped.startswith("the journal `")
        assert any("not recorded: the journal" in note for note in listener.notes)

        model = saying("one")
        run(path, model)
        assert len(model.requests) == 1
        assert texts(path, Role.ASSISTANT)[-1] == "one"

    def test_a_stop_that_cannot_be_recorded_is_a_stop(self, path):
        model = saying("one", "never sent")
        with chat(path, model) as driver:
            say = model.say
            model.say = lambda request: fill(driver.channel) or say(request)
            driver.run(lambda: None)

        assert len(model.requests) == 1
        assert texts(path) == ["hi", "one"]

    @pytest.mark.parametrize("resumed", [False, True])
    def test_an_output_whose_end_cannot_be_recorded_is_not_shown(self, path, resumed):
        contract(path, "protocols: [p]")
        path.write_text("<user>/c()</user>\n")
        if resumed:
            killed(lambda: dying(Driver, "finish", lambda: run(path, saying("one"))))
            append(path, "<user>more</user>\n")
        model = saying("one")
        with unrecorded(Kind.TURN_END):
            heard = run(path, model)

        assert "one" not in heard.statements
        assert heard.stopped == "the disk is full"
        assert "journal: not recorded: the disk is full" in heard.notes
        assert len(model.requests) == (not resumed)
        assert len(events(path, Kind.PROMPT)) == 1
        assert events(path, Kind.AGENT_STOP) == []

        model = saying("two")
        run(path, model)
        assert len(events(path, Kind.AGENT_STOP)) == 1 + resumed
        assert [event.text for event in events(path, Kind.TURN_END)] == ["one", "two"][
            : 1 + resumed
        ]
        assert len(model.requests) == resumed

    def test_a_block_that_could_not_be_judged_is_judged_before_it_is_answered(self, path):
        with unrecorded(Kind.PROMPT):
            heard = run(path, saying("never sent"))
        assert heard.stopped == "the disk is full"
        run(path, saying("one"))

        assert [event.text for event in events(path, Kind.PROMPT)] == ["hi"]
        assert texts(path) == ["hi", "one"]

    def test_a_journal_that_is_none(self, path):
        run(path, saying("one"))
        (path.parent / ".bylaw/state/journal.db").write_bytes(b"no journal" * 1_000)
        before = path.read_bytes()
        with pytest.raises(BylawError, match="journal"):
            run(path, saying("two"), ["more"])
        assert path.read_bytes() == before
