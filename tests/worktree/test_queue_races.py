"""Many processes and one queue: nothing twice, nothing half, whoever dies whenever."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from queueing import HASH, PASSED, QUEUED, Folder
from stopping import World

from bylaw.languages.file_policies.evaluation import RESULT_INTERRUPTED

PROCESSES = 8
ROUNDS = 60
EVALUATOR = Path(__file__).with_name("evaluator.py")


class Evaluator:
    """One process, told what to do line by line."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, EVALUATOR, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def tell(self, line):
        self.process.stdin.write(f"{line}\n")

    def hear(self):
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@contextmanager
def evaluators(number, *arguments):
    with ExitStack() as stack:
        made = [Evaluator(*arguments) for _ in range(number)]
        for one in made:
            stack.callback(one.kill)
        yield made


def all_at_once(processes, line):
    for one in processes:
        one.tell(line)
    return [one.hear() for one in processes]


def test_of_all_that_want_to_make_an_entry_one_does(folder):
    """DW-A44"""
    with evaluators(PROCESSES, "create", folder.root) as processes:
        for number in range(ROUNDS):
            made = all_at_once(processes, f"p{number}")
            assert sorted(made) == ["0"] * (PROCESSES - 1) + ["1"]
    assert len(folder.names) == ROUNDS


def test_the_folder_is_removed_all_the_time(folder):
    """DW-072"""
    with evaluators(4, "create", folder.root) as processes:
        for number in range(30):
            for one in processes:
                one.tell(f"p{number}")
            shutil.rmtree(folder.root / ".deepwork/tmp", ignore_errors=True)
            made = [one.hear() for one in processes]
            assert set(made) <= {"0", "1"}
            assert "1" in made


@pytest.mark.parametrize(
    ("script", "runs"), [("true", 1), ('tr a-z A-Z < "$1" > t.sh; cat t.sh > "$1"', 2)]
)
def test_no_command_twice(tmp_path, script, runs):
    """DW-060, DW-A25, DW-A44: the agents of a repository stop at the same moment."""
    world = World(tmp_path)
    world.repository.write("a.py", "")
    command = f"sh:{script}"
    world.command(command)
    with evaluators(PROCESSES, "stop", tmp_path, command) as processes:
        for number in range(ROUNDS if runs == 1 else ROUNDS // 4):
            world.repository.write("a.py", f"round {number}\n")
            said = all_at_once(processes, "stop")
            assert [one.split()[0] for one in said] == ["allow"] * PROCESSES, said
            assert len(world.ran) == runs * (number + 1), (number, said, world.held())
            assert world.held()["status"] == "passed"


def test_killed_in_the_middle_of_a_transition(folder):
    """DW-079, DW-A43"""
    for number in range(12):
        process = Evaluator("change", folder.root)
        assert process.hear() == "begun"
        time.sleep(0.0031 * number)
        process.kill()
        entries = Folder(folder.root)
        names = [name for name in folder.names if not name.endswith(".new")]
        assert len(names) <= 1
        found = entries.queue.find(HASH)
        assert found is None or found.status in (QUEUED, PASSED)
        assert (found is None) == (names == [])
        assert entries.notes == []
        entries.queue.all_entries()
        assert entries.names == ([found.file_name] if found else [])


def kill_in_the_middle(world, path, before="true"):
    """A process that runs a command dies over it, after the command did this."""
    world.repository.write("a.py", "a\n")
    process = Evaluator("stop", path, f"sh:{before}; touch begun.sh; sleep 600")
    process.tell("stop")
    until = time.monotonic() + 300
    while not (world.root / "begun.sh").exists() and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(process.process.pid, signal.SIGKILL)
    process.kill()
    assert world.held()["status"] == "queued"
    world.command("sh:true")


@pytest.mark.parametrize("has_journal", [True, False])
@pytest.mark.parametrize("before", ["true", 'echo changed > "$1"'])
def test_killed_in_the_middle_of_a_command(tmp_path, before, has_journal):
    """The next one says so, whatever else is known; after an edit it runs again."""
    world = World(tmp_path)
    kill_in_the_middle(world, tmp_path, before)
    if not has_journal:
        world.journal.unlink()

    stop = world.stop()
    assert world.held()["status"] == "failed"
    assert world.held()["action_result"]["reason"] == RESULT_INTERRUPTED
    assert [RESULT_INTERRUPTED in reason.text for reason in stop.decision.reasons] == [True]
    assert world.ran == ["a.py"]
    world.repository.write("a.py", "b\n")
    world.stop()
    assert world.held()["status"] == "passed"


@pytest.mark.parametrize("has_journal", [True, False])
@pytest.mark.parametrize("before", ["echo > b.py", 'rm "$1"'])
def test_killed_when_the_command_had_made_it_another_case(tmp_path, before, has_journal):
    """What was begun has failed; if other files trigger the policy by now, they are a new case."""
    world = World(tmp_path)
    kill_in_the_middle(world, tmp_path, before)
    [begun] = world.queue.names
    if not has_journal:
        world.journal.unlink()

    world.stop()
    failed = begun.replace("queued", "failed")
    assert world.queue.held(failed)["action_result"]["reason"] == RESULT_INTERRUPTED
    others = [world.queue.held(name) for name in world.queue.names if name != failed]
    assert [one["status"] for one in others] == ["passed"] * (before != 'rm "$1"')


def test_nobody_is_killed_who_still_runs_a_command(tmp_path):
    """Another stop waits for it, and finds it done."""
    world = World(tmp_path)
    world.repository.write("a.py", "a\n")
    command = "sh:sleep 1"
    with evaluators(2, "stop", tmp_path, command) as (first, second):
        first.tell("stop")
        while not world.ran:
            time.sleep(0.01)
        second.tell("stop")
        assert [one.hear().split()[0] for one in (first, second)] == ["allow", "allow"]
    assert world.held()["status"] == "passed"
    assert world.ran == ["a.py"]
