"""Subagents of Factory Droid, as their events were recorded."""

import json

import pytest
from called_hooks import COMMAND, Repository
from recorded import recorded

from bylaw.hosts.hooks.notes import LINKS_FILE, MAX_LINKS, link_session, main_session

BYLAW = COMMAND[:-1]
PAYLOADS = {one.name: one for one in recorded() if one.host == "droid"}


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "root", tmp_path / "home")


def call(repository, name, **changed):
    """As the client did it, in this repository."""
    one = PAYLOADS[f"factory-droid/{name}"]
    payload = {**one.payload, "cwd": str(repository.root), **changed}
    return repository.raw("droid", one.event, data=json.dumps(payload).encode())


def events(repository):
    """What was recorded, oldest first."""
    log = repository.raw("log", "--format", "json", command=BYLAW)
    return [json.loads(line) for line in log.stdout.splitlines()]


@pytest.mark.parametrize("told", [{}, {"task_result": ""}])
def test_words_of_the_main_agent_are_not_those_of_a_subagent(repository, tmp_path, told):
    """The transcript that is named at the stop of a subagent is the one of the main agent."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "Words of the main agent."}]}
    transcript = tmp_path / "main.jsonl"
    transcript.write_text(json.dumps({"type": "message", "message": said}) + "\n")

    call(repository, "SubagentStop", transcript_path=str(transcript), **told)

    texts = [one["event"]["text"] for one in events(repository) if one["kind"] == "message"]
    assert texts == ([] if told else ["sub done"])


MAIN = PAYLOADS["factory-droid/SessionStart.in-subagent"].payload["calling_session_id"]
SUB = PAYLOADS["factory-droid/SessionStart.in-subagent"].payload["session_id"]
HANDS = """[[MODULE]]
name: hands
description: Hands off.

[[PROTOCOL]]
protocols:
  - id: hands_off
    rules:
      - id: no_shell
        check:
          type: forbid_tool
          tool: shell
[[/PROTOCOL]]

[[COMMAND]]
name: hands_off
effects:
  enable:
    protocols: [hands_off]
[[/COMMAND]]

[[COMMAND]]
name: hands_on
effects:
  enable:
    protocols: []
[[/COMMAND]]
[[/MODULE]]
"""


def shell(repository, session):
    return call(repository, "PreToolUse", session_id=session).code


def begin(repository, **changed):
    assert call(repository, "SessionStart.in-subagent", **changed).code == 0


def test_calls_of_a_subagent_count_in_the_session(repository):
    repository.rules('<policy><tool name="shell"><quota per_session="1"/></tool></policy>\n')
    begin(repository)

    assert shell(repository, SUB) == 0
    assert shell(repository, MAIN) == 2
    assert shell(repository, SUB) == 2
    assert shell(repository, "another") == 0
    calls = [one["event"] for one in events(repository) if one["kind"] == "tool.before"]
    assert [one.get("agent", "") for one in calls] == [SUB, "", SUB, ""]
    assert [one["session"] for one in calls] == [*[f"droid:{MAIN}"] * 3, "droid:another"]


def test_what_is_in_force_for_the_session_is_for_its_subagents(repository):
    """And the task that one is given is no prompt of a person."""
    repository.write(".bylaw/context/hands.md", HANDS)
    asked = {"session_id": MAIN, "prompt": "go\n/hands_off()"}
    assert call(repository, "UserPromptSubmit.in-subagent", **asked).code == 0
    begin(repository)
    task = call(repository, "UserPromptSubmit.in-subagent", prompt="# Task\n\n/hands_on()")

    assert (task.code, task.stderr) == (0, "")
    assert shell(repository, SUB) == 2
    assert shell(repository, MAIN) == 2


def test_a_subagent_stops_for_itself_and_ends_no_session(repository):
    begin(repository)
    call(repository, "Stop.in-subagent")
    call(repository, "SessionEnd.in-subagent")

    found = [(one["kind"], one["event"].get("agent", "")) for one in events(repository)]
    assert found == [("turn.end", SUB), ("agent.stop", SUB)]


def test_one_that_a_subagent_started_is_of_the_same_session(repository):
    repository.rules('<policy><tool name="shell"><quota per_session="1"/></tool></policy>\n')
    begin(repository)
    begin(repository, session_id="deeper", calling_session_id=SUB)

    assert shell(repository, MAIN) == 0
    assert shell(repository, "deeper") == 2


@pytest.mark.parametrize("named", [{"calling_session_id": SUB}, {"calling_session_id": ""}])
def test_one_that_names_no_other_session_is_its_own(repository, named):
    begin(repository, **named)

    assert [one["kind"] for one in events(repository)] == ["session.start"]
    assert [one["event"]["session"] for one in events(repository)] == [f"droid:{SUB}"]


def test_of_very_many_the_newest_are_kept(tmp_path):
    root = str(tmp_path)
    for number in range(MAX_LINKS + 5):
        link_session(root, f"sub{number}", "main")

    assert main_session(root, "sub4") == "sub4"
    assert main_session(root, "sub5") == "main"
    assert main_session(root, f"sub{MAX_LINKS + 4}") == "main"


def test_links_never_go_round(tmp_path):
    root = str(tmp_path)
    link_session(root, "b", "a")
    link_session(root, "a", "b")
    assert (main_session(root, "a"), main_session(root, "b")) == ("a", "a")

    (tmp_path / ".bylaw/state" / LINKS_FILE).write_text('{"a": "b", "b": "a"}')
    assert main_session(root, "a") in ("a", "b")
    (tmp_path / ".bylaw/state" / LINKS_FILE).write_text("no JSON")
    assert main_session(root, "a") == "a"
