"""How commands end: floods, children that stay, time limits, whoever wants them to end."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from commanding import BEAT, PYTHON, wait_for

from bylaw.runtime.sandbox import request
from bylaw.runtime.sandbox.client import Cancellation, detect_isolation
from bylaw.runtime.sandbox.request import MAX_OUTPUT
from bylaw.runtime.sandbox.result import CommandEnd

HANG = "import time; time.sleep(600)"
SHORT = 0.4


class TestExit:
    @pytest.mark.parametrize("code", [0, 1, 3, 127, 137, 255])
    def test_a_code_is_told_as_it_is(self, commands, code):
        result = commands.python(f"raise SystemExit({code})")

        assert (result.ending, result.exit_code, result.signal) == (CommandEnd.EXITED, code, None)
        assert result.error == (f"exit code {code}" if code else "")

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
    def test_a_signal_is_told_as_it_is(self, commands, number):
        result = commands.python(f"import os; os.kill(os.getpid(), {int(number)})")

        assert (result.ending, result.exit_code, result.signal) == (CommandEnd.KILLED, None, number)
        assert result.error == f"killed by {number.name}"

    def test_a_core_is_not_dumped(self, commands):
        commands.python("import os; os.abort()")

        assert commands.files() == []


class TestOutput:
    def test_both_streams(self, commands):
        result = commands.run("sh", "-c", "echo out; echo err >&2")

        assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")
        assert result.stdout.cut == result.stderr.cut == 0

    def test_a_flood_on_both_is_read_and_dropped(self, commands):
        """A gigabyte of zeros each way."""
        size = 1 << 30
        result = commands.run(
            "sh", "-c", f"head -c {size} /dev/zero & head -c {size} /dev/zero >&2; wait",
            timeout_s=600,
        )  # fmt: skip

        assert result.ok
        for output in (result.stdout, result.stderr):
            assert output.cut == size - MAX_OUTPUT
            assert len(output.head) + len(output.tail) == MAX_OUTPUT

    def test_beginning_and_end_are_kept(self, commands):
        result = commands.run("seq", "100000", max_output=20)

        assert result.stdout.head == b"1\n2\n3\n4\n5\n"
        assert result.stdout.tail == b"99\n100000\n"
        cut = result.stdout.cut
        assert result.stdout.text == f"1\n2\n3\n4\n5\n\n… {cut:,} bytes left out …\n99\n100000\n"

    @pytest.mark.parametrize(("size", "cut"), [(19, 0), (20, 0), (21, 1)])
    def test_exactly_as_much_as_is_kept(self, commands, size, cut):
        result = commands.run("head", "-c", str(size), "/dev/zero", max_output=20)

        assert result.stdout.cut == cut

    def test_what_is_no_text_is_replaced(self, commands):
        result = commands.run("printf", r"a\377\300b\000")

        assert result.stdout.head == b"a\xff\xc0b\0"
        assert result.stdout.text == "a\ufffd\ufffdb\0"

    def test_closed_streams(self, commands):
        result = commands.python("import os; os.close(1); os.close(2); raise SystemExit(4)")

        assert result.exit_code == 4


class TestTidy:
    """A flood, or what is left behind, is a fault only of a command that was to be tidy."""

    @pytest.mark.parametrize(
        ("script", "error"),
        [
            ("sleep 600 & exit 0", "left 1 process behind, which was stopped"),
            (
                "sleep 600 & (setsid sleep 600 &) ; true",
                "left 2 processes behind, which were stopped",
            ),
            ("head -c 10000001 /dev/zero", "wrote more than 10,000,000 bytes and was stopped"),
            (
                "head -c 10000000 /dev/zero >&2; echo",
                "wrote more than 10,000,000 bytes and was stopped",
            ),
            ("sleep 600 & exit 3", "exit code 3"),
        ],
    )
    def test_what_is_a_fault(self, commands, script, error):
        untidy = commands.run("sh", "-c", script, tidy=True)
        usual = commands.run("sh", "-c", script)

        assert (untidy.ok, untidy.error) == (False, error)
        assert usual.error == (error if "exit code" in error else "")

    @pytest.mark.parametrize(
        "script",
        [
            "sleep 0.05 & true",
            "(sleep 0.05 &) ; true",
            "sleep 9 & kill $!",
            "head -c 10000000 /dev/zero",
        ],
    )
    def test_what_is_none(self, commands, script):
        result = commands.run("sh", "-c", script, tidy=True)

        assert (result.ok, result.left) == (True, 0)


class TestTime:
    """LD-087, DW-A26"""

    def test_one_that_hangs(self, commands):
        result = commands.python(HANG, timeout_s=SHORT)

        assert result.timed_out
        assert result.error == f"took longer than {SHORT:g} s"

    def test_what_it_said_before_is_kept(self, commands):
        result = commands.until_limit(
            "sh", "-c", "echo before; exec sleep 600", begun=lambda one: one.stdout.text
        )

        assert result.stdout.text == "before\n"

    def test_one_that_can_be_asked_has_time_to_clean_up(self, commands):
        code = (
            "import signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(open('clean', 'w').close()))\n"
            "print('ready', flush=True)\n"
            "time.sleep(600)"
        )
        commands.until_limit(*PYTHON, code, begun=lambda one: one.stdout.text)

        assert (commands.root / "clean").exists()

    def test_one_that_ignores_whoever_asks(self, commands):
        code = (
            f"{BEAT}\nimport signal\n"
            "for one in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
            "    signal.signal(one, signal.SIG_IGN)\n"
            "beat()"
        )
        commands.until_limit(*PYTHON, code, begun=lambda _: commands.files())

        assert commands.nobody_beats()

    def test_one_that_stops_itself(self, commands):
        result = commands.python("import os; os.kill(os.getpid(), 19)", timeout_s=SHORT)

        assert result.timed_out

    def test_at_the_very_end(self, commands):
        """Either it was in time or it was not."""
        for _ in range(3):
            result = commands.run("sleep", "0.2", timeout_s=0.2)

            assert (result.timed_out, result.exit_code) in {(True, None), (False, 0)}

    def test_no_time_at_all(self, commands):
        assert commands.run("sleep", "600", timeout_s=0).timed_out


class TestChildren:
    @pytest.mark.parametrize("hangs", [True, False])
    @pytest.mark.parametrize("how", ["fork", "group", "session", "daemon"])
    def test_none_stays(self, commands, how, hangs):
        """Whether the command ends itself or is ended: what it started ends with it."""
        leave = {
            "fork": "pass",
            "group": "os.setpgid(0, 0)",
            "session": "os.setsid()",
            "daemon": "os.setsid()\n    if os.fork(): os._exit(0)\n    os.closerange(0, 3)",
        }[how]
        stay = "time.sleep(600)" if hangs else ""
        code = (
            f"{BEAT}\nimport os, signal, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
            f"if os.fork() == 0:\n    {leave}\n    beat()\n"
            "while not os.path.exists('beat'): time.sleep(0.01)\n"
            f"print('started', flush=True)\n{stay}"
        )
        if hangs:
            result = commands.until_limit(*PYTHON, code, begun=lambda one: one.stdout.text)
        else:
            result = commands.python(code)

        assert result.timed_out is hangs
        assert result.stdout.text == "started\n"
        assert commands.nobody_beats()

    def test_one_that_holds_the_output_open_is_not_waited_for(self, commands):
        result = commands.run("sh", "-c", "sleep 600 & echo done")

        assert (result.timed_out, result.exit_code) == (False, 0)
        assert result.stdout.text == "done\n"

    def test_a_fork_bomb_has_an_end(self, commands, monkeypatch):
        """Root's processes are counted, others cannot start more."""
        bomb = "import os, time\nfor _ in range(10): os.fork()\ntime.sleep(600)"
        monkeypatch.setattr(request, "MAX_PROCESSES", 100)
        result = commands.python(bomb)

        if os.geteuid() == 0:
            assert result.ending is CommandEnd.CROWDED
            assert result.error == "had more than 100 processes"
        else:
            assert "BlockingIOError" in result.stderr.text
            assert not result.timed_out

    def test_many_that_end_at_once_leave_no_zombie(self, commands):
        result = commands.run(
            "sh", "-c", "for i in $(seq 50); do (setsid true &) ; done; sleep 0.3"
        )

        assert result.ok


