"""`bylaw log` as a process: which journal, exit codes, and going on as records come."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

import bylaw

LOG = [sys.executable, "-m", "bylaw", "log"]
RULES = "deny tool shell because no\non prompt say hello\n"
DEFAULT = ".bylaw/state/journal.db"
PATIENCE_S = 300


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "bylaw.toml").write_text('[[book]]\npath = "a.lines"\n')
    (tmp_path / "a.lines").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def submit(*events, journal=DEFAULT):
    with bylaw.Engine(bylaw.load(), journal=journal) as engine:
        for event in events:
            engine.submit(event)


def log(*words, **more):
    return subprocess.run(
        [*LOG, *words], capture_output=True, timeout=300, check=False, text=True, **more
    )


def seqs(done):
    return [json.loads(line)["seq"] for line in done.stdout.splitlines()]


class TestWhichJournal:
    def test_that_of_the_root_from_any_folder_in_it(self, root):
        submit({"kind": "prompt"})
        (root / "src").mkdir()
        done = log("--format", "json", cwd=root / "src")
        assert (seqs(done), done.returncode) == ([1, 2, 3], 0)

    def test_that_of_the_settings(self, root):
        (root / "bylaw.toml").write_text('[journal]\npath = "own.db"\n')
        submit({"kind": "prompt"}, journal="own.db")
        assert seqs(log("--format", "json")) == [1]

    def test_a_given_one(self, root):
        submit({"kind": "prompt"}, journal="other.db")
        assert seqs(log("--format", "json", "--journal", "other.db")) == [1, 2, 3]

    def test_none_yet(self, root):
        done = log()
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith(f"error: journal `{DEFAULT}` not found")

    def test_something_else(self, root):
        done = log("--journal", "a.lines")
        assert done.returncode == 1
        assert "is damaged" in done.stderr

    def test_a_folder(self, root):
        done = log("--journal", ".")
        assert done.returncode == 1
        assert "cannot be used" in done.stderr


class TestUsage:
    @pytest.mark.parametrize(
        "words",
        [
            ["--kind", "tool"],
            ["--verdict", "no"],
            ["--since", "yesterday"],
            ["--last", "-1"],
            ["--follow", "--until", "1h"],
            ["--sessions", "default"],
            ["--sessions", "--follow"],
            ["--sessions", "--last", "3"],
            ["one", "two"],
        ],
    )
    def test_wrong_words(self, root, words):
        assert log(*words).returncode == 2

    def test_an_unknown_session(self, root):
        submit({"kind": "prompt"})
        done = log("defualt")
        assert done.returncode == 1
        assert "did you mean `default`?" in done.stderr

    def test_filters_together(self, root):
        submit({"kind": "prompt"}, {"kind": "tool.before", "tool": "shell"}, {"kind": "prompt"})
        done = log(
            "default", "--verdict", "warn", "--since", "1h", "--until", "0s", "--format", "json"
        )
        (found,) = map(json.loads, done.stdout.splitlines())
        assert found["verdict"] == "deny"
        assert found["event"]["tool"] == "shell"
        assert found["decision"]["reasons"][0]["text"] == "no"

    def test_sessions(self, root):
        submit({"kind": "prompt"}, {"kind": "prompt", "session": "b"})
        done = log("--sessions", "--format", "json")
        found = {
            one["session"]: one["records"] for one in map(json.loads, done.stdout.splitlines())
        }
        assert found == {"default": 3, "b": 3}
        assert "2 sessions" in log("--sessions").stdout

    def test_no_colour_in_a_pipe(self, root):
        submit({"kind": "tool.before", "tool": "shell"})
        assert "\x1b" not in log().stdout

    def test_colour_on_a_terminal(self, root):
        submit({"kind": "tool.before", "tool": "shell"})
        main, side = pty.openpty()
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        with subprocess.Popen(LOG, stdout=side, env=environment) as process:
            assert process.wait(PATIENCE_S) == 0
        os.close(side)
        shown = os.read(main, 65536)
        os.close(main)
        assert b"\x1b[1;31mdeny" in shown


class Following:
    """A log that goes on, and the lines that it has written."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [*LOG, "--follow", "--format", "json", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def lines(self, number):
        """Wait for so many more records."""
        end = time.monotonic() + PATIENCE_S
        while len(found := self.records()) < number:
            assert time.monotonic() < end, (found, self.text)
            time.sleep(0.02)
        self.text = b""
        return [one["kind"] for one in found]

    def records(self):
        """Return the new records that it has written."""
        assert self.process.poll() is None, self.process.stderr.read()
        self.text += self.process.stdout.read() or b""
        lines = self.text.splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]


class TestFollow:
    def test_records_as_they_come_until_it_is_interrupted(self, root):
        submit({"kind": "session.start"})
        with Following() as log_:
            assert log_.lines(1) == ["session.start"]
            submit({"kind": "prompt"})
            assert log_.lines(3) == ["prompt", "effect", "message"]
            submit({"kind": "turn.start", "session": "new"})
            assert log_.lines(1) == ["turn.start"]
            log_.process.send_signal(signal.SIGINT)
            assert log_.process.wait(PATIENCE_S) == 130
            assert log_.process.stderr.read() == b""

    def test_only_new_ones_of_a_kind(self, root):
        submit({"kind": "session.start"})
        with Following("--last", "0", "--kind", "session.start", "default") as log_:
            while not (found := log_.records()):  # until it has begun
                submit({"kind": "prompt"}, {"kind": "session.start"})
                time.sleep(0.1)
            assert {one["kind"] for one in found} == {"session.start"}
            assert found[0]["seq"] > 1

    def test_a_journal_that_comes_later(self, root):
        with Following() as log_:
            time.sleep(0.5)
            submit({"kind": "session.start"})
            assert log_.lines(1) == ["session.start"]

    def test_a_journal_that_is_replaced(self, root):
        submit({"kind": "session.start"}, {"kind": "session.end"})
        with Following() as log_:
            assert log_.lines(2) == ["session.start", "session.end"]
            for path in (root / ".bylaw/state").glob("journal.db*"):
                path.unlink()
            time.sleep(0.5)
            submit({"kind": "prompt"})
            assert log_.lines(3) == ["prompt", "effect", "message"]

    def test_whoever_listens_goes_away(self, root):
        submit({"kind": "session.start"})
        with subprocess.Popen(
            [*LOG, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout.readline()
            process.stdout.close()
            submit({"kind": "session.start"})
            assert process.wait(PATIENCE_S) == 1
            assert process.stderr.read() == b""
