"""`bylaw doctor` as a person calls it: exit codes, both formats, gates that are opened."""

import json
import subprocess

import pytest
from on_terminal import PERSON, call

from bylaw.hosts.clients.caller import AGENTS
from own_session import SHELL, Terminal

TOOL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository whose journal cannot be used, and nobody has installed a client."""
    for name in ("root", "home", "state"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BYLAW_RESIDENT", "0")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "root/bylaw.toml").touch()
    return tmp_path / "root"


def on_terminal(root, *words):
    """What is shown, and the exit code."""
    with Terminal([*SHELL, *PERSON, "doctor", *words], folder=root) as terminal:
        return terminal.rest(), terminal.process.returncode


def break_journal(root):
    (root / ".bylaw/state/journal.db").mkdir(parents=True)


def gate(root):
    """Whether a gate is open: the exit code of a hook, and what it says."""
    payload = {"session_id": "s", "cwd": str(root), "hook_event_name": "PreToolUse", **TOOL}
    done = subprocess.run(
        [*PERSON, "hook", "claude", "PreToolUse"],
        input=json.dumps(payload), cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_nothing_is_wrong(root):
    done = call(root, "doctor")
    assert done.returncode == 0
    assert "not installed: Claude Code, Codex CLI," in done.stdout
    assert "note   hooks     none: Bylaw enforces no rule in a coding agent" in done.stdout
    assert "→ run `bylaw install NAME` to install them" in done.stdout
    assert done.stdout.endswith("no problems found, but no hooks are installed\n")
    assert done.stderr == ""


def test_a_chat_among_the_rules_is_said_and_is_not_wrong(root):
    (root / "rules").mkdir()
    (root / "rules/read-first.chatmd").write_text("<policy/>\n")
    done = call(root, "doctor")
    said = " ".join(done.stdout.split())
    assert (
        "note rules `rules/read-first.chatmd` is not listed as a rule file: it applies only to its own chat"
        in said
    )
    assert '`[[book]]`, `path = "rules/read-first.chatmd"`' in said
    assert done.returncode == 0


def test_something_is_wrong(root):
    break_journal(root)
    done = call(root, "doctor")
    assert done.returncode == 1
    assert "wrong  journal" in done.stdout
    assert "1 problem found" in done.stdout


def test_for_programs(root):
    break_journal(root)
    done = call(root, "doctor", "--format", "json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert set(told) == {"root", "version", "ok", "clients", "findings"}
    assert not told["ok"]
    (journal,) = [one for one in told["findings"] if one["about"] == "journal"]
    assert journal["level"] == "wrong"
    assert "--release" in journal["step"]


def test_gates_are_opened_and_closed_again(root):
    break_journal(root)
    code, said = gate(root)
    assert code == 2
    assert "`bylaw doctor --release 10` releases failed gates for ten minutes" in said

    shown, code = on_terminal(root, "--release", "10")
    assert code == 0
    assert "not recorded in the journal" in shown  # the journal is what is broken
    code, said = gate(root)
    assert code == 0
    assert "nothing was checked" in said
    told = json.loads(call(root, "doctor", "--format", "json").stdout)
    (gates,) = [one for one in told["findings"] if one["about"] == "gates"]
    assert gates["level"] == "note"
    assert "released by a person until" in gates["text"]

    assert call(root, "doctor", "--release", "0").returncode == 0
    assert gate(root)[0] == 2


def test_what_was_opened_since_settings_are_broken_is_on_record(root):
    settings = (root / "bylaw.toml").read_text()
    (root / "bylaw.toml").write_text("[[broken")
    assert gate(root)[0] == 2

    shown, code = on_terminal(root, "--release", "10")
    assert (code, gate(root)[0]) == (0, 0)
    assert "on record" not in shown
    (root / "bylaw.toml").write_text(settings)
    assert "gates.release" in call(root, "log", "--format", "json").stdout


def test_what_was_opened_is_on_record(root):
    shown, code = on_terminal(root, "--release", "1440")
    assert code == 0
    assert "on record" not in shown
    assert call(root, "doctor", "--release", "0").returncode == 0
    records = call(root, "log", "--format", "json").stdout.splitlines()
    told = [json.loads(one)["event"] for one in records]
    assert [one["type"] for one in told] == ["gates.release", "gates.release"]
    assert [one["payload"]["minutes"] for one in told] == [1440, 0]
    assert all(one["payload"]["by"] for one in told)
    assert call(root, "verify").returncode == 0


def test_a_rule_forbids_also_while_gates_are_open(root):
    (root / "bylaw.toml").write_text('[[book]]\npath = "guard.chatmd"\n')
    (root / "guard.chatmd").write_text(
        '<policy><tool name="shell"><quota per_session="0"/></tool></policy>\n'
    )
    assert on_terminal(root, "--release", "10")[1] == 0
    assert gate(root)[0] == 2


def test_who_has_no_terminal_opens_nothing(root):
    done = call(root, "doctor", "--release", "10")
    assert done.returncode == 1
    assert "needs a person on a terminal" in done.stderr
    break_journal(root)
    assert gate(root)[0] == 2


@pytest.mark.parametrize("variable", [AGENTS[0].variables[0], AGENTS[-1].variables[0]])
def test_an_agent_opens_nothing(root, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    shown, code = on_terminal(root, "--release", "10")
    assert code == 1
    assert "needs a person, but an agent is running here" in shown
    assert not (root.parent / "state/bylaw").exists()


def test_a_file_of_somebody_else_opens_nothing(root):
    break_journal(root)
    assert on_terminal(root, "--release", "10")[1] == 0
    (root.parent / "state/bylaw/release").chmod(0o666)
    assert gate(root)[0] == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--release", "1441"),
        ("--release", "-1"),
        ("--release", "soon"),
        ("--release", "1", "--canary"),
        ("claude",),
        ("--canary", "emacs"),
    ],
)
def test_wrong_words(root, words):
    assert call(root, "doctor", *words).returncode == 2


def test_clients_that_are_not_there_are_not_tried(root):
    done = call(root, "doctor", "--canary")
    assert done.returncode == 1
    assert done.stderr == ""
    assert "not installed: `claude` is not on the search path" in done.stdout
    assert "needs a server of its own" in done.stdout
    done = call(root, "doctor", "--canary", "codex", "--format", "json")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["trials"]
    assert (trial["host"], trial["tried"], trial["fired"]) == ("codex", False, None)
    assert "not installed" in trial["why"]


def test_a_client_that_does_not_do_what_it_should(root, tmp_path, monkeypatch):
    (tmp_path / "claude").write_text("#!/bin/sh\necho this is not Claude Code\nexit 3\n")
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    done = call(root, "doctor", "--canary", "claude")
    assert done.returncode == 1
    assert "no          no      no" in done.stdout
    assert "ended with exit code 3" in done.stdout
    assert "this is not Claude Code" in done.stdout
