"""Stops of coding agents: blocked, answered, let through; told with rule, file and line."""

import json
import subprocess

import pytest
from called_hooks import COMMAND, Repository

from bylaw.hosts.hooks.notes import update_notes
from bylaw.runtime.answer import MAX_IN_A_ROW

BYLAW = COMMAND[:-1]
POLICY = """---
name: Tests beside sources
trigger: src/{path}.py
safety: tests/{path}_test.py
---
Write a test for {trigger_file}.
"""
LOGS = """---
name: Logs
trigger: log/**
---
Look at the log.
"""
LINT = """---
name: Lint
trigger: src/*.py
action:
  command: sh lint.sh {file}
---
"""
PLAN = """[[MODULE]]
name: work
description: Work that is planned.

[[PROTOCOL]]
protocols:
  - id: planned
    rules:
      - id: has_plan
        check:
          type: require_block
          block_type: PLAN
[[/PROTOCOL]]

[[COMMAND]]
name: plan
effects:
  enable:
    protocols: [planned]
[[/COMMAND]]
[[/MODULE]]
"""


@pytest.fixture
def repository(tmp_path):
    """A source without a test."""
    made = Repository(tmp_path / "root", tmp_path / "home")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=made.root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=made.root, check=True)
    subprocess.run([*git, "commit", "-qm", "first"], cwd=made.root, check=True)
    made.write(".deepwork/policies/tests.md", POLICY)
    made.write("src/app.py", "print(1)\n")
    return made


def test_a_stop_is_blocked_so_often_and_then_let_through_with_a_warning(repository):
    codes = [repository.stop(again=number > 0).code for number in range(3)]
    released = repository.stop(again=True)
    again = repository.stop(again=True)

    assert codes == [2, 2, 2]
    assert (released.code, again.code) == (0, 0)
    assert "released after 3 blocks: `tests`" in released.answer["systemMessage"]
    assert "released after 3 blocks: `tests`" in again.answer["systemMessage"]


def test_what_blocks_names_the_policy_its_file_and_the_way_to_answer(repository):
    blocked = repository.stop()

    assert blocked.answer["decision"] == "block"
    assert "Write a test for src/app.py." in blocked.answer["reason"]
    assert "<promise>tests</promise>" in blocked.answer["reason"]
    assert ".deepwork/policies/tests.md:1" in blocked.answer["reason"]


def test_a_command_that_failed_is_told_under_its_title(repository, monkeypatch):
    """DW-101: as `bylaw policies run` tells it"""
    repository.write(".deepwork/policies/lint.md", LINT)
    repository.write("lint.sh", "echo bad line >&2; exit 1\n")
    repository.trust(monkeypatch)
    reason = repository.stop().answer["reason"]

    assert reason.startswith("The following policies require attention:\n\n## Lint\nLint: ")
    assert "`sh lint.sh src/app.py` failed with exit code 1\n  bad line\n" in reason
    assert "<promise>lint</promise>, <promise>tests</promise>" in reason


def test_a_promise_or_a_test_ends_it(repository):
    assert repository.stop().code == 2
    assert repository.stop("Done. <promise>tests</promise>", again=True).code == 0
    repository.write("src/other.py", "print(2)\n")
    assert repository.stop().code == 2
    repository.write("tests/other_test.py", "")
    assert repository.stop(again=True).code == 0


def test_a_violation_that_changes_blocks_anew(repository):
    codes = []
    for number in range(5):
        repository.write("src/app.py", f"print({number})\n")
        codes.append(repository.stop(again=number > 0).code)

    assert codes == [2] * 5


def test_a_violation_is_let_through_while_another_goes_on(repository):
    """The person is told once, the model is not asked for it again, the journal has it."""
    repository.write(".deepwork/policies/logs.md", LOGS)
    said = []
    for number in range(6):
        repository.write("log/l", "x" * (number + 1))
        said.append(repository.stop(again=number > 0))
    ended = repository.stop("<promise>logs</promise>", again=True)

    assert [one.code for one in said] == [2] * 6
    reasons = [one.answer["reason"] for one in said]
    assert [one.count("tests") > 0 for one in reasons] == [True] * 3 + [False] * 3
    assert all("Look at the log." in one for one in reasons)
    told = ["released after 3 blocks: `tests`;" in str(one.answer) for one in said]
    assert told == [False] * 3 + [True] + [False] * 2
    assert ended.code == 0
    assert "released after 3 blocks: `tests`;" in ended.answer["systemMessage"]
    assert_recorded(repository, ["unanswered: it blocked 3 times"] * 4)
    assert shown_of(repository) == {"tests": 3, "logs": 6}


