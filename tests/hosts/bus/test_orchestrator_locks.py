"""Locks between executions: a dead owner's is taken over, a living one's never."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from orchestrating import TELL, TELL_ERROR, give, rule, run, take

LOCK_USER = Path(__file__).parents[2] / "store/lock_user.py"


@pytest.fixture
def laws(repository):
    actions = [take("key"), run("python -I -S note.py ran"), TELL, give("key")]
    repository.rules(rule("locked", 10, actions, on_error=[TELL_ERROR, give("key")]))
    return repository


@contextmanager
def held_lock(laws):
    """Another process holds the lock."""
    words = [sys.executable, str(LOCK_USER), "hold", str(laws.root / "runtime/locks"), "key"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "Lock\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_lock_of_a_living_process_stays_its_own(laws):
    """LD-090, LD-091, LD-093: also if whoever came too late gives it back."""
    msg_id = laws.put("a", "locked")
    lock = laws.root / "runtime/locks/key.lock"
    with held_lock(laws) as other:
        before = lock.read_bytes()
        assert laws.once() == 1
        assert lock.read_bytes() == before
    (evidence,) = laws.evidence_of(msg_id)
    assert f"process {other.pid}" in evidence["text"]
    assert evidence["text"].endswith("holds it")
    assert not laws.ran()


def test_the_lock_of_a_dead_process_is_taken_over(laws):
    """LD-093"""
    msg_id = laws.put("a", "locked")
    with held_lock(laws) as other:
        other.kill()
        other.wait()
        assert laws.once() == 0
    (taken,) = laws.evidence_of(msg_id, "error")
    (done,) = laws.evidence_of(msg_id, "output")
    assert taken["text"] == f"took over the lock `key` of process {other.pid} (m1), which is dead"
    assert done["text"] == f"done {msg_id}"
    assert laws.ran() == {"ran": 1}
    assert laws.locks() == []
