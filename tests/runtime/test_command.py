"""Processes that are started here: what they see, how they end, what they leave behind."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bylaw.runtime.sandbox.command import ENVIRONMENT, Process
from waiting import open_files, state, wait_until_gone

PYTHON = [sys.executable, "-I", "-S", "-c"]
TESTS = str(Path(__file__).parents[1])


@pytest.fixture
def start():
    started = []

    def start(code):
        started.append(Process([*PYTHON, code]))
        return started[-1]

    yield start
    for process in started:
        process.kill()


def soon(seconds=300.0):
    return time.monotonic() + seconds


def read_all(process):
    data = b""
    try:
        while True:
            data += process.receive(soon())
    except ConnectionError:
        return data


class TestWhatItSees:
    def test_nothing_of_ours(self, start, monkeypatch):
        monkeypatch.setenv("SECRET", "x")
        monkeypatch.setenv("LD_PRELOAD", "")
        inherited = os.open("/dev/null", os.O_RDONLY)
        os.set_inheritable(inherited, True)
        process = start(
            "import json, os, sys\n"
            "print(json.dumps({\n"
            "  'environment': dict(os.environ), 'folder': os.getcwd(),\n"
            "  'files': sorted(map(int, os.listdir('/proc/self/fd')))[:-1],\n"
            "  'leads': os.getsid(0) == os.getpgrp() == os.getpid(),\n"
            "  'arguments': sys.argv[1:]}))"
        )

        seen = json.loads(read_all(process))
        os.close(inherited)

        assert seen == {
            "environment": ENVIRONMENT, "folder": "/", "files": [0, 1, 2], "leads": True,
            "arguments": [],
        }  # fmt: skip

    def test_arguments_are_not_read_by_a_shell(self, start):
        process = Process([*PYTHON, "import sys; print(sys.argv[1:])", "$(id)", "; id", "*"])

        assert read_all(process) == b"['$(id)', '; id', '*']\n"
        process.kill()

    def test_a_program_that_is_not_there(self):
        with pytest.raises(FileNotFoundError):
            Process(["/no/such/program"])


class TestTalking:
    def test_more_than_a_pipe_holds(self, start):
        process = start(
            "import sys; data = sys.stdin.buffer.read(1 << 20); sys.stdout.buffer.write(data[::-1])"
        )
        data = os.urandom(1 << 20)

        process.send(data, soon())

        assert read_all(process) == data[::-1]

    def test_one_that_does_not_answer(self, start):
        process = start("import time; time.sleep(60)")

        with pytest.raises(TimeoutError):
            process.receive(soon(0.05))
        with pytest.raises(TimeoutError):
            process.send(bytes(1 << 20), soon(0.05))

    def test_one_that_has_ended(self, start):
        process = start("pass")
        wait_until_gone(process.pid)

        with pytest.raises(ConnectionError):
            process.receive(soon())
        with pytest.raises(BrokenPipeError):
            process.send(b"x", soon())


class TestEnding:
    def test_with_everything_that_it_started(self, start):
        process = start(
            "import os, signal, sys, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "if (child := os.fork()) > 0:\n"
            "    print(child, flush=True)\n"
            "time.sleep(60)"
        )
        child = int(process.receive(soon()))

        process.kill()

        assert state(process.pid) is None
        assert wait_until_gone(child)

    def test_twice_and_after_it_ended(self, start):
        process = start("pass")
        wait_until_gone(process.pid)

        process.kill()
        process.kill()

        assert state(process.pid) is None

    def test_when_nobody_holds_it(self):
        gc.collect()  # what other tests left behind must not go in between
        before = open_files()
        process = Process([*PYTHON, "import time; time.sleep(60)"])
        pid = process.pid

        del process
        gc.collect()

        assert state(pid) is None
        assert open_files() == before

    @pytest.mark.parametrize(
        "end", ["", "raise SystemExit(0)", "os._exit(0)", "os.kill(os.getpid(), 9)"]
    )
    def test_with_the_interpreter(self, end):
        """One that reads its input ends even when we are not asked."""
        code = (
            "import os, sys; from bylaw.runtime.sandbox.command import Process\n"
            f"process = Process({PYTHON!r} + ['import sys; sys.stdin.read()'])\n"
            f"print(process.pid, flush=True)\n{end}"
        )
        done = subprocess.run(
            [sys.executable, "-W", "error", "-X", "dev", "-c", code],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

        assert done.stderr == ""
        assert wait_until_gone(int(done.stdout))

    def test_a_fork_lets_go_of_it(self):
        code = f"""
import os, sys, time
sys.path.insert(0, {TESTS!r})
from waiting import wait_until_gone, state
from bylaw.runtime.sandbox.command import Process
process = Process({PYTHON!r} + ['import sys; sys.stdin.read()'])
files = len(os.listdir('/proc/self/fd'))
if (child := os.fork()) == 0:
    # Two pipes less, and ending here ends nothing there.
    assert len(os.listdir('/proc/self/fd')) == files - 2
    process.kill()
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert state(process.pid) in 'SR', state(process.pid)
if os.fork() == 0:
    time.sleep(600)
# The second fork holds no pipe either: our end is the last.
print(process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
        command = [sys.executable, "-W", "error", "-X", "dev", "-c", code]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        pid = int(process.stdout.readline())
        process.wait()
        gone = wait_until_gone(pid)
        os.killpg(process.pid, signal.SIGKILL)  # the second fork
        process.stdout.close()
        process.stderr.close()

        assert gone
