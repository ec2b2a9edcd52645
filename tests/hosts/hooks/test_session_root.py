"""Which root governs: that of the project for which the client was started, wherever the agent goes."""

import json

import pytest
from called_hooks import NO_SHELL, Repository

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.base import HookEvent
from bylaw.hosts.hooks.payload import SESSIONS_FOLDER, event_root
from bylaw.model.vocabulary import HookPoint

VARIABLES = {
    "claude": "CLAUDE_PROJECT_DIR",
    "gemini": "GEMINI_PROJECT_DIR",
    "qwen": "QWEN_PROJECT_DIR",
    "copilot": "COPILOT_PROJECT_DIR",
    "droid": "FACTORY_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
}


@pytest.fixture
def repository(tmp_path):
    """A root that forbids the shell, and one in it that does not."""
    made = Repository(tmp_path / "root", tmp_path / "home")
    made.rules(NO_SHELL)
    made.write("vendored/bylaw.toml", "")
    return made


@pytest.fixture
def folders(repository, tmp_path, monkeypatch):
    """The same, to be asked in this process."""
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return repository.root


def governed(host, cwd, session="s", project=""):
    heard = HookEvent(
        name="x", moment=HookPoint.OTHER, session=session, cwd=str(cwd), project=project
    )
    return event_root(load_adapter(host), heard)


def test_an_agent_does_not_leave_its_rules_by_going_below(repository):
    """The client does not say where its project lies: the session's first event tells it."""
    below = repository.root / "vendored"

    assert at(repository, repository.root).code == 2
    assert at(repository, below).code == 2
    assert at(repository, below, session="begun there").code == 0


def at(repository, folder, session="s"):
    """Codex is about to run a command, in a folder."""
    about = {"session_id": session, "cwd": str(folder), "hook_event_name": "PreToolUse"}
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
    return repository.raw("codex", "PreToolUse", data=json.dumps({**about, **call}).encode())


@pytest.mark.parametrize("host", VARIABLES)
def test_the_folder_of_the_project_is_the_clients_word(folders, host, monkeypatch):
    monkeypatch.setenv(VARIABLES[host], str(folders))

    assert governed(host, folders / "vendored", session="") == str(folders)
    assert governed(host, folders.parent, session="") == str(folders)


def test_each_client_is_believed_only_in_its_own_variable(folders, monkeypatch):
    """One client may run in the shell of another."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folders / "vendored"))

    assert governed("codex", folders) == str(folders)
    assert governed("gemini", folders) == str(folders)


@pytest.mark.parametrize("value", ["", ".", "vendored", "/no/such/folder", "~"])
def test_what_is_no_folder_is_not_believed(folders, value, monkeypatch):
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", value)

    assert governed("claude", folders / "vendored") == str(folders / "vendored")


def test_a_payload_may_name_the_project(folders):
    """Cursor's first workspace, and the folder that our plugin for OpenCode was started in."""
    roots = {"workspace_roots": [str(folders), "/"], "cwd": str(folders / "vendored")}
    cursor, opencode = load_adapter("cursor"), load_adapter("opencode")

    assert event_root(cursor, cursor.read("stop", roots)) == str(folders)
    assert opencode.read("session.idle", {"cwd": str(folders)}).project == str(folders)


def test_the_first_root_of_a_session_holds_inside_of_it(folders):
    assert governed("codex", folders) == str(folders)

    assert governed("codex", folders / "vendored") == str(folders)
    # Elsewhere it is as if nobody had been here.
    assert governed("codex", folders.parent) == str(folders.parent)
    assert governed("codex", folders / "vendored", session="t") == str(folders / "vendored")
    assert governed("codex", folders, session="t") == str(folders)


def test_a_repository_that_the_agent_makes_is_no_root_of_its_own(folders):
    (folders / "bylaw.toml").unlink()
    (folders / ".git").mkdir()
    assert governed("codex", folders) == str(folders)

    (folders / "sub/.git").mkdir(parents=True)
    assert governed("codex", folders / "sub") == str(folders)
    assert governed("codex", folders / "sub", session="t") == str(folders / "sub")


def test_without_a_session_nothing_is_remembered(folders, tmp_path):
    assert governed("codex", folders, session="") == str(folders)

    assert governed("codex", folders / "vendored", session="") == str(folders / "vendored")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("place", ["none", "", "/dev/null/x", "root/state"])
def test_without_a_place_of_the_users_own_nothing_is_remembered(folders, place, monkeypatch):
    """A repository could write what lies inside of it."""
    inside = place == "root/state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folders / "state") if inside else place)
    monkeypatch.delenv("HOME")

    assert governed("codex", folders) == str(folders)
    assert governed("codex", folders / "vendored") == str(folders / "vendored")


def test_what_somebody_else_wrote_is_not_believed(folders, tmp_path):
    assert governed("codex", folders) == str(folders)
    (file,) = (tmp_path / "state/bylaw" / SESSIONS_FOLDER).iterdir()

    file.write_text(str(folders / "vendored"))
    assert governed("codex", folders / "vendored/..") == str(folders)
    file.write_text(str(folders))
    file.chmod(0o666)
    assert governed("codex", folders / "vendored") == str(folders / "vendored")


def test_settings_above_count_as_soon_as_they_are_there(folders):
    """What is remembered is a folder; which root it has is found anew."""
    (folders / "bylaw.toml").unlink()
    (folders / "sub/.git").mkdir(parents=True)
    assert governed("codex", folders / "sub") == str(folders / "sub")

    (folders / "bylaw.toml").touch()
    assert governed("codex", folders / "sub") == str(folders)
