"""Orchestrators that are killed at any moment: no message is lost, and none is run twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from orchestrating import (
    SINGLE,
    TELL,
    TELL_ERROR,
    all_of,
    give,
    is_known,
    message_id,
    rule,
    run,
    said_in,
    take,
)  # fmt: skip

from bylaw.model.event import File
from bylaw.store.journal.records import read_stored_record
from bylaw.store.journal.search import JournalReader
from waiting import wait_until_gone

NURSERY = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
RULES = (
    rule("tell", 10, [TELL]),
    rule("locked", 20, [take("one"), TELL, give("one")], on_error=[TELL_ERROR]),
    rule(
        "runs", 30, [take("one"), run("{{run}}"), TELL, give("one")],
        category="B", more=SINGLE, on_error=[TELL_ERROR],
    ),
    rule("emergency", 40, [run("python -I -S note.py emergency"), TELL], category="D"),
)  # fmt: skip
KILLS = 100
WAITING = 8
LONGEST_S = 0.3


class Nursery:
    """Forks orchestrators of one root."""

    def __init__(self, root):
        self._root = root
        self._process = subprocess.Popen(
            NURSERY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def start(self, *words):
        outputs = said_in(self._root)
        words = ["bus", "run", "--root", self._root, "--trust", *words]
        self._process.stdin.write(json.dumps([*map(str, (*outputs, *words))]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()), outputs[1]


class Messages:
    """As many as are needed so that something is always under way."""

    KINDS = ("tell", "locked", "runs", "runs", "emergency")

    def __init__(self, repository):
        self._repository = repository
        self.kinds = {}

    def top_up(self):
        waiting = [name for name in self._repository.names("input") if is_ours(name)]
        for _ in range(WAITING - len(waiting)):
            self._put(len(self.kinds))

    def _put(self, n):
        kind = self.KINDS[n % len(self.KINDS)]
        msg_id, more = message_id(f"{n:03}"), {}
        if kind == "runs":
            self._repository.token(msg_id)
            more = {"run": [f"python -I -S note.py {msg_id}"]}
        category = {"runs": "B", "emergency": "D"}.get(kind, "A")
        self.kinds[msg_id] = kind
        self._repository.put(f"{n:03}", kind, category, **more)


def is_ours(name):
    return "_bylaw_request-" not in name


def wait_for_claim(repository, pid):
    until = time.monotonic() + 2
    while time.monotonic() < until:
        if any(f"_{pid}_" in name for name in repository.names("processing")):
            return
        time.sleep(0.002)


def kill_at_random(repository, messages, dice):
    """Start one after the other, sometimes two, and kill each; what they noted."""
    noted = []
    with Nursery(repository.root) as nursery:
        for n in range(KILLS):
            messages.top_up()
            started = [nursery.start(*(["--once"] if n % 2 else []))]
            if n % 3:  # a slow machine must not be killed before it begins each time
                wait_for_claim(repository, started[0][0])
                time.sleep(dice.uniform(0, LONGEST_S / 3))
            else:
                time.sleep(dice.uniform(0.005, LONGEST_S))
            if n % 10 == 0:
                started += [nursery.start()]
                time.sleep(dice.uniform(0.005, LONGEST_S))
            noted += [note for _, note in started]
            for pid, _ in started:
                with suppress(ProcessLookupError):  # it was through, or its notes say why
                    os.kill(pid, signal.SIGKILL)
            for pid, _ in started[: dice.choice([0, 1])]:
                assert wait_until_gone(pid)
    return {path.read_text() for path in noted if path.exists()}  # or killed before it was made


@pytest.mark.parametrize("seed", [int(os.environ.get("BYLAW_SEED", "0"))])
def test_no_message_is_lost_and_none_is_run_twice(repository, seed):
    repository.rules(*RULES)
    messages = Messages(repository)
    notes = kill_at_random(repository, messages, random.Random(seed))
    with repository.start("--once") as running:
        assert running.ended() in {0, 1}
        notes.add(running.notes)

    of, ran, evidence = messages.kinds, repository.ran(), repository.evidence()
    done = {one["msg_id"] for one in evidence if one["channel"] == "output"}
    interrupted = {one["msg_id"] for one in evidence if "interrupted" in one["text"]}
    too_late = {one["msg_id"] for one in evidence if "holds it" in one["text"]}
    requests = repository.names("input")
    approved = {msg_id for msg_id, kind in of.items() if kind == "runs"}
    assert notes == {""}
    assert set(of) == done | interrupted | too_late  # none is lost
    assert {ran[msg_id] for msg_id in approved} == {0, 1}  # none ran twice
    # An emergency was asked for before it ran.
    assert ran["emergency"] <= len(requests) <= sum(kind == "emergency" for kind in of.values())
    assert {msg_id for msg_id in approved if not ran[msg_id]} <= interrupted | too_late
    assert set(ran) - {"emergency"} <= done | interrupted
    assert not any(map(is_ours, requests))
    assert repository.names("processing") == []
    assert repository.locks() == []
    assert "running" not in repository.states()
    assert repository.open_plans() == []
    assert not any("duplicate" in one["text"] for one in evidence)
    assert len(interrupted) > 10  # else the kills hit nothing


CHANGED = """\
  - rule_id: changed
    priority: 10
    trigger:
      kind: fs_event
      match: {paths: ["seen/**"], event_types: [created]}
    guards: {}
    actions:
      - {type: write_processing_lock, lock_key: change}
      - {type: run_cmd, cmd: "python -I -S wait.py", cwd: work, timeout_sec: 60}
      - {type: write_bus, channel: output, template: "{{path}}"}
    on_error:
      - {type: write_bus, channel: error, template: "{{path}}: {{error}}"}
