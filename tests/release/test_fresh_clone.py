"""A clone in a new folder, and what README, the first hour and the end of the demo say to do in it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from demo_closing import run_closing_lines

ROOT = Path(__file__).parent.parent.parent
# A person is in no environment of ours, and nobody's `make` calls theirs: it would announce folders.
NOT_A_PERSONS = ("VIRTUAL_ENV", "PYTHONPATH", "XDG_CACHE_HOME", "MAKELEVEL", "MAKEFLAGS", "MFLAGS")
PERSONS = {name: text for name, text in os.environ.items() if name not in NOT_A_PERSONS}
# Their tests take the programs that lie beside the interpreter: here those of the clone.
PAGES = ("tests/docs/test_readme.py", "tests/docs/test_shell_pages.py")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What is committed, in a folder with a blank in its name."""
    folder = tmp_path_factory.mktemp("fresh") / "a clone"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """That of a person, with a state folder that goes away again."""
    return {**PERSONS, "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}


@pytest.fixture(scope="module")
def demo(clone, environment):
    """What the first command of the README says."""
    first = (clone / "README.md").read_text(encoding="utf-8").partition("```\n")[2]
    command = first.partition("#")[0].strip()
    assert command == "make run"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_run_sets_everything_up_and_shows_the_demo(clone, demo):
    assert len(re.findall(r"^\d\. ", demo, re.MULTILINE)) == 5
    assert demo.count(f"{clone}/.venv/bin/bylaw") == 4


def test_its_closing_lines_print_what_they_must(demo, environment):
    run_closing_lines(demo, **environment)


@pytest.mark.usefixtures("demo")
def test_commands_of_readme_and_first_hour_print_what_the_pages_show(clone):
    python = str(clone / ".venv/bin/python")
    where = "import bylaw, sys; print(bylaw.__file__, sys.executable)"
    told = subprocess.run(
        [python, "-c", where], env=PERSONS, capture_output=True, text=True, check=True
    )
    assert told.stdout.count(str(clone)) == 2

    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PAGES],
        cwd=clone,
        env=PERSONS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
