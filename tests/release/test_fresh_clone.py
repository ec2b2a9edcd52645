"""A clone in a new folder, and what README says to do first in it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
# A person is in no environment of ours, and nobody's `make` calls theirs: it would announce folders.
NOT_A_PERSONS = ("VIRTUAL_ENV", "MAKELEVEL", "MAKEFLAGS", "MFLAGS")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What is committed, in a folder with a blank in its name."""
    folder = tmp_path_factory.mktemp("fresh") / "a clone"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    return folder


def test_make_run_sets_everything_up_and_shows_the_tour(clone):
    first = (clone / "README.md").read_text(encoding="utf-8").partition("```\n")[2]
    command = first.partition("#")[0].strip()
    assert command == "make run"
    environment = {name: text for name, text in os.environ.items() if name not in NOT_A_PERSONS}

    done = subprocess.run(
        ["sh", "-c", command],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^\d\. ", done.stdout, re.MULTILINE)) == 5
    closing = done.stdout.partition("Look further")[2]
    assert str(clone / ".venv/bin/bylaw") in closing
    looked = subprocess.run(
        ["sh", "-e", "-c", closing], capture_output=True, text=True, check=False
    )
    assert (looked.returncode, looked.stderr) == (0, "")
    assert looked.stdout.endswith("nothing is wrong\n")