"""
WAIT = """\
import os, time
with open("ran", "ab", 0) as ran:
    ran.write(b"change\\n")
while os.path.exists("wait"):
    time.sleep(0.01)
"""


@pytest.fixture
def watched(repository):
    repository.rules(CHANGED)
    (repository.root / "work/wait.py").write_text(WAIT)
    (repository.root / "seen").mkdir()
    with repository.start() as running:  # what is there at the very first start is no change
        running.until(lambda: is_known(repository.root / ".bylaw/state/watch.db"))
        assert running.end() == 0
    return repository


def told_changes(watched):
    return {one["event"]["path"] for one in watched.evidence()}


def test_what_a_change_began_is_not_begun_again(watched):
    (watched.root / "work/wait").touch()
    with watched.start() as running:
        (watched.root / "seen/one").touch()
        running.until(watched.ran)
        (watched.root / "seen/two").touch()
        time.sleep(0.3)
    (watched.root / "work/wait").unlink()
    (watched.root / "seen/three").touch()
    with watched.start() as running:
        running.until(lambda: len(told_changes(watched)) == 3)
        assert running.end() == 0
        assert running.notes == ""

    (interrupted,) = watched.evidence("error")
    assert "interrupted" in interrupted["text"]
    assert interrupted["event"]["path"] == "seen/one"
    assert sorted(one["text"] for one in watched.evidence("output")) == ["seen/three", "seen/two"]
    assert watched.ran() == {"change": 3}
    assert watched.locks() == []


def test_the_other_one_goes_on_with_changes(watched):
    (watched.root / "work/wait").touch()
    first = watched.start()
    with all_of(first):
        (watched.root / "seen/one").touch()
        first.until(watched.ran)
        with watched.start() as second:
            time.sleep(1)
            first.kill()
            (watched.root / "work/wait").unlink()
            (watched.root / "seen/two").touch()
            second.until(lambda: len(told_changes(watched)) == 2)
            assert second.end() == 0
    assert watched.ran() == {"change": 2}
    assert watched.locks() == []


def decided_changes(watched):
    """How often each file was decided about, by the journal."""
    with JournalReader(str(watched.root / ".bylaw/state/journal.db")) as journal:
        stored = [read_stored_record(journal, seq) for seq in range(1, journal.newest + 1)]
    events = [one.record.event for one in stored]
    return Counter(event.path for event in events if isinstance(event, File))


def test_each_change_is_decided_once(watched):
    """What it told may be lost: a kill may also meet the evidence of what a kill met."""
    dice = random.Random(0)
    with Nursery(watched.root) as nursery:
        for n in range(20):
            pid, _ = nursery.start()
            (watched.root / f"seen/{n}").touch()
            time.sleep(dice.uniform(0.05, 0.6))
            os.kill(pid, signal.SIGKILL)
    with watched.start() as running:
        (watched.root / "seen/last").touch()
        running.until(lambda: "seen/last" in told_changes(watched))
        running.until(lambda: not watched.open_plans())
        assert running.end() == 0
        assert running.notes == ""

    paths = [f"seen/{n}" for n in range(20)]
    assert decided_changes(watched) == Counter([*paths, "seen/last"])
    done = {one["seq"] for one in watched.evidence("output")}
    assert 5 < len(done) <= watched.ran()["change"] <= 21
    assert watched.locks() == []
