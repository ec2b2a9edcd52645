"""`bylaw install` and `bylaw uninstall`: every client and scope, and files that nobody can edit."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from installing import PROJECT, USER, commands, everything, make_desk, named_folders
from on_terminal import PERSON, on_terminal

from bylaw.hosts.hooks.install import forms
from bylaw.hosts.hooks.install.forms import CLIENTS
from other_user import as_somebody_else

pytestmark = pytest.mark.usefixtures("a_person")
every_client = pytest.mark.parametrize("host", CLIENTS)
every_scope = pytest.mark.parametrize("scope", ["project", "user"])


@pytest.fixture
def desk(tmp_path, capsys, monkeypatch):
    # That it starts is tried once, see below.
    monkeypatch.setattr("bylaw.cli.install.check_interpreter", lambda _: None)
    return make_desk(tmp_path, capsys, monkeypatch)


@every_client
@every_scope
def test_what_was_made_for_hooks_is_gone_without_them(desk, host, scope):
    before = everything(desk.home) | everything(desk.root)
    shown = desk.yes("install", host, f"--{scope}")

    file = desk.file(host, scope)
    assert f"installed hooks for {CLIENTS[host].title} in " in shown
    assert "\n+{\n" in shown, "the difference is shown"
    path = (USER if scope == "user" else PROJECT)[host]
    folders = {one.as_posix() for one in Path(path).parents} - {"."}
    made = (everything(desk.home) | everything(desk.root)).keys() - before.keys()
    assert made == {path, *folders}

    again = file.stat()
    assert f"hooks for {CLIENTS[host].title} are already installed" in desk.yes(
        "install", host, f"--{scope}"
    )
    assert file.stat().st_mtime_ns == again.st_mtime_ns

    desk.yes("uninstall", host, f"--{scope}")
    assert everything(desk.home) | everything(desk.root) == before
    assert f"found no hooks for {CLIENTS[host].title}" in desk.yes("uninstall", host, f"--{scope}")


@every_client
@every_scope
def test_a_configuration_comes_back_to_the_byte(desk, host, scope, a_person):
    text = b'{\r\n\t"x" : [ 1,2 ],  "hooks": {"Other":[ ]},\r\n\t\t"plugin": []}\r\n\r\n'
    file = desk.write(host, text, scope)
    file.chmod(0o640)
    shown = desk.yes("install", host, f"--{scope}")
    after = json.loads(file.read_text())

    assert after["x"] == [1, 2]
    assert b"\n" not in file.read_bytes().replace(b"\r\n", b"")
    assert file.stat().st_mode & 0o777 == 0o640
    backup = Path(shown.partition("the old file is kept in ")[2].partition("\n")[0])
    assert backup.read_bytes() == text
    assert a_person in backup.parents

    desk.yes("uninstall", host, f"--{scope}")
    assert file.read_bytes() == text
    assert file.stat().st_mode & 0o777 == 0o640
    assert not backup.exists()


@every_client
def test_what_a_person_adds_stays(desk, host):
    file = desk.write(host, '{"mine": 1}\n')
    desk.yes("install", host)
    file.write_text(file.read_text().replace('"mine": 1', '"mine": 2, "more": []'))
    desk.yes("uninstall", host)

    assert file.read_text() == '{"mine": 2, "more": []}\n'


@every_client
def test_another_interpreter_takes_the_place_of_the_first(desk, host, monkeypatch):
    file = desk.write(host, '{"mine": 1}')
    monkeypatch.setattr(forms.sys, "executable", "/opt/first/bin/python")
    desk.yes("install", host)
    first = file.read_text()
    monkeypatch.setattr(forms.sys, "executable", "/opt/second/bin/python")
    desk.yes("install", host)

    assert file.read_text() == first.replace("/opt/first/", "/opt/second/")
    desk.yes("uninstall", host)
    assert file.read_text() == '{"mine": 1}'


def test_an_agent_may_not_take_hooks_out(desk, monkeypatch):
    file = desk.file("claude")
    desk.yes("install", "claude")
    monkeypatch.setenv("CLAUDECODE", "1")
    installed = file.read_bytes()

    assert desk.bylaw("uninstall", "claude", "--yes") == 1
    assert "needs a person" in desk.err
    monkeypatch.setattr(forms.sys, "executable", "/opt/other/bin/python")
    assert desk.bylaw("install", "claude", "--yes") == 1
    assert file.read_bytes() == installed


def test_a_dry_run_and_a_no_write_nothing(desk):
    assert desk.bylaw("install", "claude", "--dry-run") == 0
    assert desk.out.startswith("--- /dev/null\n+++ .claude/settings.json\n")
    assert desk.bylaw("install", "claude") == 1
    assert "pass `--yes`" in desk.err
    assert desk.bylaw("install", "claude", "--format", "json") == 1
    assert json.loads(desk.out)["written"] is False
    assert not desk.file("claude").exists()


def test_for_programs(desk):
    assert desk.bylaw("install", "codex", "--format", "json", "--yes") == 0
    told = json.loads(desk.out)

    assert (told["host"], told["scope"], told["path"]) == ("codex", "project", ".codex/hooks.json")
    assert told["written"] is True
    assert any("`/hooks`" in step for step in told["steps"])
    assert desk.bylaw("uninstall", "codex", "--format", "json", "--yes") == 0
    assert not desk.file("codex").exists()


# What stands in the place of the file, and what is said of it.
IN_THE_WAY = {
    "a folder": (lambda file: file.mkdir(), "it is a folder"),
    "a pipe": (os.mkfifo, "it is not a regular file"),
    "a link out": (lambda file: file.symlink_to("/etc/passwd"), "it leads outside the allowed folder"),
    "a link to nothing": (lambda file: file.symlink_to("/nowhere"), "it leads outside the allowed folder"),
    "not JSON": (lambda file: file.write_text("{'a': 1}"), "is not JSON"),
    "a comment": (lambda file: file.write_text("{} // x"), "a comment is not allowed here"),
    "cut off": (lambda file: file.write_text('{"a": '), "it ends too early"),
    "not UTF-8": (lambda file: file.write_bytes(b'{"a": "\xff"}'), "not UTF-8"),
    "UTF-16": (lambda file: file.write_bytes('{"a": 1}'.encode("utf-16")), "not UTF-8"),
    "too large": (lambda file: file.write_text('{"a": "' + "x" * 6_000_000 + '"}'), "larger than"),
    "twice": (lambda file: file.write_text('{"hooks": {}, "hooks": {}}'), "duplicate key"),
    "a list": (lambda file: file.write_text("[]"), "must be an object"),
    "no list": (lambda file: file.write_text('{"hooks": {"Stop": 1}}'), "`Stop` must be a list"),
}  # fmt: skip


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_what_cannot_be_edited_is_refused_and_left_alone(desk, what):
    make, said = IN_THE_WAY[what]
    file = desk.file("claude")
    file.parent.mkdir()
    make(file)
    before = identity(file)

    assert desk.bylaw("install", "claude", "--yes") == 1
    assert said in desk.err
    assert "Traceback" not in desk.err
    assert desk.out == ""
    assert identity(file) == before


def identity(file):
    """What changes with every write."""
    found = file.lstat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns


def test_a_file_in_the_place_of_the_folder(desk):
    (desk.root / ".claude").write_text("mine")

    assert desk.bylaw("install", "claude", "--yes") == 1
    assert "a file is in the place of its folder" in desk.err


@pytest.mark.parametrize("empty", [b"", b" \n"])
def test_an_empty_file_is_as_good_as_none(desk, empty):
    file = desk.write("claude", empty)
    desk.yes("install", "claude")
    assert "PreToolUse" in commands(file)
    desk.yes("uninstall", "claude")
    assert file.read_bytes() == empty


def test_what_may_not_be_written_is_left_alone(desk, tmp_path):
    file = desk.write("claude", '{"mine": 1}')
    file.chmod(0o444)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    desk.monkeypatch.setenv("XDG_STATE_HOME", str(theirs / "state"))
    file.parent.chmod(0o777)
    with as_somebody_else(desk.root):
        code = desk.bylaw("install", "claude", "--yes")

    assert code == 1
    assert "cannot write `.claude/settings.json`: permission denied" in desk.err
    assert file.read_text() == '{"mine": 1}'


def test_a_home_is_no_project(desk, monkeypatch):
    monkeypatch.chdir(desk.home)

    assert desk.bylaw("install", "claude", "--yes") == 1
    assert "use `--user`" in desk.err


@pytest.mark.parametrize(
    ("host", "variable", "path"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("copilot", "COPILOT_HOME", "hooks/bylaw.json"),
        ("opencode", "OPENCODE_CONFIG_DIR", "opencode.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
    ],
)
def test_a_variable_leads_elsewhere(desk, tmp_path, monkeypatch, host, variable, path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    desk.yes("install", host, "--user")

    assert (tmp_path / "elsewhere" / path).exists()
    assert everything(desk.home) == {}
    monkeypatch.setenv(variable, "relative")
    assert desk.bylaw("install", host, "--user", "--yes") == 1
    assert f"`{variable}` is not an absolute path" in desk.err
    assert variable in named_folders()


@pytest.mark.parametrize(
    ("host", "path", "text", "name"),
    [
        ("claude", ".claude/settings.local.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("qwen", ".qwen/settings.json", '// x\n{"disableAllHooks": true}', "disableAllHooks"),
        ("gemini", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled"),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
    ],
)  # fmt: skip
@every_scope
def test_a_switch_that_keeps_hooks_off_is_told(desk, host, path, text, name, scope):
    # The one file that only a project has lies beside the other.
    file = (desk.root if scope == "project" else desk.home) / path
    file = file if scope == "project" else file.with_name(file.name.replace(".local", ""))
    file.parent.mkdir()
    file.write_text(text)
    shown = desk.yes("install", host, f"--{scope}")

    assert f"remove `{name}` from `" in shown
    file.write_text(file.read_text().replace("true", "null").replace("false", "true"))
    assert "take `" not in desk.yes("install", host, f"--{scope}")


def test_hooks_that_would_judge_twice_are_told(desk):
    desk.yes("install", "claude")
    assert "run `bylaw uninstall claude --project`" in desk.yes("install", "claude", "--user")
    assert "run `bylaw uninstall copilot --project`" in desk.yes("install", "copilot")
    assert "Cursor also runs the hooks for Claude Code" in desk.yes("install", "cursor", "--user")


def test_a_person_is_shown_the_difference_and_asked(desk):
    shown, code = on_terminal(desk.root, ["install", "claude"], b"n\n")

    assert code == 1
    assert "+++ .claude/settings.json" in shown
    assert shown.count("Install hooks for Claude Code? [y/N] ") == 1
    assert not desk.file("claude").exists()


def test_at_once_they_write_one_configuration(desk, a_person):
    words = [*PERSON, "install", "claude", "--yes"]
    started = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]  # fmt: skip
    ended = [(one.communicate(timeout=300)[1], one.returncode) for one in started]

    assert [code for _, code in ended] == [0] * 4, ended
    assert commands(desk.file("claude")).keys() >= {"PreToolUse", "Stop"}
    assert desk.yes("uninstall", "claude")
    assert not desk.file("claude").parent.exists()


def test_the_command_survives_an_interpreter_with_an_odd_path(tmp_path, a_person):
    """A shell reads it as any client has it read."""
    odd = tmp_path / 'it\'s a "venv" & more'
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", odd], check=True)
    inside = next(odd.glob("lib/python3*/site-packages"))
    here = [path for path in sys.path if path]
    (inside / "here.pth").write_text("\n".join(here))
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    environment = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(a_person), "BYLAW_RESIDENT": "0", "PATH": os.environ["PATH"]}  # fmt: skip
    program = [odd / "bin" / "python", "-I", *PERSON[1:]]
    done = subprocess.run([*program, "install", "claude", "--yes"], cwd=root, env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr

    line = commands(root / ".claude/settings.json")["PreToolUse"]
    assert shlex.split(line)[0] == str(odd / "bin" / "python")
    asked = subprocess.run(["sh", "-c", line], input="{", cwd=root, env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    assert asked.returncode == 2
    assert "deny" in asked.stdout


def test_an_interpreter_that_finds_no_bylaw_is_refused(tmp_path, capsys, monkeypatch):
    desk = make_desk(tmp_path, capsys, monkeypatch)
    monkeypatch.setattr(forms.sys, "executable", "/bin/false")

    assert desk.bylaw("install", "claude", "--yes") == 1
    assert "install Bylaw in an environment of its own" in desk.err
    assert not desk.file("claude").exists()
    monkeypatch.setattr(forms.sys, "executable", "/opt/$HOME/python")
    assert desk.bylaw("install", "claude", "--yes") == 1
    assert "not a path that clients can start" in desk.err
