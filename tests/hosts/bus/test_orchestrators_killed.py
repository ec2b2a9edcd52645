"""Orchestrators that are killed at any moment: no message is lost, and none is run twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
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
MESSAGES = 240
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


def put_all(repository):
    repository.rules(*RULES)
    kinds = ["tell", "locked", "runs", "runs", "emergency"]
    of = {message_id(f"{n:03}"): kinds[n % len(kinds)] for n in range(MESSAGES)}
    running = [msg_id for msg_id, kind in of.items() if kind == "runs"]
    repository.context(*(f"- DECISION: APPROVED {one} BY human" for one in running))
    for n, (msg_id, kind) in enumerate(of.items()):
        category = {"runs": "B", "emergency": "D"}.get(kind, "A")
        more = {"run": [f"python -I -S note.py {msg_id}"]} if kind == "runs" else {}
        repository.put(f"{n:03}", kind, category, **more)
    return of


def kill_at_random(repository, dice):
    """Start one after the other, sometimes two, and kill each; what they noted."""
    noted = []
    with Nursery(repository.root) as nursery:
        for n in range(KILLS):
            started = [nursery.start(*(["--once"] if n % 2 else []))]
            noted += [started[0][1]]
            time.sleep(dice.uniform(0.005, LONGEST_S))
            if n % 10 == 0:
                started += [nursery.start()]
                time.sleep(dice.uniform(0.005, LONGEST_S))
            for pid, _ in started:
                os.kill(pid, signal.SIGKILL)
            for pid, _ in started[: dice.choice([0, 1])]:
                assert wait_until_gone(pid, 10)
    return [path.read_text() for path in noted]


@pytest.mark.parametrize("seed", range(2))
def test_no_message_is_lost_and_none_is_run_twice(repository, seed):
    of = put_all(repository)
    notes = kill_at_random(repository, random.Random(seed))
    with repository.start() as running:
        running.until(lambda: is_through(repository, of), 60)
        assert running.end() == 0
        notes += [running.notes]

    ran, evidence = repository.ran(), repository.evidence()
    done = {one["msg_id"] for one in evidence if one["channel"] == "output"}
    interrupted = {one["msg_id"] for one in evidence if "interrupted" in one["text"]}
    too_late = {one["msg_id"] for one in evidence if "holds it" in one["text"]}
    requests = [name for name in repository.names("input") if "_bylaw_request-" in name]
    approved = {msg_id for msg_id, kind in of.items() if kind == "runs"}
    assert set(notes) == {""}
    assert set(of) <= done | interrupted | too_late  # none is lost
    assert {ran[msg_id] for msg_id in approved} <= {0, 1}  # none ran twice
    # An emergency was asked for before it ran.
    assert ran["emergency"] <= len(requests) <= sum(kind == "emergency" for kind in of.values())
    assert {msg_id for msg_id in approved if not ran[msg_id]} <= interrupted | too_late
    assert set(ran) - {"emergency"} <= done | interrupted
    assert repository.locks() == []
    assert repository.names("processing") == []
    assert "running" not in repository.states()
    assert repository.open_plans() == []
    assert len(interrupted) > 3  # else the kills hit nothing


def is_through(repository, of):
    return not repository.names("processing") and set(of) <= set(repository.told())
