"""Locks of an execution whose process is dead are cleared by what they were taken for."""

import json
import subprocess
import sys

from bylaw.store.locks import Lock, Locks

TAKE = """
import sys
from bylaw.store.locks import Locks
locks = Locks(sys.argv[1])
for key, of in (("a", "m1"), ("b", "m1"), ("c", "m2")):
    locks.acquire(key, rule="r", msg_id=of)
"""


def test_only_those_of_a_dead_owner_and_of_this_message(tmp_path):
    folder = tmp_path / "locks"
    subprocess.run((sys.executable, "-c", TAKE, str(folder)), check=True)
    locks = Locks(str(folder))
    ours = locks.acquire("d", rule="r", msg_id="m1")
    assert isinstance(ours, Lock)
    (folder / "e.lock").write_text("{")
    assert locks.clear_dead("m1") == ["a", "b"]
    assert sorted(path.name for path in folder.glob("*.lock")) == ["c.lock", "d.lock", "e.lock"]
    assert json.loads((folder / "d.lock").read_text())["owner"] == ours.token
