"""Orchestrators that are killed at any moment: no message is lost, and none is run twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from orchestrating import (
    SINGLE,
    TELL,
    TELL_ERROR,
    give,
    message_id,
    rule,
    run,
    said_in,
    take,
)  # fmt: skip

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


def kill_at_random(repository, messages, dice):
    """Start one after the other, sometimes two, and kill each; what they noted."""
    noted = []
    with Nursery(repository.root) as nursery:
        for n in range(KILLS):
            messages.top_up()
            started = [nursery.start(*(["--once"] if n % 2 else []))]
            time.sleep(dice.uniform(0.005, LONGEST_S))
            if n % 10 == 0:
                started += [nursery.start()]
                time.sleep(dice.uniform(0.005, LONGEST_S))
            noted += [note for _, note in started]
            for pid, _ in started:
                with suppress(ProcessLookupError):  # it was through, or its notes say why
                    os.kill(pid, signal.SIGKILL)
            for pid, _ in started[: dice.choice([0, 1])]:
                assert wait_until_gone(pid, 10)
    return {path.read_text() for path in noted}


@pytest.mark.parametrize("seed", [int(os.environ.get("BYLAW_SEED", "0"))])
def test_no_message_is_lost_and_none_is_run_twice(repository, seed):
    repository.rules(*RULES)
    messages = Messages(repository)
    notes = kill_at_random(repository, messages, random.Random(seed))
    with repository.start("--once") as running:
        assert running.ended(60) in {0, 1}
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
