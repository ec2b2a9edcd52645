"""Pages whose commands need a shell, from the first one to the last, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ |\[exit ).*\n)*)\[exit (\d)\]$", re.MULTILINE)
# What differs from one hour to the other, as the page writes it.
FOLDER, TIME = "/home/you/shop", "2026-07-28 10:00:00"


@pytest.fixture
def shell(tmp_path):
    """Runs one line as a person would; where and when it ran is as on the page."""
    root = tmp_path / "shop"
    root.mkdir()
    programs = Path(sys.executable).parent
    variables = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "BYLAW_RESIDENT": "0"}
    variables |= {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "TZ": "UTC"}

    def run(line):
        done = subprocess.run(
            ["sh", "-c", line], cwd=root, env=variables, capture_output=True, text=True, check=False
        )
        said = done.stdout.replace(str(root), FOLDER)
        said = re.sub(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d", TIME, said)
        said = re.sub(r"(head: \d+) [0-9a-f]{64}", r"\1 …", said)
        return said, done.returncode

    run.root = root
    return run


@pytest.mark.parametrize("name", ["first-hour.md", "hosts/python.md"])
def test_everything_happens_as_it_is_written(shell, name):
    page = (DOCS / name).read_text(encoding="utf-8")
    commands = 0
    for kind, path, text in BLOCK.findall(page):
        if path:
            (shell.root / path).parent.mkdir(parents=True, exist_ok=True)
            (shell.root / path).write_text(text)
        elif kind == "run":
            for line, shown, code in COMMAND.findall(text):
                assert shell(line) == (shown, int(code)), line
                commands += 1
    assert commands == page.count("\n$ ") > 0
