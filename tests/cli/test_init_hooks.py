"""`bylaw init`: rules that load, hooks for the clients that are found, one question."""

import json

import pytest
from installing import commands, everything, make_desk
from on_terminal import on_terminal

from bylaw.hosts.hooks.install import detect
from bylaw.hosts.starter import HOOKS, read_starter

pytestmark = pytest.mark.usefixtures("a_person")
RULES = dict(read_starter(HOOKS))


@pytest.fixture
def desk(tmp_path, capsys, monkeypatch):
    # That the interpreter starts is tried in test_install, which programs are there is said here.
    monkeypatch.setattr("bylaw.cli.init.check_interpreter", lambda _: None)
    monkeypatch.setattr(detect, "which", lambda _: None)
    return make_desk(tmp_path, capsys, monkeypatch)


def files(desk):
    return {path: data for path, data in everything(desk.root).items() if data is not None}


def test_without_a_client_rules_are_laid_out_that_load(desk):
    shown = desk.yes("init")

    assert files(desk) == RULES
    assert "wrote 3 files; next" in shown
    assert "bylaw install HOST" in shown
    assert desk.bylaw("check") == 0
    assert "2 books, 2 rules, 0 errors, 0 warnings" in desk.out


def test_hooks_of_a_client_that_left_files(desk):
    (desk.root / ".claude").mkdir()
    (desk.root / "GEMINI.md").write_text("x")
    shown = desk.yes("init")

    assert "wrote 3 files and hooks for Claude Code, Gemini CLI; next" in shown
    assert "hooks: Gemini CLI, because of `GEMINI.md`" in shown
    assert "\nClaude Code:\n  1. restart running sessions" in shown
    assert "bylaw install HOST" not in shown
    for host in ("claude", "gemini"):
        assert all(f"hook {host} " in line for line in commands(desk.file(host)).values())
    assert "nothing to write" in desk.yes("init")
    desk.yes("uninstall", "gemini")
    assert "wrote hooks for Gemini CLI; next" in desk.yes("init")


def test_a_program_on_the_search_path_is_enough(desk, monkeypatch):
    monkeypatch.setattr(detect, "which", {"codex": "/usr/bin/codex"}.get)
    desk.yes("init")

    assert desk.file("codex").exists()


def test_no_event_is_judged_twice(desk, monkeypatch):
    """Neither by hooks of the user and of the project, nor by those of another client."""
    monkeypatch.setattr(detect, "which", {"copilot": "x", "claude": "x", "qwen": "x"}.get)
    monkeypatch.setattr("bylaw.cli.install.check_interpreter", lambda _: None)
    desk.yes("install", "qwen", "--user")
    shown = desk.yes("init")

    assert "wrote 3 files and hooks for Claude Code; next" in shown
    assert "decided twice" not in shown
    assert not desk.file("qwen").exists()
    assert not desk.file("copilot").exists()


def test_cursor_has_hooks_of_its_own(desk, monkeypatch):
    """It runs those for Claude Code only if a person lets it."""
    monkeypatch.setattr(detect, "which", {"cursor": "x", "claude": "x"}.get)
    shown = desk.yes("init")

    assert desk.file("cursor").exists()
    assert (
        "disable third-party configurations in the settings of Cursor: otherwise Cursor also runs"
        in shown
    )


def test_hooks_can_be_left_out(desk):
    (desk.root / ".claude").mkdir()
    assert "bylaw install HOST" in desk.yes("init", "--no-hooks")
    assert files(desk) == RULES


def test_one_configuration_that_is_broken_spares_the_others(desk):
    broken = desk.write("claude", "{")
    desk.write("codex", "{}")
    assert desk.bylaw("init", "--yes") == 1

    assert "not written  .claude/settings.json" in desk.out
    assert "wrote 3 files and hooks for Codex CLI; hooks for Claude Code could not be" in desk.out
    assert "`bylaw install claude` shows what is wrong" in desk.out
    assert broken.read_text() == "{"
    assert commands(desk.file("codex"))
    assert desk.bylaw("init") == 1


def test_what_is_there_stays_and_is_told(desk):
    (desk.root / "bylaw.toml").write_text("[stop]\nmax_blocks = 5\n")
    shown = desk.yes("init")

    assert "kept  bylaw.toml" in shown
    assert (desk.root / "bylaw.toml").read_text() == "[stop]\nmax_blocks = 5\n"
    assert '[[book]] path = ".bylaw/house-rules.chatmd"  add this to bylaw.toml' in shown


def test_nothing_is_written_without_being_told(desk):
    (desk.root / ".claude").mkdir()
    assert desk.bylaw("init", "--dry-run") == 0
    assert desk.bylaw("init") == 1
    assert "pass `--yes`" in desk.err
    assert desk.bylaw("init", "--format", "json") == 1
    told = json.loads(desk.out)

    assert told["written"] == 0
    assert [(one["host"], one["installed"]) for one in told["hooks"]] == [("claude", False)]
    assert files(desk) == {}
    assert desk.bylaw("init", "--format", "json", "--yes") == 0
    told = json.loads(desk.out)
    assert (told["written"], told["hooks"][0]["installed"]) == (3, True)
    assert files(desk).keys() == {*RULES, ".claude/settings.json"}


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1)])
def test_a_person_is_asked_once(desk, answer, code, monkeypatch):
    monkeypatch.setenv("PATH", str(desk.home))
    (desk.root / ".cursor").mkdir()
    shown, ended = on_terminal(desk.root, ["init"], answer)

    assert ended == code
    assert shown.count("[y/N] ") == 1
    assert "Write 3 files and hooks for Cursor" in shown
    assert desk.file("cursor").exists() is (code == 0)
    assert (desk.root / "bylaw.toml").exists() is (code == 0)


def test_the_rules_judge(desk):
    desk.yes("init")
    (desk.root / "events.jsonl").write_text(
        '{"kind": "turn.start"}\n'
        '{"kind": "tool.before", "tool": "Bash", "also": ["shell"], "args": {"command": "git push -f"}}\n'
        '{"kind": "tool.before", "tool": "Bash", "also": ["shell"], "args": {"command": "git push"}}\n'
    )
    assert desk.bylaw("decide", "--rules", ".bylaw", "--events", "events.jsonl") == 0
    told = [json.loads(line) for line in desk.out.splitlines()]

    assert [one["verdict"] for one in told] == ["allow", "deny", "allow"]
    assert "rules that are enforced" in desk.out.splitlines()[0]
