"""Stops of a client that cannot be held up: what speaks against one is told later."""

import json
import subprocess

import pytest
from called_hooks import COMMAND, Repository

from bylaw.hosts.hooks.notes import read_notes

POLICY = """---
trigger: src/**
---
Look at README.md, too.
"""


@pytest.fixture
def repository(tmp_path):
    """A file that a policy is about."""
    made = Repository(tmp_path / "root", tmp_path / "home")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=made.root, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=made.root, check=True)
    made.write(".deepwork/policies/readme.md", POLICY)
    made.write("src/app.py", "print(1)\n")
    return made


def told(repository, event, agent="", text="Go on."):
    """What the model hears by it."""
    about = {"session_id": "s", "agent": agent, "cwd": str(repository.root), "text": text}
    called = repository.raw("opencode", event, data=json.dumps(about).encode())
    assert called.code == 0
    return "\n".join(called.answer.get("context", []))


def turns(repository):
    log = repository.raw("log", "--format", "json", command=COMMAND[:-1])
    return [json.loads(line)["kind"] for line in log.stdout.splitlines()].count("turn.start")


def test_only_a_prompt_begins_a_turn(repository):
    for _ in range(2):
        told(repository, "chat.message")
        told(repository, "session.idle")

    assert turns(repository) == 2


def test_such_a_stop_is_no_block_in_a_row(repository):
    """Many subagents may stop before a person speaks again."""
    for agent in ("", "sub"):
        told(repository, "session.idle", agent)

    found = read_notes(str(repository.root), "opencode:s").agents.values()
    assert [one.in_a_row for one in found] == [0, 0]


def test_a_violation_is_told_as_often_as_it_would_block(repository):
    heard = []
    for _ in range(5):
        told(repository, "session.idle")
        heard.append(told(repository, "chat.message"))

    assert ["Look at README.md" in one for one in heard] == [True] * 3 + [False] * 2
    assert "released after 3 blocks: `readme`" in heard[3]


def test_what_was_let_through_stands_in_the_log_where_nobody_else_can_be_told(tmp_path):
    """Cursor shows nothing to the person at a stop, and there may be no next event."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=repository.root, check=True)
    repository.write(".deepwork/policies/readme.md", POLICY)
    repository.write("src/app.py", "print(1)\n")
    about = {
        "conversation_id": "c",
        "workspace_roots": [str(repository.root)],
        "status": "completed",
    }
    data = json.dumps({**about, "hook_event_name": "stop"}).encode()
    called = [repository.raw("cursor", "stop", data=data) for _ in range(4)]

    assert "followup_message" in called[2].answer
    assert called[3].answer == {}
    assert "released after 3 blocks: `readme`" in called[3].stderr
