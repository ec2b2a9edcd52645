"""Hooks of one session that run side by side: none waits for another's rules, nothing is told twice."""

import json
import subprocess
import time

import pytest
from called_hooks import COMMAND, Repository

from bylaw.hosts.hooks.notes import SessionNotes, update_notes

SLOW = """---
name: slow
trigger: src/*.sh
action: {command: "sh {file}"}
---
"""
NEVER = """---
name: never
trigger: src/**
---
Do it otherwise.
"""


@pytest.fixture
def repository(tmp_path):
    """A file that was changed."""
    made = Repository(tmp_path / "root", tmp_path / "home")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=made.root, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=made.root, check=True)
    made.write("src/app.py", "print(1)\n")
    return made


def begun(repository, event, **fields):
    """A hook that is not waited for."""
    process = subprocess.Popen(
        [*COMMAND, "claude", event],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=repository.root,
        env=repository.environment,
    )
    process.stdin.write(repository.payload(event, **fields))
    process.stdin.close()
    return process


def ended(process):
    with process.stdout:
        said = process.stdout.read()
    return process.wait(300), said.decode()


def test_a_call_does_not_wait_for_a_stop_that_runs_commands(repository, monkeypatch):
    """A subagent may work on while another one stops."""
    repository.write(".deepwork/policies/slow.md", SLOW)
    repository.write("src/slow.sh", "sleep 14\n")
    repository.trust(monkeypatch)
    stop = begun(repository, "Stop", stop_hook_active=False, last_assistant_message="Done.")
    queue = repository.root / ".deepwork/tmp/policy/queue"
    until = time.monotonic() + 300
    while not queue.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert queue.exists(), ended(stop)

    called = repository.shell("ls")

    assert (called.code, called.stderr) == (0, "")
    assert stop.poll() is None  # the command still runs
    assert ended(stop)[0] == 0


def test_a_text_that_waits_is_told_once(repository):
    with update_notes(str(repository.root), "claude:s") as notes:
        notes.queue_messages("", ["remember this"])
    about = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}}

    running = [begun(repository, "PostToolUse", tool_use_id=f"c{n}", **about) for n in range(6)]

    assert "".join(ended(one)[1] for one in running).count("remember this") == 1


def test_a_text_that_waits_for_the_main_agent_is_not_told_to_a_subagent(repository):
    with update_notes(str(repository.root), "claude:s") as notes:
        notes.queue_messages("", ["remember this"])
    about = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}}

    assert repository.call("PostToolUse", agent_id="a1", **about).stdout == b""
    assert repository.call("PostToolUse", **about).own["additionalContext"] == "remember this"


def test_no_text_is_lost(repository):
    """Each hook adds to what waits for a moment that can carry it."""
    repository.rules(
        '<rules><on id="h" event="pre_tool_call"><insert role="developer">hint</insert></on>'
        '<on id="n" event="pre_tool_call" tool="shell"><deny reason="no"/></on></rules>'
    )
    about = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    running = [begun(repository, "PreToolUse", tool_use_id=f"c{n}", **about) for n in range(6)]
    assert [ended(one)[0] for one in running] == [2] * 6

    with update_notes(str(repository.root), "claude:s") as notes:
        assert notes == SessionNotes(waiting=[("", "hint")] * 6)


def test_stops_at_once_are_counted_one_after_the_other(repository):
    """Three blocks, then it is let through: also if all of them ask at the same time."""
    repository.write(".deepwork/policies/never.md", NEVER)
    about = {"stop_hook_active": False, "last_assistant_message": "Done."}

    running = [begun(repository, "SubagentStop", **about) for _ in range(4)]

    codes = sorted(ended(one)[0] for one in running)
    assert codes == [0, 2, 2, 2]
    name = next(repository.root.glob(".bylaw/state/hook-*.json"))
    assert json.loads(name.read_bytes())["agents"]["subagent"]["in_a_row"] == 3
