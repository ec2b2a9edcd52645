"""Protected files that were changed all the same: told, and trusted no longer."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from called_hooks import Repository

from bylaw.cli import main
from bylaw.hosts.clients import load_adapter
from bylaw.hosts.hooks.payload import decide_event, read_event
from bylaw.hosts.hooks.protect import watch
from bylaw.hosts.protected_paths import Protection
from bylaw.model.errors import BylawError
from bylaw.runtime.settings import ProtectSettings
from bylaw.store import state_folder

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
        assert f"protected file changed while `Bash` ran: `{FILE}`" in text
        assert "`bylaw.toml`" in text
    assert b"protected file changed" not in ran(repository).stdout  # told once
    # Settings that nobody trusts count only where they are stricter.
    assert subagent_stops(repository) == 2
    assert repository.shell("rm bylaw.toml").code == 2


SINCE = f"protected file changed since the last call: `{FILE}`"


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


def fail(repository, monkeypatch, event, **fields):
    """An event that nothing can be recorded of, since another process writes."""
    monkeypatch.setattr(state_folder, "SQLITE_PATIENCE_S", 0.1)
    adapter = load_adapter("claude")
    about = {"tool_name": "Bash", "tool_input": {"command": SCRIPT}, "tool_use_id": "c1", **fields}
    heard = read_event(adapter, event, repository.payload(event, **about))
    with closing(sqlite3.connect(repository.root / ".bylaw/state/journal.db")) as journal:
        journal.execute("BEGIN IMMEDIATE")
        with pytest.raises(BylawError, match="journal"):
            decide_event(adapter, heard, str(repository.root), print)


def test_what_could_not_be_recorded_is_told_the_next_time(repository, monkeypatch):
    """Nobody has heard of it."""
    repository.shell(SCRIPT)
    repository.write(FILE, POLICY.replace("Write", "Or do not write"))
    fail(repository, monkeypatch, "PostToolUse", tool_response={})

    assert (
        f"protected file changed while `Bash` ran: `{FILE}`"
        in ran(repository).own["additionalContext"]
    )


def test_the_first_look_counts_also_if_its_event_could_not_be_recorded(repository, monkeypatch):
    """A gate may be open on failure: what the call changes then is told."""
    repository.shell(SCRIPT, session="another")
    fail(repository, monkeypatch, "PreToolUse")
    repository.write(FILE, POLICY.replace("Write", "Or do not write"))

    assert (
        f"protected file changed while `Bash` ran: `{FILE}`"
        in ran(repository).own["additionalContext"]
    )


def test_the_model_is_not_told_what_else_the_person_is_warned_of(repository):
    repository.shell(SCRIPT)
    ran(repository)
    repository.write(FILE, "---\ntrigger: [\n---\n")

    warned = repository.stop().answer["systemMessage"]
    told = repository.call("UserPromptSubmit", prompt="Go on.").own["additionalContext"]

    assert SINCE in warned
    assert SINCE in told
    assert "rule does-not-load" in warned
    assert "rule does-not-load" not in told


def git(repository, *words):
    subprocess.run(["git", *words], cwd=repository.root, check=True, capture_output=True)


@pytest.mark.parametrize(
    "words",
    [
        ("remote", "add", "origin", "../other.git"),
        ("config", "user.name", "z"),
        ("config", "branch.main.merge", "refs/heads/main"),
        ("config", "push.autoSetupRemote", "true"),
        ("config", "core.autocrlf", "input"),
        ("config", "submodule.x.url", "../x"),
        ("gc", "--quiet"),
    ],
)
def test_daily_work_in_the_settings_of_git_is_no_breach(repository, words):
    repository.shell(SCRIPT)
    git(repository, *words)

    assert b"protected" not in ran(repository).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("core.hooksPath", "/tmp/x"),
        ("filter.x.clean", "sh"),
        ("remote.origin.uploadpack", "sh"),
        ("core.sshCommand", "sh"),
        ("submodule.x.update", "!sh"),
        ("alias.name", "!sh"),
    ],
)
def test_settings_that_decide_what_git_runs_are_told(repository, words):
    git(repository, "remote", "add", "origin", "../other.git")
    repository.shell(SCRIPT)
    git(repository, "config", *words)

    assert ".git/config" in ran(repository).own["additionalContext"]


def test_a_project_file_counts_if_it_holds_settings(tmp_path):
    repository = Repository(tmp_path / "another", tmp_path / "home")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=repository.root, check=True)
    (repository.root / "bylaw.toml").unlink()
    project = "[project]\nname = 'x'\n"
    repository.write("pyproject.toml", project)
    repository.shell(SCRIPT)
    repository.write("pyproject.toml", project.replace("x", "y"))
    assert b"protected" not in ran(repository).stdout

    for text in (project + "[tool.bylaw]\n", project):
        repository.write("pyproject.toml", text)
        assert "`pyproject.toml`" in repository.shell(SCRIPT).answer["systemMessage"]


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
    assert f"protected from agents: `{FILE}` (its rules are active)" in refused.stderr


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
        paths = Protection(str(root), settings).watched_paths()
        found = watch.compare_files(str(root), "s", paths, said.append)
        watch.mark_reported(str(root), "s", found)
        return found.changed

    assert look() == ()
    for name in files:
        (root / name).write_text("x")
    assert look() == tuple(sorted(f"{root}/{name}" for name in files))
    assert set(said) == {watch.TOO_MANY}


def test_hooks_side_by_side_lose_no_change_and_bring_none_back(tmp_path):
    """Each is told by one of them at least; what was told later stays as it was seen then."""
    root, files = str(tmp_path), [str(tmp_path / name) for name in "ab"]

    def look():
        return watch.compare_files(root, "s", files, print)

    def write(*texts):
        for file, text in zip(files, texts, strict=True):
            (tmp_path / file).write_text(text)

    write("0", "0")
    assert look().changed == ()
    write("1", "0")
    early = look()
    write("2", "1")
    late = look()
    assert (early.changed, late.changed) == ((files[0],), tuple(files))
    watch.mark_reported(root, "s", late)
    watch.mark_reported(root, "s", early)
    assert look().changed == ()
    (tmp_path / "a").unlink()
    assert look().changed == look().changed == (files[0],)
    watch.mark_reported(root, "s", look())
    assert look().changed == ()
