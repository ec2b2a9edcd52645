"""What the README shows is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def block(kind, begins=""):
    (found,) = [text for name, text in BLOCKS if name == kind and text.startswith(begins)]
    return found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "token-budget.toml").write_text(block("toml"))
    return tmp_path


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_rule_and_the_loop(folder):
    done = run(folder, "-c", block("python"))

    assert (done.stdout, done.stderr) == (block("", "developer"), "")
    verified = run(folder, "-m", "bylaw", "verify", "--journal", "journal.db", "--decisions")
    assert verified.stdout.endswith("nothing is wrong\n")


def test_the_mistake(folder):
    path = folder / "rules" / "token-budget.toml"
    path.write_text(path.read_text().replace("token_usage >", "token_useage >"))
    done = run(folder, "-m", "bylaw", "check", "rules")

    command, _, shown = block("", "$ bylaw check").partition("\n")
    assert command == "$ bylaw check rules"
    assert done.stdout == shown


def shell(folder, script):
    programs = Path(sys.executable).parent  # without a link: that of the environment
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "TMPDIR": str(folder), "BYLAW_RESIDENT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_hook(tmp_path):
    assert shell(tmp_path, "git init -q && bylaw init --no-hooks --yes").returncode == 0

    command, _, shown = block("", "$ echo").partition("\n")
    done = shell(tmp_path, command.removeprefix("$ "))

    assert (done.stdout, done.returncode) == (shown, 2)


def test_the_policy(tmp_path):
    policies = tmp_path / ".deepwork/policies"
    policies.mkdir(parents=True)
    (policies / "source-test-pairing.md").write_text(
        "---\nname: Source/Test Pairing\nset:\n  - src/{path}.py\n  - tests/{path}_test.py\n---\nPair.\n"
    )
    (tmp_path / "src/auth").mkdir(parents=True)
    commit = "git -c user.name=a -c user.email=a@b commit -qm begin"
    assert shell(tmp_path, f"git init -q -b main && git add -A && {commit}").returncode == 0
    (tmp_path / "src/auth/login.py").write_text("pass\n")

    command, _, shown = block("", "$ bylaw policies").partition("\n")
    done = shell(tmp_path, command.removeprefix("$ "))

    assert (done.stdout, done.returncode) == (shown, 1)


def test_the_chat(tmp_path):
    done = shell(tmp_path, block("sh"))

    assert (done.stdout, done.stderr) == (block("", "[developer"), "")
