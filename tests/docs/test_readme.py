"""What the README shows is what happens; what it only names is run, too.

The programs are those beside the interpreter: `tests/release` runs this in a fresh clone.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bylaw.cli.frame import COMMANDS
from own_session import SHELL, Terminal

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
BIN = Path(sys.executable).parent  # without a link: that of the environment
# The commands that stand in the text, by the test below that runs them.
NAMED = {
    "test_the_help": ["bylaw --help"],
    "test_the_rule_and_the_loop": ["bylaw log --journal journal.db", "bylaw explain", "bylaw verify"],
    "test_the_hook": ["bylaw init", "bylaw install claude", "bylaw check --host codex"],
    "test_the_chat": ["bylaw chat"],
    "test_the_contract": ["bylaw context call"],
    "test_the_law": ["bylaw init --law", "bylaw bus run", "bylaw approve"],
    "test_the_policy": ["bylaw policies run"],
}  # fmt: skip


def block(kind, begins=""):
    (found,) = [text for name, text in BLOCKS if name == kind and text.startswith(begins)]
    return found


@pytest.fixture
def environment(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    own = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "BYLAW_RESIDENT": "0"}
    return {**os.environ, **own, "TMPDIR": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}"}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def shell(environment, folder):
    def run(script, code=0):
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def rule(folder):
    (folder / "rules").mkdir()
    path = folder / "rules" / "token-budget.toml"
    path.write_text(block("toml"))
    return path


def test_every_command_in_the_text_is_run_by_a_test():
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.DOTALL | re.MULTILINE)
    named = re.findall(r"`(bylaw [^`]+)`", prose)

    assert sorted(set(named)) == sorted(one for several in NAMED.values() for one in several)
    assert [name for name in NAMED if name not in globals()] == []


def test_the_help(shell):
    told = shell("bylaw --help")

    assert [verb for verb in COMMANDS if f"\n  {verb} " not in told] == []


def test_the_rule_and_the_loop(shell, rule, folder):
    (folder / "loop.py").write_text(block("python"))

    assert shell("python loop.py") == block("", "developer")
    logged = shell("bylaw log --journal journal.db")
    assert "85% of the token budget is" in logged
    assert "shell {" in logged
    assert "verdict allow" in shell("bylaw explain 1 --journal journal.db")
    verified = shell("bylaw verify --journal journal.db --decisions")
    assert verified.endswith("no problems found\n")


def test_the_mistake(shell, rule):
    rule.write_text(rule.read_text().replace("token_usage >", "token_useage >"))
    command, _, shown = block("", "$ bylaw check").partition("\n")

    assert shell(command.removeprefix("$ "), code=1) == shown


def test_the_hook(shell, environment):
    shell("git init -q && bylaw init --no-hooks --yes")
    command, _, shown = block("", "$ echo").partition("\n")

    assert shell(command.removeprefix("$ "), code=2) == shown
    assert shell("bylaw check --host codex").endswith("0 errors, 0 warnings\n")
    shell("bylaw install claude --yes")
    hooks = json.loads(shell("cat .claude/settings.json"))["hooks"]
    [[entry]] = [one["hooks"] for one in hooks["PreToolUse"]]
    payload = command.removeprefix("$ ").partition(" | ")[0]
    told = shell(f"{payload} | {entry['command']} {' '.join(entry.get('args', []))}", code=2)
    assert '"permissionDecision":"deny"' in told


def test_the_chat(shell):
    assert shell(block("sh")) == block("", "[developer")


def test_the_contract(shell):
    contract = ROOT / "examples/context/work-modes.md"
    told = shell(f"cp '{contract}' . && bylaw context call work-modes.md -- '/research()'")

    assert json.loads(told)["result"] == "ok"


def test_the_law(shell, environment, folder):
    shell("git init -q && bylaw init --law --yes")
    wish = "--title Deploy --category B --path demo/deploy.py --command-type exec --by robot"
    msg_id = Path(shell(f"bylaw bus new {wish}").strip()).stem

    asked = shell("bylaw bus run --once --trust").splitlines()
    assert [json.loads(one)["status"] for one in asked if msg_id in one] == ["held"]
    words = [*SHELL, BIN / "bylaw", "approve", msg_id, "--yes"]
    with Terminal(words, folder=folder, environment=environment) as terminal:
        assert (terminal.rest(), terminal.process.returncode)[1] == 0, terminal.shown
    done = shell("bylaw bus run --once --trust").splitlines()
    assert [json.loads(one)["status"] for one in done if msg_id in one] == ["done"]


def test_the_policy(shell, folder):
    [policy] = re.findall(r"\[this policy\]\((\S+)\)", README)
    policies = folder / ".deepwork/policies"
    policies.mkdir(parents=True)
    (policies / Path(policy).name).write_text((ROOT / policy).read_text())
    (folder / "src/auth").mkdir(parents=True)
    commit = "git -c user.name=a -c user.email=a@b commit -qm begin"
    shell(f"git init -q -b main && git add -A && {commit}")
    (folder / "src/auth/login.py").write_text("pass\n")

    command, _, shown = block("", "$ bylaw policies").partition("\n")
    assert shell(command.removeprefix("$ "), code=1) == shown