class TestItsWatcher:
    def test_killing_its_parent(self, commands, walled):
        code = f"{BEAT}\nimport os\nos.kill(os.getppid(), 9)\nbeat()"
        result = commands.python(code, timeout_s=1 if walled else 300)

        # In bubblewrap nothing happens; elsewhere it dies with the one that it killed.
        assert result.ending is (CommandEnd.TIMED_OUT if walled else CommandEnd.KILLED)
        assert commands.nobody_beats()

    def test_stopping_its_parent(self, commands):
        code = f"{BEAT}\nimport os\nos.kill(os.getppid(), 19)\nos.fork() or os.setsid()\nbeat()"
        result = commands.python(code, timeout_s=1)

        assert result.timed_out
        assert commands.nobody_beats()

    def test_killing_its_whole_group(self, commands):
        result = commands.python("import os; os.killpg(0, 9)")

        assert (result.ending, result.signal) == (CommandEnd.KILLED, 9)

    def test_lying_to_us(self, commands):
        """Whoever finds the pipe of the watcher may write to it, and gains nothing."""
        lies = "started x|exited|refused||exited 99999999999|killed -1|refused 13 program|what 1 2"
        code = (
            "import glob, os, sys\n"
            "for path in glob.glob(f'/proc/{os.getppid()}/fd/*'):\n"
            "    try: open(path, 'wb', 0).write(sys.argv[1].replace('|', '\\n').encode() + b'\\n')\n"
            "    except OSError: pass\n"
            "raise SystemExit(5)"
        )
        result = commands.python(code, lies)

        # Whatever is written to the other pipe ends the command.
        assert result.exit_code == 5 or result.ending is CommandEnd.KILLED

    def test_everything_ends_with_us(self, commands):
        """Also if we are killed and cannot say a word."""
        code = (
            "import sys\nfrom bylaw.runtime.sandbox.command import run\n"
            "from bylaw.runtime.sandbox import client\n"
            "from bylaw.runtime.sandbox.request import CommandRequest\n"
            "root, program, *argv = sys.argv[1:]\n"
            "client.BUBBLEWRAP = program\n"
            "run(CommandRequest(argv=tuple(argv), cwd=root, roots=(root,), timeout_s=600))\n"
        )
        from bylaw.runtime.sandbox import client  # noqa: PLC0415 - as it is set for the tests

        beats = f"{BEAT}\nimport os\nos.fork() or os.setsid()\nbeat()"
        argv = [str(commands.root), client.BUBBLEWRAP, *PYTHON, beats]
        process = subprocess.Popen([sys.executable, "-c", code, *argv])
        wait_for(commands.root / "beat")
        process.kill()
        process.wait()

        deadline = time.monotonic() + 300
        while not commands.nobody_beats(seconds=0.1):
            assert time.monotonic() < deadline


