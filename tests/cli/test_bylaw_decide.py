"""`bylaw decide` as a process."""

import json
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

BYLAW = [sys.executable, "-m", "bylaw", "decide"]
TIMEOUT_S = 300
RULES = """\
deny tool shell if count_calls('shell') >= 1 because once is enough
on turn.start say hello
on message set seen = history_length
"""
START = '{"kind": "turn.start"}'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.lines").write_text(RULES)
    (tmp_path / "b.lines").write_text("on agent.stop run make test\n")
    (tmp_path / "c.lines").write_text("on turn.start say good morning\n")
    return tmp_path


def run(folder, *words, events=START, **more):
    return subprocess.run(
        [*BYLAW, *words],
        input=events.encode(),
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=folder,
        **more,
    )


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_decisions_come_out_and_verdicts_are_no_failure(folder):
    events = [
        '{"kind": "tool.before", "tool": "shell", "call": "1"}',
        '{"kind": "tool.after", "tool": "shell", "call": "1", "status": "ok"}',
        '{"kind": "tool.before", "tool": "shell"}',
    ]

    done = run(folder, "--rules", "a.lines", events="\n".join(events))

    assert (done.returncode, done.stderr) == (0, b"")
    assert [line["verdict"] for line in lines(done)] == ["allow", "allow", "deny"]
    (reason,) = lines(done)[2]["reasons"]
    assert (reason["file"], reason["line"], reason["text"]) == ("a.lines", 1, "once is enough")


def test_events_come_from_a_file_or_from_standard_input(folder):
    (folder / "events.jsonl").write_text(START + "\n")

    from_file = run(folder, "--rules", "a.lines", "--events", "events.jsonl", events="nope")
    from_pipe = run(folder, "--rules", "a.lines")
    by_dash = run(folder, "--rules", "a.lines", "--events", "-", "--format", "json")

    assert from_file.returncode == 0
    assert from_file.stdout == from_pipe.stdout == by_dash.stdout != b""


@pytest.mark.parametrize(
    "words",
    [
        ["--rules", "a.lines", "b.lines", "c.lines"],
        ["--rules", "a.lines", "b.lines", "--rules", "c.lines"],
        ["--rules", "a.lines", "--rules", "b.lines", "--rules", "c.lines"],
        ["--rules=a.lines", "b.lines", "--format", "json", "--rules=c.lines"],
        ["--rules", "c.lines", "b.lines", "a.lines"],
        ["--rules", "."],
    ],
    ids=" ".join,
)
def test_paths_may_follow_each_other_and_rules_may_be_repeated(folder, words):
    done = run(folder, *words, events=START + '\n{"kind": "agent.stop"}')

    assert (done.returncode, done.stderr) == (0, b"")
    start, stop = lines(done)
    assert [one["text"] for one in start["effects"]] == ["hello", "good morning"]
    assert [one["op"] for one in stop["effects"]] == ["command.run"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "Missing option '--rules'"),
        (["--rules"], "'--rules' requires an argument"),
        (["--rules", "--state"], "'--rules' requires an argument"),
        (["a.lines", "--rules", "b.lines"], "unexpected extra argument (a.lines)"),
        (["--rules", "a.lines", "--state", "b.lines"], "unexpected extra argument (b.lines)"),
        (["--rules", "a.lines", "--nope"], "No such option '--nope'"),
    ],
)
def test_wrong_usage(folder, words, hint):
    done = run(folder, *words)

    assert (done.returncode, done.stdout) == (2, b"")
    assert hint in done.stderr.decode()


def test_state_is_printed_when_asked_for(folder):
    (plain,) = lines(run(folder, "--rules", "a.lines"))
    (line,) = lines(run(folder, "--rules", "a.lines", "--state"))

    assert "state" not in plain
    assert line["state"]["variables"] == {"lines:a.lines": {"seen": 1}}
    assert {key: value for key, value in line.items() if key != "state"} == plain


def test_deciding_twice_gives_the_same_bytes(folder):
    events = "\n".join([START, '{"kind": "tool.before", "tool": "shell"}'] * 20)
    first, second = (
        run(folder, "--rules", ".", "--state", events=events, env={**os.environ, **seed})
        for seed in ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"})
    )

    assert first.stdout == second.stdout
    assert len(first.stdout.splitlines()) == 40


def test_a_bad_line_gives_an_error_in_its_place_and_exit_1(folder):
    done = run(folder, "--rules", "a.lines", events=f'{START}\n\n{{"kind": "nope"}}\n{START}\n')

    assert (done.returncode, done.stderr) == (1, b"")
    first, error, last = lines(done)
    assert (first["seq"], last["seq"]) == (1, 2)
    assert list(error) == ["error"]
    assert (error["error"]["code"], error["error"]["line"]) == ("event-kind", 3)


