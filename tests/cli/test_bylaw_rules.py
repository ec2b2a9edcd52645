"""`bylaw rules` as a process: widths, colours, exit codes, several at once."""

import json
import os
import pty
import re
import subprocess
import sys
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

import pytest

RULES = [sys.executable, "-m", "bylaw", "rules"]
PROGRESS = re.compile(r"(?:\r\x1b\[K[^\r\n\x1b]+ …)+\r\x1b\[K")
BEFORE = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS"}}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
    (tmp_path / "rules").mkdir()
    put(tmp_path, a="deny tool shell because no\ncore deny tool curl because never\n")
    return tmp_path


def put(root, **texts):
    for name, text in texts.items():
        (root / "rules" / f"{name}.lines").write_text(text)


def rules(folder, *words, **more):
    return subprocess.run(
        [*RULES, *words], cwd=folder, capture_output=True, timeout=300, check=False, **more
    )


def on_terminal(folder, *words, columns=100, **environment):
    main, side = pty.openpty()
    ioctl(side, TIOCSWINSZ, pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [*RULES, *words], cwd=folder, stdout=side, stderr=side, env={**BEFORE, **environment}
    ):
        os.close(side)
        shown = b""
        while piece := _read(main):
            shown += piece
    os.close(main)
    # On a busy machine words about the progress come, and go again.
    return PROGRESS.sub("", shown.decode().replace("\r\n", "\n"))


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def test_json_has_the_promised_shape(root):
    done = rules(root, "list", "--format", "json")

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)[1] == {
        "uid": "lines:rules/a.lines#line-2", "id": "line-2", "dialect": "lines",
        "file": "rules/a.lines", "line": 2, "column": 1, "on": ["tool.before"], "status": [],
        "priority": 0, "enabled": True, "core": True, "switched": False, "about": {},
    }  # fmt: skip


def test_nothing_at_all(tmp_path):
    done = rules(tmp_path, "list")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"0 rules, 0 off\n", b"")
    assert json.loads(rules(tmp_path, "list", "--format", "json").stdout) == []


class TestWidth:
    @pytest.fixture
    def wide(self, root):
        folder = root / "rules" / ("deep" * 30)
        folder.mkdir()
        (folder / f"{'long' * 20}.lines").write_text("on turn.start say hello\n")
        return root, f"rules/{folder.name}/{'long' * 20}.lines"

    def test_a_pipe_has_80_columns(self, wide):
        root, path = wide
        lines = rules(root, "list", path).stdout.decode().splitlines()

        assert max(map(len, lines)) == 80
        assert lines[1].endswith("long.lines:1")

    def test_a_terminal_has_its_own(self, wide):
        root, path = wide
        for columns in (60, 120):
            lines = on_terminal(root, "list", path, columns=columns, NO_COLOR="1").splitlines()
            assert max(map(len, lines)) == columns


class TestColours:
    def test_a_terminal_sees_them(self, root):
        put(root, b="off on turn.start say hello\n", c="denny\n")
        shown = on_terminal(root, "list")

        assert "\x1b[1mrule " in shown
        assert "\x1b[2mline-1 " in shown
        assert "\x1b[1;31m" in shown

    def test_not_a_pipe_nor_who_does_not_want_them(self, root):
        put(root, c="denny\n")

        assert b"\x1b" not in rules(root, "list").stdout
        assert "\x1b" not in on_terminal(root, "list", NO_COLOR="1")
        assert "\x1b" not in on_terminal(root, "show", "line-1", NO_COLOR="1")


def test_what_is_refused_is_told_on_standard_error_with_exit_1(root):
    put(root, b="off deny tool ls because no\n", c="deny tool shell because no\n", d="denny\n")
    told = {
        ("disable", "line-2"): "core rule and cannot be disabled; see rules/a.lines:2",
        ("enable", "lines:rules/b.lines#line-1"): "`enabled = true` in rules/b.lines:1",
        ("show", "line-1"): "3 rules have the id `line-1`: `lines:rules/a.lines#line-1`, ",
        ("show", "line-7"): "unknown rule `line-7`: did you mean `line-",
        ("disable", "\x1b[2J"): r"unknown rule `\u{1b}[2J`",
    }
    for words, message in told.items():
        done = rules(root, *words)
        assert (done.returncode, done.stdout) == (1, b"")
        assert message in done.stderr.decode()
        assert "\x1b" not in done.stderr.decode()


def test_a_broken_file_and_switches_of_old_rules_are_told_on_standard_error(root):
    put(root, d="denny\n")
    state = root / ".bylaw" / "state"
    state.mkdir(parents=True)
    old = {"version": 1, "disabled": {"lines:rules/old\x1b.lines#line-1": {"at": ""}}}
    (state / "switches.json").write_text(json.dumps(old))
    done = rules(root, "list")

    assert done.returncode == 1
    assert b"broken" in done.stdout
    assert b"error[bad-line]" in done.stderr
    assert (
        rb"note: the disabled rule `lines:rules/old\u{1b}.lines#line-1` does not exist"
        in done.stderr
    )


def test_wrong_usage(root):
    for words in (["lst"], ["show"], ["list", "--format", "xml"], ["list", "--dialect", "linse"]):
        done = rules(root, *words)
        assert (done.returncode, done.stdout) == (2, b"")
    assert b"did you mean `lines`?" in done.stderr
    assert b"unknown command `lst`; did you mean `list`?" in rules(root, "lst").stderr


def test_every_verb_teaches_with_its_help(root):
    for verb in ("list", "show", "enable", "disable"):
        assert f"  bylaw rules {verb} " in rules(root, verb, "--help").stdout.decode()


def test_two_at_once_lose_nothing(root):
    put(root, a="".join(f"deny tool t{number} because no\n" for number in range(6)))
    started = [
        subprocess.Popen([*RULES, "disable", f"line-{number}"], cwd=root, stdout=subprocess.DEVNULL)
        for number in range(1, 7)
    ]
    assert [process.wait() for process in started] == [0] * 6

    listed = json.loads(rules(root, "list", "--off", "--format", "json").stdout)
    assert [rule["id"] for rule in listed] == [f"line-{number}" for number in range(1, 7)]


def test_decide_reads_no_switches(root):
    assert rules(root, "disable", "line-1").returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "bylaw", "decide", "--rules", "rules"],
        cwd=root, input=b'{"kind": "tool.before", "tool": "shell"}\n', capture_output=True,
        timeout=300, check=False,
    )  # fmt: skip

    assert json.loads(done.stdout)["verdict"] == "deny"
