"""`bylaw trust` as a process: asked on a real terminal, refused to agents, never cut short."""

import json
import subprocess

import pytest
from on_terminal import BYLAW, PERSON, call, on_terminal

from bylaw.hosts.clients.caller import AGENTS

RUNS = "on agent.stop run make test\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.lines").write_text(RUNS)
    (folder / "bylaw.toml").write_text('[[book]]\npath = "a.lines"\n')
    return folder


def is_trusted(folder):
    return json.loads(call(folder, "trust", "--format", "json").stdout)["trusted"]


@pytest.mark.parametrize("answer", [b"y\n", b"YES\n"])
def test_a_person_says_yes(root, answer):
    shown, code = on_terminal(root, ["trust"], answer)

    assert code == 0
    # On a busy machine words about the progress may stand before it.
    assert "can be started:\n  program  lines:a.lines#line-1  make test\n\n" in shown
    assert f"Trust {root} with this? [y/N] " in shown
    assert shown.endswith("trusted\n")
    assert is_trusted(root)


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"yep\n", b"\x04"])
def test_anything_else_is_no(root, answer):
    shown, code = on_terminal(root, ["trust"], answer)

    assert code == 1
    assert shown.endswith("not trusted: no person has trusted it yet; see `bylaw trust`\n")
    assert not is_trusted(root)


def test_what_is_trusted_is_not_asked_again(root):
    call(root, "trust", "--yes")
    shown, code = on_terminal(root, ["trust"], b"n\n")

    assert code == 0
    assert "[y/N]" not in shown


def test_an_answer_from_a_pipe_is_no_answer(root):
    done = subprocess.run(
        [*PERSON, "trust"], cwd=root, input=b"y\n", capture_output=True, timeout=300, check=False
    )

    assert done.returncode == 1
    assert b"cannot ask for confirmation" in done.stderr
    assert not is_trusted(root)


def test_what_changed_is_shown(root):
    call(root, "trust", "--yes")
    (root / "a.lines").write_text(RUNS + "on session.end run make clean\n")
    (root / "bylaw.toml").write_text('[[book]]\npath = "a.lines"\n[law]\nbus = "x"\n')
    done = call(root, "trust")

    assert done.returncode == 1
    assert done.stdout == (
        "can be started:\n"
        "  program  lines:a.lines#line-2  make clean\n"
        "  program  lines:a.lines#line-1  make test\n\n"
        "settings that are not the defaults:\n"
        '  [law] bus = "x"\n\n'
        "changed since it was trusted:\n"
        "  +  program  lines:a.lines#line-2  make clean\n"
        "  ~  book     lines:a.lines\n"
        "  ~  setting  [law] bus\n\n"
    )
    assert call(root, "trust", "--yes").returncode == 0
    assert "changed since" not in call(root, "trust").stdout


def test_json(root):
    before = json.loads(call(root, "trust", "--format", "json").stdout)
    done = call(root, "trust", "--format", "json", "--yes")
    after = json.loads(done.stdout)

    assert (before["trusted"], before["state"], before["since"]) == (False, "untrusted", None)
    assert before["starts"] == [
        {"what": "program", "name": "make test", "rule": "lines:a.lines#line-1"}
    ]
    assert (done.returncode, after["trusted"], after["state"]) == (0, True, "trusted")
    assert after["since"]
    assert after["root"] == str(root)
    revoked = call(root, "trust", "--revoke", "--format", "json")
    assert json.loads(revoked.stdout) == {"trusted": False, "changed": True}


@pytest.mark.parametrize(
    "variable", [variable for agent in AGENTS for variable in agent.variables[:1]]
)
def test_an_agent_is_refused(root, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    for words in (["--yes"], ["--yes", "--format", "json"], []):
        done = call(root, "trust", *words)
        assert done.returncode == 1
        assert f"an agent is running here: `{variable}` is set" in done.stderr
    assert not is_trusted(root)


def test_an_agent_that_hides_its_variables(root, tmp_path):
    agent = tmp_path / "claude"
    agent.write_text('#!/bin/sh\n"$@"\nexit\n')
    agent.chmod(0o755)
    done = subprocess.run(
        [agent, "/bin/sh", "-c", '"$@"; exit', "sh", *BYLAW, "trust", "--yes"],
        cwd=root, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert "is Claude Code" in done.stderr
    assert not is_trusted(root)


def test_an_agent_may_look_and_take_back(root, monkeypatch):
    call(root, "trust", "--yes")
    monkeypatch.setenv("CLAUDECODE", "1")

    assert is_trusted(root)
    assert call(root, "trust", "--revoke").returncode == 0
    assert not is_trusted(root)


def test_nothing_is_cut_and_nothing_is_hidden(root):
    long = "x" * 3000
    (root / "a.lines").write_text(f"on agent.stop run echo \x1b[2K {long} && evil\n")
    shown = call(root, "trust").stdout

    assert "\x1b" not in shown
    assert f"echo '\\u{{1b}}[2K' {long} '&&' evil\n" in shown


def test_a_broken_file_is_told_and_trusted_by_nobody(root):
    (root / "bylaw.toml").write_text('[[book]]\npath = "."\ndialect = "lines"\n')
    (root / "b.lines").write_text("on agent.stop rum make clean\n")
    done = call(root, "trust", "--yes")

    assert done.returncode == 0
    assert "error[bad-line]" in done.stderr
    assert "make clean" not in done.stdout
    (root / "b.lines").write_text("on agent.stop run make clean\n")
    assert not is_trusted(root)


def test_a_state_folder_in_the_repository(root, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    done = call(root, "trust", "--yes")

    assert done.returncode == 1
    assert "is inside the repository" in done.stderr
    assert not (root / "state").exists()


def test_from_a_folder_below_the_root(root):
    (root / "sub").mkdir()
    call(root / "sub", "trust", "--yes")

    assert is_trusted(root)


def test_check_tells_the_truth_and_its_exit_code_stays(root):
    def check(*words):
        done = call(root, "check", *words, "--format", "json")
        return done.returncode, [book["trusted"] for book in json.loads(done.stdout)["books"]]

    assert check() == (0, [False])
    call(root, "trust", "--yes")
    assert check() == check("a.lines") == (0, [True])
    (root / "a.lines").write_text(RUNS * 2)
    assert check() == (0, [False])
    (root / "bylaw.toml").write_text("[[book]]\n")
    assert check("a.lines") == (0, [False])