def assert_recorded(repository, notes):
    log = repository.raw("log", "--format", "json", command=BYLAW)
    events = [json.loads(line)["event"] for line in log.stdout.splitlines()]
    assert [one["result"]["note"] for one in events if one.get("status") == "released"] == notes
    assert repository.raw("verify", "--decisions", command=BYLAW).code == 0


def shown_of(repository):
    """How often an agent was told of each policy, as its newest entry says."""
    entries = (repository.root / ".deepwork/tmp/policy/queue").iterdir()
    found = [json.loads(one.read_text()) for one in entries]
    return {one["policy_name"]: one["shown"] for one in found}


def test_sessions_count_for_themselves(repository):
    for number in range(3):
        assert repository.stop(again=number > 0).code == 2
    assert repository.stop(again=True).code == 0

    assert repository.stop(session="other").code == 2


def test_a_subagents_stop_is_blocked_too_and_named(repository):
    about = {"agent_id": "a1", "agent_type": "x", "last_assistant_message": "Done."}

    blocked = repository.call("SubagentStop", stop_hook_active=False, **about)

    assert blocked.code == 2
    assert "Write a test" in blocked.answer["reason"]


def test_blocks_of_subagents_are_theirs(repository):
    """However many of them were blocked, the main agent is not let go for that."""
    with update_notes(str(repository.root), "claude:s") as notes:
        for agent in ("a1", ""):
            notes.newest(agent).in_a_row = MAX_IN_A_ROW - 1
    about = {**SUBAGENT, "stop_hook_active": True, "last_assistant_message": "Done."}

    assert repository.call("SubagentStop", **about).code == 2
    assert repository.call("SubagentStop", **about).code == 0
    assert repository.stop(again=True).code == 2


def test_a_block_that_the_client_alone_knows_of_counts_as_one_before(repository):
    """Another hook may have blocked, or the client gave the session another name."""
    assert [repository.stop(again=True).code for _ in range(3)] == [2, 2, 0]


ALONE = "[hooks]\nsubagents = false\n"
SUBAGENT = {"agent_id": "a1", "agent_type": "x"}


def test_subagents_are_left_alone_only_where_a_person_has_said_so(repository, monkeypatch):
    """Untrusted settings count only where they are stricter."""
    repository.write("bylaw.toml", ALONE)
    about = {**SUBAGENT, "stop_hook_active": False, "last_assistant_message": "Done."}

    assert repository.call("SubagentStop", **about).code == 2
    repository.trust(monkeypatch)
    assert repository.call("SubagentStop", **about).code == 0


def test_subagents_that_are_left_alone_change_nothing_that_is_protected(tmp_path, monkeypatch):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.rules('<policy><tool name="file.write"><quota per_session="0"/></tool></policy>')
    repository.write("bylaw.toml", ALONE + '[[book]]\npath = "guard.chatmd"\n')
    repository.trust(monkeypatch)

    def write(path):
        return {
            **SUBAGENT,
            "tool_name": "Write",
            "tool_input": {"file_path": str(repository.root / path), "content": ""},
            "tool_use_id": path,
        }

    assert repository.call("PreToolUse", **write("a.txt")).code == 0
    refused = repository.call("PreToolUse", **write("guard.chatmd"))
    assert "protected from agents" in refused.own["permissionDecisionReason"]
    repository.write("guard.chatmd", "")
    after = repository.call("PostToolUse", **write("x"), tool_response={})
    assert "protected file changed" in str(after.answer)


def test_what_changed_before_a_subagent_that_is_left_alone_is_told_to_the_next(
    tmp_path, monkeypatch
):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", ALONE)
    repository.trust(monkeypatch)
    assert repository.shell("python3 tidy.py").code == 0
    repository.write("bylaw.toml", ALONE + "# changed")

    about = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c2"}
    repository.call("PreToolUse", **SUBAGENT, **about)

    told = repository.shell("python3 tidy.py", call="c3").answer["systemMessage"]
    assert "protected file changed since the last call: `bylaw.toml`" in told


