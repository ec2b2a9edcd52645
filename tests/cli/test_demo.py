"""The demo: all five languages at work, in a pipe and on a terminal, and what it says to try next."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from demo_closing import run_closing_lines

BYLAW = [sys.executable, "-m", "bylaw"]
# What the terminal says of a rule of each language: what it did, itself with file and line, and why.
RULES = (
    "halt modes.review.no_browsing (.bylaw/context/modes.md:12): ERROR: ai-context-language",
    'notify token-budget (.bylaw/rules/token-budget.toml:1): turn_start, normal: "85% of the',
    "deny policy:apply_patch/quota (rules/few-patches.chatmd:3): Tool apply_patch has used up its",
    "deny tests (.deepwork/policies/tests.md:1): Source and tests (1 file): src/shapes.py",
    "gated release (runtime/rules/release.yaml:3): approval",
    "plan release (runtime/rules/release.yaml:3): command.run, bus.write",
)


def at_home(folder):
    """As a person has it, with a state folder beside that of the demo."""
    return {**os.environ, "XDG_STATE_HOME": str(folder.parent / "state")}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The demo in a pipe: its folder, and what it said."""
    folder = tmp_path_factory.mktemp("demo") / "a new folder"
    done = subprocess.run(
        [*BYLAW, "demo", folder],
        env=at_home(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder, done.stdout


@pytest.mark.parametrize("rule", RULES)
def test_every_language_has_its_say_with_file_and_line(played, rule):
    _, said = played
    assert rule in " ".join(said.split())


def test_a_place_that_is_named_is_where_the_rule_stands(played):
    folder, said = played
    places = set(re.findall(r"\((\S+\.(?:md|toml|chatmd|yaml)):(\d+)\)", said))
    assert {file for file, _ in places} == {
        ".bylaw/context/modes.md",
        ".bylaw/rules/token-budget.toml",
        ".deepwork/policies/tests.md",
        "rules/few-patches.chatmd",
        "runtime/rules/release.yaml",
    }
    lines = {file: (folder / file).read_text().splitlines() for file, _ in places}
    assert {lines[file][int(line) - 1].strip() for file, line in places} == {
        "---",
        "- id: no_browsing",
        "- rule_id: release",
        '<quota per_session="2"/>',
        "[rule]",
        "name: build",
        "name: review",
    }


def test_a_command_is_shown_as_a_command_line(played):
    _, said = played
    assert "command.run ok python release.py in" in said


def test_what_was_refused_was_not_done_and_what_was_allowed_was(played):
    folder, said = played
    assert (folder / "src/shapes.py").read_text().count("def ") == 2
    assert "perimeter(2, 3)" in (folder / "tests/shapes_test.py").read_text()
    (evidence,) = (folder / "runtime/bus/output").iterdir()
    assert "released 1.1" in evidence.read_text()
    assert said.index("ask    {") < said.index("approval  ") < said.index("command.run ok")


def test_it_fits_a_screen_and_has_no_colour_in_a_pipe(played):
    _, said = played
    assert "\x1b" not in said
    body = said[: said.index("Try next")]
    assert max(map(len, body.splitlines())) <= 80
    assert not [line for line in said.splitlines() if line != line.rstrip()]


def test_the_closing_lines_work_as_printed(played):
    folder, said = played
    run_closing_lines(said, **at_home(folder))


def test_it_says_that_trust_was_for_its_own_run_and_that_the_folder_stays(played):
    folder, said = played
    closing = said.partition("Try next")[2]
    assert "the demo trusted them for its own run only" in closing
    assert f"# rm -r '{folder}'\n" in closing


def test_it_looks_good_on_a_terminal(tmp_path):
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [*BYLAW, "demo", tmp_path / "here"], stdout=writer, stderr=writer, env=environment
    ) as demo:
        os.close(writer)
        said = _all_of(reader)
    assert demo.returncode == 0
    assert "\x1b[1m1. A protocol denies browsing" in said
    plain = re.sub("\x1b\\[[0-9;]*m", "", said).replace("\r", "")
    assert max(map(len, plain[: plain.index("Try next")].splitlines())) <= 80


def _all_of(reader):
    pieces = []
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        pieces.append(piece)
    os.close(reader)
    return b"".join(pieces).decode()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("x")
    done = subprocess.run([*BYLAW, "demo", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is not empty; choose a new folder" in done.stderr
    assert [one.name for one in Path(tmp_path).iterdir()] == ["mine"]
