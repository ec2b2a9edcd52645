"""Scripts in their process: limits of time, killing, threads, forks, what is kept."""

import gc
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.model.decision import Need, NeedName, ScriptCall
from bylaw.model.event import TurnStart
from bylaw.model.facts import Facts, ScriptResult
from bylaw.runtime import scripts
from bylaw.runtime.scripts import MAX_CACHED, MAX_INPUT, SCRIPT_SECONDS, ScriptRunner
from waiting import open_files, state, wait_until_gone

HERE = str(Path(__file__).parent)
WORKER = scripts._WORKER
# No instruction of Lua comes to an end here for long.
LONG_CALLS = "local s = ('x'):rep(2000000) while true do local t = s:upper() end"
YES, NO, KILLED = ScriptResult(value=True), ScriptResult(value=False), ScriptResult(killed=True)

pytestmark = pytest.mark.usefixtures("patient_scripts")


@contextmanager
def usual_time():
    """Scripts have only the time that they have outside of tests."""
    with mock.patch.object(scripts, "SCRIPT_SECONDS", SCRIPT_SECONDS):
        yield


def wait_until_busy(pid):
    """Wait until a process does something else than waiting; it may also have ended."""
    while state(pid) == "S":
        time.sleep(0.01)


def call(script, data=b"{}"):
    return ScriptCall(script, data)


def need(script, key="key"):
    return Need(NeedName.SCRIPTS, key, call(script))


def run_python(code):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def runner():
    with ScriptRunner() as one:
        yield one


def pid_of(runner):
    return runner._process.pid


class TestTheProcess:
    def test_it_is_started_once(self, runner):
        assert runner._process is None
        assert runner.run(call("return true")) == YES
        first = pid_of(runner)

        assert runner.run(call("return false")) == NO
        assert pid_of(runner) == first

    def test_a_script_that_takes_too_long_is_killed(self, runner):
        runner.run(call("return true"))
        first = pid_of(runner)
        begin = time.monotonic()

        with usual_time():
            assert runner.run(call(LONG_CALLS)) == KILLED
        assert time.monotonic() - begin >= SCRIPT_SECONDS
        assert state(first) is None
        assert runner.run(call("return true")) == YES
        assert pid_of(runner) != first

    def test_one_that_was_killed_is_started_again(self, runner):
        runner.run(call("return true"))
        first = pid_of(runner)
        os.kill(first, 9)
        wait_until_gone(first)

        assert runner.run(call("return true")) == KILLED
        assert state(first) is None
        assert runner.run(call("return true")) == YES

    def test_one_that_stands_still_is_killed(self, runner):
        runner.run(call("return true"))
        os.kill(pid_of(runner), 19)

        with usual_time():
            assert runner.run(call("return true", b'{"a": "' + b"x" * 1_000_000 + b'"}')) == KILLED
        assert runner.run(call("return true")) == YES

    def test_closing(self, runner):
        before = open_files()
        runner.run(call("return true"))
        first = pid_of(runner)

        runner.close()
        runner.close()

        assert state(first) is None
        assert open_files() == before
        assert runner.run(call("return true")) == YES

    def test_without_closing(self):
        runner = ScriptRunner()
        runner.run(call("return true"))
        first = pid_of(runner)

        del runner
        gc.collect()

        assert state(first) is None

    def test_an_interrupt_ends_it(self, patient_worker):
        """The answer to an old question is never taken for that to a new one."""
        code = f"""
import os, signal, threading
from pathlib import Path
from bylaw.model.decision import ScriptCall
from bylaw.runtime import scripts
from bylaw.runtime.scripts import ScriptRunner
scripts._WORKER = Path({str(patient_worker)!r})
scripts.SCRIPT_SECONDS = 300.0
with ScriptRunner() as runner:
    runner.run(ScriptCall("return true", b"{{}}"))
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        runner.run(ScriptCall({LONG_CALLS!r}, b"{{}}"))
    except KeyboardInterrupt:
        print("interrupted", runner.run(ScriptCall("return false", b"{{}}")).value)
"""
        done = run_python(code)

        assert (done.stdout, done.stderr) == ("interrupted False\n", "")

    def test_it_does_not_grow(self, runner):
        big = b'{"texts": [' + b",".join([b'"' + b"x" * 5000 + b'"'] * 40) + b"]}"
        script = "local t = {} for i = 1, 5000 do t[i] = {i} end return #context.texts == 40"
        sizes = []
        for _ in range(4):
            for _ in range(150):
                assert runner.run(call(script, big)) == YES
            pages = Path(f"/proc/{pid_of(runner)}/statm").read_text().split()[1]
            sizes.append(int(pages) * os.sysconf("SC_PAGESIZE"))

        assert sizes[-1] - sizes[0] < 1 << 20

    def test_what_it_may_do(self, runner, monkeypatch):
        monkeypatch.setattr(scripts, "_WORKER", WORKER)
        runner.run(call("return true"))
        limits = Path(f"/proc/{pid_of(runner)}/limits").read_text()
        most = {line[:26].strip(): line[26:].split()[:2] for line in limits.splitlines()}

        for name in ("Max open files", "Max processes", "Max file size", "Max core file size"):
            assert most[name] == ["0", "0"], name
        assert int(most["Max address space"][0]) < 1 << 30
        assert int(most["Max cpu time"][0]) < 10


