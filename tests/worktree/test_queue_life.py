"""Any order of steps, looks, removals and damage: an entry has one state, and got there rightly."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from queueing import FAILED, NOON, NOTHING, PASSED, QUEUED, SKIPPED, Folder, step

from bylaw.model.vocabulary import EntryStatus

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None

policies = st.sampled_from(["a", "b"])
writes = st.tuples(
    st.just("write"),
    policies,
    st.sampled_from(EntryStatus),
    st.sampled_from(["", "one", "two"]),
    st.integers(0, 3),
)
deeds = writes | st.tuples(st.sampled_from(["remove", "damage", "look", "open anew"]), policies)


def allowed(before, after, digest):
    """DW-059, DW-A17, DW-A19, DW-A47, as a table: `before` and `after` are standings."""
    if before is None:
        return after[0] in (QUEUED, SKIPPED)
    if before[0] is QUEUED:
        return after[0] is not QUEUED or after[2] > before[2]
    if digest and digest != before[1]:
        keeps_promise = (before[0], after[0]) == (PASSED, PASSED)
        return after[0] in (QUEUED, SKIPPED) or keeps_promise
    return before[0] is FAILED and after[0] is SKIPPED


@settings(deadline=None, max_examples=150)
@given(st.lists(deeds, max_size=25))
def test_a_life(done):
    root = tempfile.mkdtemp(dir=MEMORY)
    try:
        live(Folder(root), done)
    finally:
        shutil.rmtree(root)


def live(folder, done):
    known = {"a": None, "b": None}
    for number, (deed, policy, *more) in enumerate(done):
        hash_ = step(policy=policy).hash
        if deed == "write":
            known[policy] = written(folder, policy, known[policy], number, *more)
        elif deed == "remove":
            folder.queue.remove(hash_)
            known[policy] = None
        elif deed == "damage":
            for name in folder.names:
                if name.startswith(hash_):
                    (folder.path / name).write_text("{")
                    known[policy] = None
        elif deed == "open anew":
            folder = Folder(folder.root)
        check(folder, known)


def written(folder, policy, before, number, status, digest, shown):
    new = folder.write(status, policy=policy, digest=digest, shown=shown, now=NOON + number)
    if new is None:
        assert before is not None or status in (PASSED, FAILED)
        return before
    assert allowed(before, new.state, digest)
    assert new.status is status
    assert (new.evaluated_at is None) == (status is QUEUED)
    assert new.action_result == NOTHING
    return new.state


def check(folder, known):
    for policy, standing in known.items():
        entry = folder.queue.find(step(policy=policy).hash)
        assert (entry and entry.state) == standing
        waits = standing is not None and standing[0] in (QUEUED, FAILED)
        open_ones = [one for one in folder.queue.open_entries() if one.policy_name == policy]
        assert len(open_ones) == waits
    there = sorted(standing[0] for standing in known.values() if standing)
    assert sorted(name.split(".")[1] for name in folder.names) == there
    assert len(folder.queue.all_entries()) == len(there)
