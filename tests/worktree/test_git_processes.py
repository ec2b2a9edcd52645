"""A whole stop takes at most four processes of git as a rule, however many policies have commands.

They are counted by a program in the place of git that writes down each start.
"""

import os
import time
from contextlib import contextmanager

import pytest
from stopping import World

from bylaw.model.event import AgentStop, Prompt
from bylaw.model.vocabulary import Verdict
from bylaw.worktree import commands
from bylaw.worktree import git as git_module


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path, **{"kept.txt": "kept\n", "old.py": "old\n"})
    made.repository.commit(more="x")
    made.repository.write("a.py", "a\n")
    made.repository.write("old.py", "new\n")
    return made


@pytest.fixture
def started(tmp_path, monkeypatch):
    """What git was started for, with the number of the process."""
    program, log = tmp_path / "counting", tmp_path / "starts"
    program.write_text(f'#!/bin/sh\necho "$$ $*" >>"{log}"\nexec git "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(git_module, "_find_git", lambda: str(program))
    log.touch()
    return lambda: log.read_text().splitlines()


def names(lines):
    known = ("rev-parse", "status", "diff-tree", "check-ignore", "rev-list", "config")
    return [next(one for one in line.split() if one in known) for line in lines]


def with_policies(world, count, command):
    for number in range(count):
        world.command(command.replace("NUMBER", str(number)), name=f"p{number}")
    time.sleep(0.03)  # of what is just made, git may be asked twice
    return world


CHANGES_NOTHING = "true {file}"
CHANGES_ITS_FILE = 'sh:echo NUMBER > "$1"'
WRITES_THE_SAME = "sh:cat kept.txt > new.sh && mv new.sh kept.txt"
CHANGES_ANOTHER = "sh:echo NUMBER > kept.txt"
MAKES_FILES = "sh:mkdir -p made cache; echo '*' > cache/.gitignore; touch made/NUMBER cache/NUMBER"
REMOVES_A_FILE = "sh:rm -f kept.txt"


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize(
    ("command", "asked"),
    [
        (CHANGES_NOTHING, ["rev-parse", "status", "diff-tree"]),
        (CHANGES_ITS_FILE, ["rev-parse", "status", "diff-tree", "check-ignore"]),
        (WRITES_THE_SAME, ["rev-parse", "status", "diff-tree", "check-ignore"]),
        (CHANGES_ANOTHER, ["rev-parse", "status", "diff-tree", "check-ignore"]),
        (MAKES_FILES, ["rev-parse", "status", "diff-tree", "check-ignore"]),
        (REMOVES_A_FILE, ["rev-parse", "status", "diff-tree", "check-ignore"]),
    ],
)
def test_a_stop_with_trusted_commands(world, started, command, asked, count):
    """Scripts of these tests write a log that is ignored: therefore the last process."""
    stop = with_policies(world, count, command).stop()

    assert names(started()) == asked
    assert stop.verdict is Verdict.ALLOW
    assert len(world.queue.names) == count
    assert {name.split(".")[1] for name in world.queue.names} == {"passed"}


@pytest.mark.parametrize("count", [1, 20])
def test_a_second_stop_has_nothing_to_run(world, started, count):
    with_policies(world, count, MAKES_FILES).stop()
    before = len(started())
    world.stop()

    assert names(started()[before:]) == ["rev-parse", "status", "diff-tree"]


@pytest.mark.parametrize("count", [1, 20])
def test_commands_that_write_the_index_cost_one_more(world, started, count):
    with_policies(world, count, "sh:git add -A").stop()

    asked = names(started())
    assert asked == ["rev-parse", "status", "diff-tree", "check-ignore", "status"]


@pytest.mark.parametrize(("also", "more"), [("", 1), ("; touch new-NUMBER", 2)])
def test_each_change_of_patterns_costs_a_status_and_perhaps_an_answer(world, started, also, more):
    change = "sh:grep -q NUMBER .gitignore || echo NUMBER >> .gitignore"
    with_policies(world, 3, f"{change}{also}").stop()

    asked = names(started())
    assert asked[:4] == ["rev-parse", "status", "diff-tree", "check-ignore"]
    assert asked.count("status") == 1 + 3
    assert len(asked) <= 4 + more * 3


def test_nothing_of_git_is_left_behind(world, started):
    with with_policies(world, 2, MAKES_FILES).open() as (host, loop):
        loop.take([AgentStop(session="worktree")])
        host.pop_shown()

        assert len(started()) == 4
        for line in started():
            with pytest.raises(ProcessLookupError):
                os.kill(int(line.split()[0]), 0)


def test_events_that_are_no_stop_start_none(world, started):
    with with_policies(world, 2, MAKES_FILES).open() as (host, loop):
        loop.take([Prompt(session="worktree", text="go on")])
        host.pop_shown()

    assert started() == []


def test_what_another_process_changed_between_two_policies_is_not_ours(world, monkeypatch):
    """Only what was seen after our own commands tells what there was before the next ones."""
    with_policies(world, 3, CHANGES_NOTHING)
    alone, entered = commands.lock_commands, []

    @contextmanager
    def with_others(root):
        with alone(root) as state:
            entered.append(root)
            if len(entered) == 2:
                state.write("policy-commands.turn", b"theirs")
                world.repository.write("theirs.txt", "x")
            yield state

    monkeypatch.setattr(commands, "lock_commands", with_others)
    assert world.stop().verdict is Verdict.ALLOW

    assert len(entered) == 3
    results = [world.queue.held(name)["action_result"] for name in world.queue.names]
    assert [one.get("touched") for one in results] == [None] * 3