class TestCancelling:
    def test_from_another_thread(self, commands):
        cancellation = Cancellation()
        timer = threading.Timer(0.5, cancellation.cancel)
        timer.start()
        result = commands.python(f"{BEAT}\nbeat()", cancellation=cancellation)
        timer.join()

        assert result.cancelled
        assert result.error == "cancelled"
        assert commands.nobody_beats()

    def test_in_a_signal_handler(self, commands):
        cancellation = Cancellation()
        before = signal.signal(signal.SIGUSR1, lambda *_: cancellation.cancel())
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        timer.start()
        try:
            result = commands.python(HANG, cancellation=cancellation)
        finally:
            timer.join()
            signal.signal(signal.SIGUSR1, before)

        assert result.cancelled

    def test_before_the_start(self, commands):
        cancellation = Cancellation()
        cancellation.cancel()

        assert commands.run("touch", "harm", cancellation=cancellation).cancelled
        assert commands.files() == []

    def test_again_and_afterwards(self, commands):
        cancellation = Cancellation()
        assert commands.run("true", cancellation=cancellation).ok

        cancellation.cancel()
        cancellation.cancel()
        assert commands.run("true", cancellation=cancellation).cancelled

    def test_an_interrupt_ends_it_and_goes_on_to_us(self, commands):
        def interrupt():
            wait_for(commands.root / "beat")
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            commands.python(f"{BEAT}\nbeat()")
        thread.join()

        assert commands.nobody_beats()


class TestSeveral:
    def test_two_at_once(self, commands):
        results = {}

        def do(name):
            results[name] = commands.until_limit(
                "sh", "-c", f"echo {name}; exec sleep 600", begun=lambda one: one.stdout.text
            )

        threads = [threading.Thread(target=do, args=name) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert {name: (one.timed_out, one.stdout.text) for name, one in results.items()} == {
            "a": (True, "a\n"), "b": (True, "b\n"),
        }  # fmt: skip


def test_the_record_says_which_isolation_was_in_force(commands, walled):
    """DW-099"""
    said = commands.run("true").as_json()

    assert said["isolation"] == detect_isolation().as_json()
    assert said["isolation"]["by"] == ("bubblewrap" if walled else "none")
    assert walled or said["isolation"]["why"].startswith("bubblewrap ")
    assert set(said["limits"]) == {"timeout_s", "output", "processes", "file"}
