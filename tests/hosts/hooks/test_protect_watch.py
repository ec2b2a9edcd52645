"""Protected files that were changed all the same: told, and trusted no longer."""

import subprocess
import sys

import pytest
from called_hooks import Repository

from bylaw.cli import main
from bylaw.hosts.hooks.protect import watch
from bylaw.runtime.protection import Protection
from bylaw.runtime.settings.tables import ProtectSettings

POLICY = """---
name: Tests beside sources
trigger: src/{path}.py
safety: tests/{path}_test.py
---
Write a test for {trigger_file}.
"""
SETTINGS = "[hooks]\nsubagents = false\n"
FILE = ".deepwork/policies/tests.md"
SCRIPT = "python3 tidy.py"  # of which nobody can tell what it does


@pytest.fixture
def repository(tmp_path, a_person, monkeypatch):
    """A policy and settings that a person trusts: stops of subagents are not looked at."""
    made = Repository(tmp_path / "root", tmp_path / "home", {"XDG_STATE_HOME": str(a_person)})
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=made.root, check=True)
    made.write(FILE, POLICY)
    made.write("src/app.py", "print(1)\n")
    made.write("bylaw.toml", SETTINGS)
    monkeypatch.chdir(made.root)
    monkeypatch.setattr(sys, "argv", ["bylaw", "trust", "--yes"])
    assert main() == 0
    return made


def subagent_stops(repository):
    about = {"agent_id": "a1", "agent_type": "x", "last_assistant_message": "Done."}
    return repository.call("SubagentStop", stop_hook_active=False, **about).code


def ran(repository, command=SCRIPT):
    about = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "c1"}
    return repository.call("PostToolUse", tool_response={"stdout": ""}, **about)


def test_what_a_call_changed_is_told_to_both_and_is_not_trusted(repository):
    assert subagent_stops(repository) == 0
    assert repository.shell(SCRIPT).code == 0
    repository.write(FILE, POLICY.replace("Write", "Or do not write"))
    repository.write("bylaw.toml", f"{SETTINGS}[protect]\nenabled = false\n")

    told = ran(repository)

    for text in (told.answer["systemMessage"], told.own["additionalContext"]):
        assert f"changed while `Bash` ran, though it is protected: `{FILE}`" in text
        assert "`bylaw.toml`" in text
    assert b"though it is protected" not in ran(repository).stdout  # told once
    # Settings that nobody trusts count only where they are stricter.
    assert subagent_stops(repository) == 2
    assert repository.shell("rm bylaw.toml").code == 2


SINCE = f"changed since the last call, though it is protected: `{FILE}`"


def test_what_is_changed_between_two_calls_is_told_before_the_next(repository):
    """By a process that a call left behind, for one."""
    repository.shell(SCRIPT)
    ran(repository)
    repository.write(FILE, POLICY.replace("Write", "Or do not write"))

    told = repository.shell(SCRIPT)

    assert told.code == 0
    assert SINCE in told.answer["systemMessage"]
    assert SINCE in told.own["additionalContext"]
    assert b"protected" not in ran(repository).stdout  # told once


def test_what_is_changed_after_the_last_call_is_told_at_the_stop(repository):
    repository.shell(SCRIPT)
    ran(repository)
    repository.write(FILE, POLICY.replace("Write", "Or do not write"))

    assert SINCE in repository.stop().answer["systemMessage"]
    assert b"protected" not in repository.stop().stdout


def test_each_session_is_told(repository):
    for session in ("s", "t"):
        repository.shell(SCRIPT, session=session)
    repository.write(FILE, POLICY.replace("Write", "Or do not write"))

    for session in ("t", "s"):
        assert SINCE in repository.shell(SCRIPT, session=session).answer["systemMessage"]


def test_what_a_person_changes_before_they_speak_is_theirs(repository):
    repository.shell(SCRIPT)
    ran(repository)
    repository.write(FILE, POLICY.replace("Write", "Please write"))
    repository.call("UserPromptSubmit", prompt="Go on.")

    assert b"protected" not in repository.shell(SCRIPT).stdout
    assert b"protected" not in ran(repository).stdout


def test_a_call_that_names_the_file_is_refused_before(repository):
    refused = repository.shell(f"sed -i s/src/lib/ {FILE}")

    assert refused.code == 2
    assert refused.own["permissionDecision"] == "deny"
    assert f"protected from agents: `{FILE}` (it is in force)" in refused.stderr


def test_there_is_an_end_to_what_is_looked_at_which_is_said_and_own_files_come_first(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(watch, "MAX_WATCHED", 20)
    root = tmp_path / "root"
    files = ("bylaw.toml", ".cursor/hooks.json", ".gemini/extensions/a.json", "kept/a.txt")
    for name in (*files, *(f"many/{number}.txt" for number in range(30))):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    settings = ProtectSettings(paths=("many", "kept/a.txt"))
    said = []

    def look():
        paths = Protection(str(root), settings).watched()
        return watch.changed_since_last_look(str(root), "s", paths, said.append)

    assert look() == ()
    for name in files:
        (root / name).write_text("x")
    assert look() == tuple(sorted(f"{root}/{name}" for name in files))
    assert set(said) == {watch.TOO_MANY}