class TestLimits:
    def test_a_script_that_is_too_long(self, runner):
        error = f"the script is longer than {MAX_SCRIPT_BYTES} bytes"

        assert runner.run(call("--" + "x" * MAX_SCRIPT_BYTES)) == ScriptResult(error=error)

    def test_an_input_that_is_too_large(self, runner):
        error = f"the context is larger than {MAX_INPUT} bytes"

        assert runner.run(call("return true", b" " * (MAX_INPUT + 1))) == ScriptResult(error=error)

    def test_the_largest(self, runner):
        script = "return true --".ljust(MAX_SCRIPT_BYTES, "x")
        data = b'{"a": "' + b"x" * (MAX_INPUT - 9) + b'"}'

        assert len(data) == MAX_INPUT
        assert runner.run(call(script, data)) == YES

    @pytest.mark.parametrize("one", [b"[],", b"[[[[]]]],", b"{},", b'{"a":{}},', b"0,"])
    def test_no_input_breaks_it(self, runner, one):
        """A runtime that cannot hold its context would abort: it is killed in time before."""
        data = b'{"a": [' + one * ((MAX_INPUT - 20) // len(one)) + b"0]}"

        assert runner.run(call("return true", data)) in (YES, KILLED)
        assert runner.run(call("return true")) == YES

    def test_half_characters(self, runner):
        assert runner.run(call("return '\ud800' == '\\xed\\xa0\\x80'")) == YES


class TestWhoIsLeft:
    """Nothing runs on when whoever started it was killed."""

    CODE = """
import sys
from bylaw.model.decision import ScriptCall
from bylaw.runtime.scripts import ScriptRunner
runner = ScriptRunner()
runner.run(ScriptCall("return true", b"{{}}"))
print(runner._process.pid, flush=True)
{then}
"""

    def start(self, then):
        command = [sys.executable, "-W", "error", "-X", "dev", "-c", self.CODE.format(then=then)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        return process, int(process.stdout.readline())

    @pytest.mark.parametrize(
        "then",
        [f'runner.run(ScriptCall("{LONG_CALLS}", b"{{}}"))', "import time; time.sleep(60)"],
        ids=["at work", "idle"],
    )
    def test_kill_9(self, then):
        process, pid = self.start(then)
        assert state(pid) in ("S", "R")
        if LONG_CALLS in then:
            wait_until_busy(pid)

        process.kill()
        process.communicate()

        assert wait_until_gone(pid)

    def test_the_end_of_the_interpreter(self):
        process, pid = self.start("")
        _, told = process.communicate()

        assert process.returncode == 0
        assert told == ""
        assert wait_until_gone(pid)

    def test_signals_that_were_ignored_or_blocked(self):
        """Both are inherited, and the process is to end by them."""
        ignoring = (
            "import signal, os\n"
            "signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGXCPU])\n"
            "runner.close()\n"
            'runner.run(ScriptCall("return true", b"{}"))\n'
            "print(runner._process.pid, flush=True)\n"
            f'runner.run(ScriptCall("{LONG_CALLS}", b"{{}}"))\n'
        )
        process, _ = self.start(ignoring)
        pid = int(process.stdout.readline())
        wait_until_busy(pid)
        process.kill()
        process.communicate()

        assert wait_until_gone(pid)


class TestManyUsers:
    def test_threads(self, runner):
        def one(number):
            expected = ScriptResult(value=number % 2 == 0)
            data = b'{"n": %d}' % number
            return [runner.run(call("return context.n % 2 == 0", data)) for _ in range(50)] == [
                expected
            ] * 50

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(one, range(4)))

    def test_forks(self):
        """A fork starts a process of its own, also when another thread was running a script."""
        code = f"""
import os, sys, threading, warnings
from bylaw.model.decision import ScriptCall
from bylaw.runtime.scripts import ScriptRunner
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
call = ScriptCall("return context.a == 1", b'{{"a": 1}}')
runner = ScriptRunner()
assert runner.run(call).value is True
first = runner._process.pid
thread = threading.Thread(target=runner.run, args=[ScriptCall({LONG_CALLS!r}, b"{{}}")])
thread.start()
import time; time.sleep(0.2)
if (child := os.fork()) == 0:
    assert runner.run(call).value is True
    assert runner._process.pid != first
    runner.close()
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
thread.join()
assert runner.run(call).value is True
runner.close()
"""
        done = run_python(code)

        assert (done.returncode, done.stderr) == (0, "")


class TestGathering:
    def test_the_result_is_added_to_the_facts(self, runner):
        facts = Facts(token_budget=5, scripts={"other": KILLED})
        event = TurnStart(facts=facts)

        found = runner.gather(event, need("return true"))

        assert found == Facts(token_budget=5, scripts={"other": KILLED, "key": YES})
        assert event.facts == facts
        assert runner.gather(TurnStart(), need("error('x')", "b")) == Facts(
            scripts={"b": ScriptResult(error="script:1: x")}
        )

    def test_a_need_without_a_call_is_unknown(self, runner):
        assert runner.gather(TurnStart(), Need(NeedName.SCRIPTS, "key")) is None

    def test_a_result_is_kept(self, runner):
        runner.gather(TurnStart(), need("return true"))
        runner.close()

        assert runner.gather(TurnStart(), need("return true")) == Facts(scripts={"key": YES})
        assert runner._process is None

    def test_killing_is_not_kept(self, runner):
        """It depends on the machine."""
        with usual_time():
            killed = runner.gather(TurnStart(), need(LONG_CALLS))

        assert killed == Facts(scripts={"key": KILLED})
        assert runner.gather(TurnStart(), need("return true")) == Facts(scripts={"key": YES})

    def test_not_too_many_are_kept(self, runner):
        for number in range(MAX_CACHED + 5):
            runner.gather(TurnStart(), need("return true", str(number)))
            runner.gather(TurnStart(), need("return true", "often"))

        assert len(runner._cache) == MAX_CACHED
        assert "often" in runner._cache
        assert "0" not in runner._cache

    @pytest.mark.parametrize("executable", ["/missing/python", "/bin/false"])
    def test_without_a_process_nothing_is_known(self, runner, executable, monkeypatch):
        """It is not the fault of the script, and the next one may be run."""
        before = open_files()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", executable)
            assert runner.gather(TurnStart(), need("return true")) is None
            assert runner.run(call("return true")) is None
        gc.collect()

        assert open_files() == before
        assert runner.gather(TurnStart(), need("return true")) == Facts(scripts={"key": YES})

    def test_without_lua_nothing_is_known(self):
        code = """
import sys
sys.modules["lupa"] = None
from bylaw.expr.lua import lua_available
from bylaw.model.decision import Need, NeedName, ScriptCall
from bylaw.model.event import TurnStart
from bylaw.runtime.scripts import ScriptRunner
need = Need(NeedName.SCRIPTS, "key", ScriptCall("return true", b"{}"))
with ScriptRunner() as runner:
    print(lua_available(), runner.gather(TurnStart(), need), runner.run(need.call))
"""
        done = run_python(code)

        assert (done.stdout, done.stderr) == ("False None None\n", "")
