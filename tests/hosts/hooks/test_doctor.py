"""What `bylaw doctor` finds in a set-up; programs of clients are scripts that say a version."""

import json
import os
import sqlite3
import sys
import time
from contextlib import closing

import pytest
from called_hooks import NO_SHELL, Repository

from bylaw.cli import main
from bylaw.hosts.hooks.install.config_file import Scope
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.hosts.hooks.install.install import carry_out, plan_install
from bylaw.hosts.hooks.payload import read_unknown
from bylaw.report.doctor import examine
from bylaw.report.doctor_clients import FindingLevel
from bylaw.report.rules import grant, read_trust

LINT = """\
---
name: Lint
trigger: "src/**/*.py"
action:
  command: ruff check {files}
  run_for: all_matches
---
"""


class SetUp(Repository):
    """A repository of a person, and the programs that this person has."""

    def program(self, name, version="9.8.7"):
        """Install a program that only says its version."""
        file = self.home / "bin" / name
        file.write_text(f"#!/bin/sh\necho '{name} {version} (of a test)'\n")
        file.chmod(0o755)

    def install(self, host, scope=Scope.PROJECT, python=sys.executable):
        """Put our hooks there as `bylaw install` does; where."""
        change = plan_install(CLIENTS[host], scope, str(self.root), python)
        carry_out(change)
        return self.root / change.file.path

    def of_home(self, path, text):
        """A file of the person."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def found(self, about, level=None):
        """What is found about something, as texts with their steps."""
        self.examined = examine(str(self.root), lambda _: None)
        return [
            f"{one.text} -> {one.step}"
            for one in self.examined.findings
            if one.about == about and level in (None, one.level)
        ]

    def noted(self, *fields):
        """Wait for fields to be noted: that happens after the client has its answer."""
        until = time.monotonic() + 300
        while not all(one in repr(read_unknown(str(self.root))) for one in fields):
            assert time.monotonic() < until, f"{fields} are not noted"
            time.sleep(0.05)

    def wrong(self, about):
        """The same, of what is wrong."""
        return self.found(about, FindingLevel.WRONG)


@pytest.fixture
def set_up(tmp_path, monkeypatch, a_person):
    """Nothing is installed, and there is one rule."""
    made = SetUp(tmp_path / "root", tmp_path / "home", {"XDG_STATE_HOME": str(a_person)})
    (made.home / "bin").mkdir()
    monkeypatch.chdir(made.root)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("PATH", f"{made.home}/bin")
    for client in CLIENTS.values():
        for variable, _ in client.places.variables:
            monkeypatch.delenv(variable, raising=False)
    made.rules(NO_SHELL)
    return made


def test_nothing_is_installed(set_up):
    assert set_up.found("rules") == ["1 rule file active for coding agents -> "]
    assert set_up.examined.programs == {}
    assert set_up.examined.is_fine
    assert not any(one.about in CLIENTS for one in set_up.examined.findings)
    assert not (set_up.root / ".bylaw").exists()


def test_a_client_without_hooks(set_up):
    set_up.program("droid")
    (told,) = set_up.found("droid", FindingLevel.NOTE)
    assert "your rules do not apply to it" in told
    assert "`bylaw install droid`" in told
    assert set_up.examined.programs["droid"].version == "9.8.7"
    assert set_up.examined.is_fine


@pytest.mark.parametrize("host", CLIENTS)
def test_hooks_that_are_whole(set_up, host):
    file = set_up.install(host)
    (told,) = set_up.found(host, FindingLevel.FINE)
    assert str(file.relative_to(set_up.root)) in told
    (told,) = set_up.found(host, FindingLevel.NOTE)
    assert "not installed, or its program is not on the search path" in told
    assert set_up.examined.is_fine


@pytest.mark.parametrize("host", [one for one in CLIENTS if one != "opencode"])
def test_hooks_of_which_one_is_gone(set_up, host):
    file = set_up.install(host)
    settings = json.loads(file.read_text())
    settings["hooks"].popitem()
    file.write_text(json.dumps(settings))
    (told,) = set_up.wrong(host)
    assert "incomplete" in told
    assert f"`bylaw install {host} --project`" in told
    assert not set_up.examined.is_fine


def test_a_hook_of_a_person_beside_hooks_that_are_whole(set_up):
    own = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bylaw hook droid Stop"}]}]}}'
    set_up.program("bylaw")
    set_up.write(".factory/settings.json", own)
    (told,) = set_up.wrong("droid")
    assert "incomplete" in told
    set_up.install("droid")
    assert set_up.found("droid", FindingLevel.FINE)
    told = " ".join(set_up.found("droid", FindingLevel.NOTE))
    assert "decided twice because of .factory/settings.json" in told
    assert "consider removing `bylaw hook droid Stop` in line 1" in told


@pytest.mark.parametrize("host", CLIENTS)
def test_an_interpreter_that_is_gone(set_up, host):
    gone = set_up.root / "gone/python"
    set_up.install(host, python=str(gone))
    (told,) = set_up.wrong(host)
    assert f"`{gone}`, which is not an executable file" in told
    assert f"`bylaw install {host} --project`" in told


def test_what_a_repository_names_is_not_started(set_up):
    trace = set_up.root / "trace"
    own = set_up.write("python", f"#!/bin/sh\ntouch '{trace}'\n")
    own.chmod(0o755)
    set_up.install("claude", python=str(own))
    (told,) = set_up.found("claude", FindingLevel.NOTE)[:1]
    assert f"start `{own}`, not this Bylaw" in told
    assert not trace.exists()


def test_settings_that_the_client_cannot_read(set_up):
    set_up.write(".claude/settings.json", "{")
    (told,) = set_up.wrong("claude")
    assert ".claude/settings.json" in told


def test_hooks_for_the_user_and_for_the_project(set_up):
    set_up.program("droid")
    set_up.install("droid")
    set_up.install("droid", Scope.USER)
    (told,) = set_up.wrong("droid")
    assert "decided twice" in told
    assert "`bylaw uninstall droid --" in told


def test_hooks_for_claude_code_that_another_client_runs(set_up):
    """Copilot CLI does so always, Cursor if a person lets it."""
    for host in ("claude", "copilot", "cursor"):
        set_up.program(host)
        set_up.install(host)
    assert any("decided twice" in told for told in set_up.wrong("copilot"))
    assert not any("decided twice" in told for told in set_up.wrong("cursor"))
    assert any("may be decided twice" in told for told in set_up.found("cursor", FindingLevel.NOTE))


@pytest.mark.parametrize("is_here", [True, False])
def test_hooks_that_are_switched_off(set_up, is_here):
    """Also of a client that is no program on the search path: it may be part of an editor."""
    if is_here:
        set_up.program("qwen")
    set_up.install("qwen", Scope.USER)
    set_up.write(".qwen/settings.json", '{"disableAllHooks": true}')
    (told,) = set_up.wrong("qwen")
    assert "disabled" in told
    assert "`disableAllHooks`" in told


def test_a_node_that_is_too_old(set_up):
    set_up.program("qwen")
    set_up.program("node", "v20.11.0")
    (told,) = set_up.wrong("qwen")
    assert "needs node 22 or newer" in told
    set_up.program("node", "v22.0.1")
    assert not set_up.wrong("qwen")


def test_a_program_that_does_not_start(set_up):
    (set_up.home / "bin/droid").write_text("#!/no/such/interpreter\n")
    (set_up.home / "bin/droid").chmod(0o755)
    (told,) = set_up.wrong("droid")
    assert "does not print its version" in told


def test_a_folder_that_claude_code_does_not_trust(set_up):
    set_up.program("claude")
    set_up.install("claude")
    (told,) = set_up.wrong("claude")
    assert "does not trust this folder yet" in told
    assert "start `claude` in this folder" in told
    for path in (set_up.root, set_up.root.parent):
        projects = {str(path): {"hasTrustDialogAccepted": True}}
        set_up.of_home(".claude.json", json.dumps({"projects": projects}))
        assert not set_up.wrong("claude")


def test_a_folder_that_gemini_does_not_trust(set_up, monkeypatch):
    set_up.program("gemini")
    set_up.install("gemini")
    for folders, count in (
        ({}, 1),
        ({str(set_up.root): "DO_NOT_TRUST"}, 1),
        ({str(set_up.root): "TRUST_FOLDER"}, 0),
        ({str(set_up.root.parent / "other"): "TRUST_PARENT"}, 0),
        ({str(set_up.root / "below"): "TRUST_FOLDER"}, 1),
    ):
        set_up.of_home(".gemini/trustedFolders.json", json.dumps(folders))
        assert len(set_up.wrong("gemini")) == count, folders
    monkeypatch.setenv("GEMINI_CLI_TRUST_WORKSPACE", "true")
    assert not set_up.wrong("gemini")


# What Codex 0.166.0 calls our hooks, as its `hooks/list` told for this very interpreter.
CODEX_PYTHON = "/opt/bylaw/bin/python"
CODEX_HASHES = {
    "pre_tool_use:0:0": 'trusted_hash = "sha256:25d07a666ac8dacf98fd3dc19839bf65e886606f0a26cb8cb4137f70a1630aa7"',
    "post_tool_use:0:0": 'trusted_hash = "sha256:bfc2a39d0dea407d733d88ebc8aca4cf87432455dedc018e43592c7f8f423e64"',
    "session_start:0:0": 'trusted_hash = "sha256:fd9be03765d0a03413364da6fc0d8287ff983d42bed466ec191080af7c47e52a"',
    "session_end:0:0": 'trusted_hash = "sha256:e48d8bf6f71b05cb9f6b3f8bf892c1d2c21d214f69bb7393a043d3e8943c7d0c"',
    "user_prompt_submit:0:0": 'trusted_hash = "sha256:951c891d72e0fc9a4d5ee9be78882102f21b294f23508dae925f470bff46583e"',
    "subagent_stop:0:0": 'trusted_hash = "sha256:5b7d5d44681c0d1392775b923ed2cacb3ca095899114024b7d065a3b57c1e54c"',
    "stop:0:0": 'trusted_hash = "sha256:f0ae2174cf60eae9489b60e34cd4725d16bab7ac1e06c24a5eb0d8a9ec9f61fd"',
}


def codex_settings(set_up, file, **changes):
    """What Codex has written when a person trusted its folder, and hooks: those of `CODEX_HASHES`."""
    text = f'[projects."{set_up.root}"]\ntrust_level = "trusted"\n'
    for label, trusted in {**CODEX_HASHES, **changes}.items():
        if trusted:
            text += f'[hooks.state."{file}:{label}"]\n{trusted}\n'
    set_up.of_home(".codex/config.toml", text)


@pytest.fixture
def codex(set_up, monkeypatch):
    """Codex with our hooks, run by an interpreter that is the same everywhere."""
    set_up.program("codex")
    monkeypatch.setattr("bylaw.report.doctor_clients._is_program", lambda _: True)
    return set_up.install("codex", python=CODEX_PYTHON)


def test_what_codex_does_not_trust(set_up, codex):
    folder, hooks = set_up.wrong("codex")
    assert "does not trust this folder yet" in folder
    assert "does not trust hooks yet" in hooks
    assert "`PreToolUse`" in hooks
    assert "`/hooks`" in hooks
    set_up.of_home(".codex/config.toml", f'[projects."{set_up.root}"]\ntrust_level = "trusted"\n')
    assert set_up.wrong("codex") == [hooks]
    codex_settings(set_up, codex)
    assert not set_up.wrong("codex")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pre_tool_use:0:0": ""}, "does not trust hooks yet, so it silently does not run them: `PreToolUse`"),
        ({"stop:0:0": 'trusted_hash = "sha256:0"'}, "changed since you trusted them, so it silently does not run them: `Stop`"),
        ({"pre_tool_use:0:0": CODEX_HASHES["pre_tool_use:0:0"] + "\nenabled = false"}, "disabled in its settings: `PreToolUse`"),
    ],
)  # fmt: skip
def test_a_hook_that_codex_does_not_run(set_up, codex, changes, told):
    codex_settings(set_up, codex, **changes)
    (found,) = set_up.wrong("codex")

    assert told in found
    assert "type `/hooks`" in found
    assert not set_up.found("codex", FindingLevel.FINE)


def test_a_hook_that_codex_finds_in_another_place(set_up, codex):
    """It knows a hook by its number in the file: one that comes before ours takes its trust away."""
    codex_settings(set_up, codex)
    settings = json.loads(codex.read_text())
    settings["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "mine"}]})
    codex.write_text(json.dumps(settings))
    (found,) = set_up.wrong("codex")

    assert "does not trust hooks yet, so it silently does not run them: `Stop`" in found


def test_trust_that_nobody_can_see(set_up):
    set_up.program("copilot")
    set_up.install("copilot")
    (told,) = set_up.found("copilot", FindingLevel.NOTE)
    assert "Bylaw cannot check whether it trusts this folder" in told
    assert "choose to trust it permanently" in told


def test_rules_that_do_not_load(set_up):
    set_up.rules("<rules>\n  <on/>\n</rules>\n")
    told = set_up.wrong("rules")
    assert told[0].startswith("guard.chatmd:2: ")
    assert "`bylaw check`" in told[0]


def test_settings_of_ours_that_do_not_load(set_up):
    set_up.write("bylaw.toml", "[hoks]\n")
    (told,) = set_up.wrong("rules")
    assert told.startswith("bylaw.toml:1: ")
    assert not set_up.found("journal")


def test_no_rules(set_up):
    set_up.write("bylaw.toml", "")
    (set_up.root / "guard.chatmd").unlink()
    (told,) = set_up.found("rules", FindingLevel.NOTE)
    assert "no rule file is active" in told


def test_rules_that_would_start_something(set_up):
    set_up.write(".deepwork/policies/lint.md", LINT)
    (told,) = set_up.found("rules", FindingLevel.NOTE)
    assert "run no commands" in told
    assert "`bylaw trust`" in told


def test_a_journal_that_cannot_be_used(set_up):
    set_up.write(".bylaw/state/journal.db/in-the-way", "")
    (told,) = set_up.wrong("journal")
    assert "journal.db" in told
    assert "`bylaw doctor --release 10`" in told


def test_a_journal_that_is_busy(set_up, monkeypatch):
    assert set_up.shell("ls").code == 2
    assert set_up.found("journal") == [".bylaw/state/journal.db can be written -> "]
    monkeypatch.setattr("bylaw.store.state_folder.PATIENCE_S", 0.1)
    path = set_up.root / ".bylaw/state/journal.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        (told,) = set_up.wrong("journal")
    assert "journal.db" in told


def test_gates_that_settings_leave_open(set_up):
    set_up.write("bylaw.toml", '[hooks]\non_failure = "open"\n')
    # Nobody trusts the setting.
    assert set_up.found("gates") == ["fail closed: if Bylaw fails, they deny -> "]
    grant(read_trust())
    (told,) = set_up.found("gates", FindingLevel.NOTE)
    assert "they allow everything" in told


def test_fields_and_events_that_nobody_knows(set_up):
    about = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
    set_up.call("PreToolUse", mood="good", **about)
    set_up.call("Siesta")
    set_up.noted("mood", "Siesta")
    (told,) = set_up.found("payloads", FindingLevel.NOTE)
    assert "Claude Code sends fields or events that Bylaw does not know" in told
    assert "mood" in told
    assert "event Siesta" in told
    assert set_up.examined.is_fine


def test_fields_of_events_that_are_not_judged_are_listed_too(set_up):
    set_up.call("PreCompact", custom_instructions="", mood="good")
    set_up.call("UserPromptSubmit", prompt="go", agent_id="a1", colour="red")  # passed over
    for host, event in (
        ("gemini", "PreCompress"),
        ("copilot", "preCompact"),
        ("cursor", "preCompact"),
    ):
        set_up.raw(host, event, data=json.dumps({"cwd": str(set_up.root), "size": 1}).encode())
    set_up.noted("mood", "colour", "gemini", "copilot", "cursor")
    told = "\n".join(set_up.found("payloads", FindingLevel.NOTE))

    for name in ("event PreCompact", "mood", "colour"):
        assert name in told
    assert told.count("size") == 3


def test_a_field_is_written_out_once(set_up, capsys, monkeypatch):
    set_up.call("Siesta", **{"evil\x1b[31m": 1})
    set_up.noted("evil")
    monkeypatch.setattr(sys, "argv", ["bylaw", "doctor"])
    main()

    assert "evil\\u{1b}[31m" in capsys.readouterr().out


def test_the_resident(set_up, monkeypatch):
    (told,) = set_up.found("resident")
    assert told.startswith("not running")
    monkeypatch.setenv("BYLAW_RESIDENT", "0")
    (told,) = set_up.found("resident", FindingLevel.NOTE)
    assert "BYLAW_RESIDENT=0" in told
    monkeypatch.delenv("BYLAW_RESIDENT")
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(set_up.root / "state"))
    (told,) = set_up.found("resident", FindingLevel.NOTE)
    assert "no safe state folder" in told