def test_output_that_should_have_been_withheld_blocks_the_stop(tmp_path):
    """A client has shown it by then: a halt of `turn.end` becomes a deny of `agent.stop`."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write(".bylaw/context/work.md", PLAN)
    assert repository.call("UserPromptSubmit", prompt="/plan()").code == 0

    blocked = repository.stop("I just did it.")
    codes = [repository.stop("I just did it.", again=True).code for _ in range(3)]

    assert blocked.code == 2
    assert "has_plan" in blocked.answer["reason"]
    assert ".bylaw/context/work.md" in blocked.answer["reason"]
    assert codes == [2, 2, 0]


def test_a_gate_that_fails_does_not_keep_an_agent_for_ever(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", "[stop]\nmax_bloks = 1\n")

    assert repository.stop().code == 2
    second = repository.stop(again=True)
    assert second.code == 0
    assert "nothing was checked" in second.stderr


def test_nor_where_the_payload_names_the_event(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", "[stop]\nmax_bloks = 1\n")

    def stop(*, again):
        return repository.raw("claude", data=repository.payload("Stop", stop_hook_active=again))

    assert stop(again=False).code == 2
    second = stop(again=True)
    assert second.code == 0
    assert "nothing was checked" in second.stderr


def test_a_call_that_speaks_of_a_stop_is_none(tmp_path):
    """Arguments are the agent's own words: only what stands at the top of a payload counts."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", "[stop]\nmax_bloks = 1\n")
    words = {"hook_event_name": "Stop", "stop_hook_active": True}
    given = {"tool_name": "Bash", "tool_input": words, "tool_use_id": "c"}

    called = repository.raw("claude", data=repository.payload("PreToolUse", **given))

    assert called.code == 2


def test_a_cursor_stop_that_fails_does_not_go_round_for_ever(tmp_path):
    """It says how often it went round, in place of whether."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", "[stop]\nmax_bloks = 1\n")

    def stop(loops):
        data = json.dumps({"cwd": str(repository.root), "loop_count": loops}).encode()
        return repository.raw("cursor", "stop", data=data)

    assert "bylaw failed" in stop(0).answer["followup_message"]
    assert stop(1).answer == {}


@pytest.mark.parametrize("broken", ["journal", "state"])
def test_a_stop_that_fails_is_let_go_also_of_a_client_that_does_not_say_it(repository, broken):
    """After as many blocks as a violation has; the person is told what is broken."""
    state = repository.root / ".bylaw/state"
    if broken == "journal":
        assert repository.stop("Done. <promise>tests</promise>").code in (0, 2)
        for one in state.glob("journal.db*"):
            one.write_bytes(b"no database" * 1000)
    else:
        state.parent.mkdir(exist_ok=True)
        state.write_text("no folder")

    stops = [repository.stop() for _ in range(4)]

    assert [one.code for one in stops] == [2, 2, 2, 0]
    assert "nothing was checked" in stops[-1].answer["systemMessage"]
    assert "bylaw doctor" in stops[-1].answer["systemMessage"]
    assert repository.stop(session="another").code == 2


def test_a_stop_that_is_judged_ends_the_count(repository):
    settings = repository.root / "bylaw.toml"
    before = settings.read_text() if settings.exists() else ""
    for _ in range(2):
        settings.write_text("[stop]\nmax_bloks = 1\n")
        assert [repository.stop().code for _ in range(2)] == [2, 2]
        settings.write_text(before)
        assert repository.stop("<promise>tests</promise>").code in (0, 2)


def test_stops_that_nobody_can_read_are_counted_for_each_folder(tmp_path):
    """Without a session, one repository's failures let go of nobody in another."""
    here, there = (Repository(tmp_path / name, tmp_path / "home") for name in ("here", "there"))

    def stop(repository, *words):
        return repository.raw("claude", *words, data=b"no JSON").code

    assert [stop(here, "Stop") for _ in range(4)] == [2, 2, 2, 0]
    assert stop(there, "Stop") == 2
    assert here.stop().code == 0
    assert [stop(here, "Stop") for _ in range(4)] == [2, 2, 2, 0]


