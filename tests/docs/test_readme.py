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


def test_the_chat(tmp_path):
    programs = Path(sys.executable).parent  # without a link: that of the environment
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", block("sh")],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == (block("", "[developer"), "")
