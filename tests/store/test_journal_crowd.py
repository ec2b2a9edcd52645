"""Eight processes write to one session: one after the other, as if they were one."""

import subprocess
import sys
from pathlib import Path

import pytest

from bylaw.report.verify import verify
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.search import JournalReader

HERE = Path(__file__).parent
PROCESSES, EVENTS, QUOTA = 8, 2_000, 100


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """The journal, and how many calls each process was allowed."""
    path = str(tmp_path_factory.mktemp("crowd") / "j.db")
    numbers = map(str, (PROCESSES, EVENTS, QUOTA))
    command = [sys.executable, HERE / "crowd.py", path, *numbers]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    assert done.stderr == b""
    return path, [int(line) for line in done.stdout.split()]


def test_the_quota_is_passed_exactly_as_often_as_it_says(crowd):
    assert len(crowd[1]) == PROCESSES
    assert sum(crowd[1]) == QUOTA


def test_no_number_is_missing_and_none_is_there_twice(crowd):
    tries = PROCESSES * EVENTS // 2
    kinds = {
        "tool.before": tries,
        "tool.after": QUOTA,
        # Who was denied says something, and a denied call is answered.
        "message": 2 * (tries - QUOTA),
    }
    with JournalReader(crowd[0]) as reader:
        count = "SELECT kind, count(*) FROM records GROUP BY kind"
        assert dict(reader.query(count)) == kinds
        spread = "SELECT min(seq), max(seq), count(*), count(DISTINCT seq) FROM records"
        total = sum(kinds.values())
        assert reader.query(spread) == [(1, total, total, total)]


def test_counters_are_right_and_the_journal_is_whole(crowd):
    with Journal(crowd[0]) as journal:
        session = journal.session("default")

    assert session.count_calls("shell") == QUOTA
    assert session.calls.pending == ()
    assert session.history.length == 2 * (PROCESSES * EVENTS // 2 - QUOTA)
    assert session.firings["test:law#quota"].count == PROCESSES * EVENTS // 2 - QUOTA
    report = verify(crowd[0], decisions=False, tell=lambda _: None)
    assert report.findings == []
    assert report.folded == 1