def test_a_stop_that_is_judged_ends_the_count_also_where_the_payload_names_the_event(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")

    def stop(settings):
        repository.write("bylaw.toml", settings)
        return repository.raw("claude", data=repository.payload("Stop")).code

    for _ in range(2):
        assert [stop("[stop]\nmax_bloks = 1\n") for _ in range(2)] == [2, 2]
        assert stop("") == 0


def test_why_a_policy_cannot_be_judged_is_told_with_a_way_out(repository):
    queue = repository.root / ".deepwork/tmp/policy/queue"
    queue.parent.mkdir(parents=True)
    queue.write_text("no folder")
    reason = repository.stop().answer["reason"]

    assert ".deepwork/tmp/policy" in reason
    assert "`bylaw doctor --release 10` releases failed gates" in reason


def test_words_that_were_judged_are_not_judged_again_while_new_ones_are_not_written(tmp_path):
    """Copilot CLI says nothing of them with a stop, and may write them down late."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    transcript = tmp_path / "events.jsonl"
    about = {"sessionId": "s", "cwd": str(repository.root), "stopReason": "end_turn"}
    payload = json.dumps({**about, "transcriptPath": str(transcript)}).encode()

    def stop(*kinds_and_texts):
        with transcript.open("a") as file:
            for kind, text in kinds_and_texts:
                file.write(json.dumps({"type": kind, "data": {"content": text}}) + "\n")
        assert repository.raw("copilot", "agentStop", data=payload).code == 0

    stop(("user.message", "go"), ("assistant.message", "First."))
    stop(("hook.end", ""))
    stop(("assistant.message", "Second."), ("hook.end", ""), ("assistant.message", "Third."))

    log = repository.raw("log", "--format", "json", command=BYLAW)
    events = [json.loads(line)["event"] for line in log.stdout.splitlines()]
    assert [one["text"] for one in events if one.get("role")] == ["First.", "Third."]


class TestEarlierMessages:
    """DW-A20: a promise counts in any message after the instructions were shown"""

    def say(self, repository, *texts, role="assistant"):
        lines = [{"type": role, "message": {"role": role, "content": one}} for one in texts]
        with (repository.root.parent / "transcript.jsonl").open("a") as file:
            file.writelines(json.dumps(one) + "\n" for one in lines)

    def stop(self, repository, text="Done.", *, again=False):
        about = {"stop_hook_active": again, "last_assistant_message": text}
        path = str(repository.root.parent / "transcript.jsonl")
        return repository.call("Stop", transcript_path=path, **about).code

    def test_a_promise_before_the_last_message(self, repository):
        self.say(repository, "hello", role="user")
        self.say(repository, "I begin.")
        assert self.stop(repository) == 2
        self.say(repository, "Stop hook feedback", role="user")
        self.say(repository, "It is done. <promise>tests</promise>", "Now I sum up.")
        assert self.stop(repository, "Now I sum up.", again=True) == 0

    def test_one_from_before_the_instructions_covers_nothing(self, repository):
        self.say(repository, "go", role="user")
        self.say(repository, "I promise. <promise>tests</promise>", "And I stop.")
        assert self.stop(repository, "And I stop.") == 2
        self.say(repository, "I stop again.")
        assert self.stop(repository, "I stop again.", again=True) == 2

    @pytest.mark.parametrize("between", [(), ("SubagentStop",)])
    def test_one_that_the_client_writes_down_later_is_heard_once(self, repository, between):
        """It settled what was shown before it, not what was shown with the answer to it."""
        assert self.stop(repository, "Hm.") == 2
        repository.write("src/other.py", "print(2)\n")
        promise = "Done. <promise>tests</promise>"
        assert self.stop(repository, promise, again=True) == 2
        self.say(repository, promise)
        for event in between:
            about = {**SUBAGENT, "stop_hook_active": False, "last_assistant_message": "I looked."}
            assert repository.call(event, **about).code == 2
        self.say(repository, "I stop.")
        assert self.stop(repository, "I stop.", again=True) == 2