def test_a_file_that_does_not_load_is_told_and_replaced(folder):
    (folder / "bad.lines").write_text("deny everything\n")
    events = '{"kind": "tool.before", "tool": "ls"}\n{"kind": "turn.start"}'

    done = run(folder, "--rules", "a.lines", "bad.lines", events=events)

    assert done.returncode == 1
    assert b"error[bad-line]: this is no rule" in done.stderr
    denied, start = lines(done)
    assert denied["verdict"] == "deny"
    assert [one["file"] for one in denied["reasons"]] == ["bad.lines"]
    assert [one["text"] for one in start["effects"]] == ["hello"]


def test_a_core_file_that_does_not_load_refuses_the_set(folder):
    """TR-A12: nothing is decided."""
    (folder / "bad.lines").write_text("core\ndeny everything\n")

    done = run(folder, "--rules", "a.lines", "bad.lines")

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.count(b"error[bad-line]") == 1


def test_nothing_else_is_read(folder):
    (folder / "bylaw.toml").write_text("this is no TOML")
    (folder / ".bylaw").mkdir()

    done = run(folder, "--rules", "a.lines")

    assert (done.returncode, done.stderr) == (0, b"")
    assert list((folder / ".bylaw").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        (["--rules", "missing.lines"], "cannot read `missing.lines`: file not found"),
        (
            ["--rules", "a.lines", "--events", "missing.jsonl"],
            "cannot read `missing.jsonl`: file not found",
        ),
        (["--rules", "a.lines", "--events", "."], "cannot read `.`: it is a folder"),
    ],
)
def test_what_cannot_be_read(folder, words, headline):
    done = run(folder, *words)

    assert done.returncode == 1
    assert headline in done.stderr.decode()


def test_closed_standard_input(folder):
    done = subprocess.run(
        ["bash", "-c", '"$@" <&-', "sh", *BYLAW, "--rules", "a.lines"],
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=folder,
    )

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"cannot read standard input: it is closed" in done.stderr


def test_no_events_are_no_mistake(folder):
    done = run(folder, "--rules", "a.lines", events="")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def start(folder, **more):
    return subprocess.Popen(
        [*BYLAW, "--rules", "a.lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        **more,
    )


def test_each_answer_comes_before_the_next_event_is_sent(folder):
    with start(folder) as process:
        for number in range(1, 4):
            process.stdin.write(START.encode() + b"\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)

            assert ready
            assert json.loads(process.stdout.readline())["seq"] == number
        process.stdin.close()

        assert process.wait(TIMEOUT_S) == 0


def test_a_reader_that_goes_away_is_no_bug(folder):
    with start(folder, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        threading.Thread(target=feed, args=(process.stdin, 2_000)).start()

        assert process.wait(TIMEOUT_S) == 1
        assert process.stderr.read() == b""


EVENTS = 200_000
MAX_RESIDENT_KB = 150_000


def test_memory_stays_flat_over_many_events(folder):
    (folder / "quiet.lines").write_text(RULES.replace("on turn.start say hello\n", ""))
    command = [*BYLAW, "--rules", "quiet.lines"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    ) as process:
        feeder = threading.Thread(target=feed, args=(process.stdin, EVENTS))
        feeder.start()
        process.stdout.readline()
        came_early = feeder.is_alive()
        for _ in range(EVENTS - 1):
            last = process.stdout.readline()
        feeder.join()
        # Not what wait4 says: that counts the process from which this one was forked.
        peak = Path(f"/proc/{process.pid}/status").read_text().split("VmHWM:")[1].split()[0]
        process.stdin.close()

        assert process.wait(TIMEOUT_S) == 0
        assert process.stdout.read() == b""
    assert came_early
    assert json.loads(last)["seq"] == EVENTS
    assert int(peak) < MAX_RESIDENT_KB


def feed(stream, number):
    """Events of every sort, as fast as they are taken; the reader may go away."""
    try:
        for place in range(number // 4):
            stream.write(
                b'{"kind": "turn.start"}\n'
                b'{"kind": "tool.before", "tool": "ls", "call": "%d"}\n'
                b'{"kind": "tool.after", "tool": "ls", "call": "%d", "status": "ok"}\n'
                b'{"kind": "prompt", "text": "%d"}\n' % (place, place, place)
            )
        stream.flush()
    except BrokenPipeError:
        stream.raw.close()
